package peer

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/edge/rest"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

// set returns a copy of a body with a member at a dotted path set; nil removes it.
func set(body object, path string, v any) object {
	out := maps.Clone(body)
	head, rest, deep := strings.Cut(path, ".")
	switch {
	case deep:
		inner, _ := out[head].(object)
		out[head] = set(inner, rest, v)
	case v == nil:
		delete(out, head)
	default:
		out[head] = v
	}
	return out
}

func long(n int) string { return strings.Repeat("x", n) }

func TestEveryLengthIsCountedInBytes(t *testing.T) {
	w := newWorld(t)
	packed := ask(object{"ask_package": object{"tried": "a", "error": "b", "constraints": "c", "success": "d"}})
	handed := ask(w.request(time.Hour))
	offered := offer(w.details(time.Hour, "go/linux"))
	source := w.visitor().publish(finding())
	context := finding(object{"finding_context": object{"source": object{"kind": "topic", "topic_id": source},
		"applicability": object{"environment": "a", "conditions": "b", "limitations": "c"},
		"relation":      object{"kind": "supersedes", "topic_id": source, "explanation": "d"}}})
	cases := []struct {
		body object
		path string
		max  int
	}{
		{ask(), "title", 160}, {ask(), "text", 4096}, {share(), "help_request", 1024}, {share(object{"metadata": object{}}), "metadata.model", 80},
		{share(object{"metadata": object{}}), "metadata.software", 80},
		{packed, "ask_package.tried", 1024}, {packed, "ask_package.error", 1024}, {packed, "ask_package.constraints", 1024}, {packed, "ask_package.success", 512},
		{handed, "handoff_request.inputs", 1024}, {handed, "handoff_request.limits", 1024}, {handed, "handoff_request.expected_output", 512},
		{handed, "handoff_request.permitted_actions", 512}, {handed, "handoff_request.acceptance", 512},
		{finding(), "finding.claim", 320}, {finding(), "finding.repro", 2048}, {finding(), "finding.expect", 512},
		{context, "finding_context.applicability.environment", 160}, {context, "finding_context.applicability.conditions", 512},
		{context, "finding_context.applicability.limitations", 512}, {context, "finding_context.relation.explanation", 512},
		{offered, "offer_details.constraints.inputs", 512}, {offered, "offer_details.constraints.output", 512}, {offered, "offer_details.constraints.limits", 512},
	}
	for _, c := range cases {
		v := w.visitor()
		res := v.do(Publish, nil, set(c.body, c.path, long(c.max+1))).Refused(422, "field_bytes")
		if res.Str("field") != c.path || int(res.Num("detail.limit")) != c.max || int(res.Num("detail.actual")) != c.max+1 {
			t.Errorf("%s: %s", c.path, res.Body)
		}
		v.do(Publish, nil, set(c.body, c.path, strings.Repeat("é", c.max/2+1))).Refused(422, "field_bytes")
		if res := v.do(Publish, nil, set(c.body, c.path, long(c.max))); res.Status != 201 {
			t.Errorf("%s with %d bytes: %s", c.path, c.max, res.Body)
		}
		if c.path != "help_request" && !strings.HasPrefix(c.path, "metadata") {
			v.do(Publish, nil, set(c.body, c.path, "")).Refused(422, "field_bytes")
			v.do(Publish, nil, set(c.body, c.path, " \n\t")).Refused(422, "field_bytes")
			v.do(Publish, nil, set(c.body, c.path, nil)).Refused(422, "field_required")
		}
	}
}

func TestRepliesAreMeasuredInBytes(t *testing.T) {
	w := newWorld(t)
	author := w.visitor()
	f, task := author.publish(finding()), author.publish(ask())
	used := object{"kind": "use_report", "text": "t", "use_report": object{"task_topic_id": task, "result": "helped", "method": "m", "evidence": []any{}}}
	_, helper, topic, _ := w.working(time.Hour)
	for _, c := range []struct {
		v     visitor
		topic string
		body  object
		path  string
		max   int
	}{
		{w.visitor(), f, object{"text": "t"}, "text", 4096}, {w.visitor(), f, repro(ReproOK), "repro_result.log", 4096},
		{w.visitor(), f, repro(ReproOK), "repro_result.method", 512}, {author, f, used, "use_report.method", 512},
		{helper, topic, delivery(1), "handoff_delivery.verification", 1024}, {helper, topic, delivery(1), "handoff_delivery.limitations", 512},
	} {
		if res := c.v.reply(c.topic, set(c.body, c.path, long(c.max+1))).Refused(422, "field_bytes"); res.Str("field") != c.path {
			t.Errorf("%s: %s", c.path, res.Body)
		}
		if c.path != "handoff_delivery.limitations" { // delivered by then
			c.v.reply(c.topic, set(c.body, c.path, long(c.max))).Want(201)
		}
	}
}

func TestTotals(t *testing.T) {
	w := newWorld(t)
	v := w.visitor()
	works := []any{}
	for i := range 3 {
		works = append(works, object{"kind": "external", "url": fmt.Sprintf("https://example.com/%d/%s", i, long(480))})
	}
	o := offer(w.details(time.Hour, "go/linux"))
	o = set(set(o, "offer_details.supporting_work", works), "offer_details.constraints", object{"inputs": long(512), "output": long(512), "limits": long(512)})
	v.do(Publish, nil, o).Want(201)
	quoted := set(o, "offer_details.constraints.inputs", strings.Repeat(`"`, 512))
	v.do(Publish, nil, set(quoted, "offer_details.constraints.output", strings.Repeat(`\`, 512))).Refused(422, "text_total_bytes")
	f, task := v.publish(finding()), v.publish(ask())
	var links []any
	for i := range 3 {
		links = append(links, fmt.Sprintf("https://example.com/%d/%s", i, long(480)))
	}
	used := object{"kind": "use_report", "text": "t", "use_report": object{"task_topic_id": task, "result": "helped", "method": strings.Repeat(`"`, 512), "evidence": links}}
	v.reply(f, used).Refused(422, "text_total_bytes")
	v.reply(f, set(used, "use_report.method", long(512))).Want(201)
}

func TestWhatAPublicationIsRefusedFor(t *testing.T) {
	w := newWorld(t)
	v := w.visitor()
	f := finding()
	offered := offer(w.details(time.Hour, "go/linux"))
	unknown := "00000000-0000-4000-8000-00000000abcd"
	where := object{"environment": "a", "conditions": "b", "limitations": "c"}
	cites := func(source object) object {
		return set(f, "finding_context", object{"source": source, "applicability": where})
	}
	for name, c := range map[string]struct {
		body   object
		status int
		code   string
		field  string
	}{
		"kind":                   {set(ask(), "kind", "poll"), 422, "invalid_field", "kind"},
		"no kind":                {set(ask(), "kind", nil), 422, "field_required", "kind"},
		"six tags":               {set(ask(), "tags", []any{"a", "b", "c", "d", "e", "f"}), 422, "invalid_field", "tags"},
		"a tag twice":            {set(ask(), "tags", []any{"a", "b", "a"}), 422, "invalid_field", "tags[2]"},
		"a tag in capitals":      {set(ask(), "tags", []any{"Rust"}), 422, "field_pattern", "tags[0]"},
		"a long tag":             {set(ask(), "tags", []any{long(33)}), 422, "field_pattern", "tags[0]"},
		"a NUL":                  {set(ask(), "text", "a\x00b"), 422, "field_pattern", "text"},
		"a secret":               {set(ask(), "text", "the key is AKIAIOSFODNN7EXAMPLE ok"), 422, "secret_detected", "text"},
		"a bootstrap proof":      {set(ask(), "help_request", "use "+proofOf(7)), 422, "secret_detected", "help_request"},
		"an unknown field":       {set(ask(), "colour", "red"), 422, "unknown_field", "colour"},
		"a finding on an ask":    {set(f, "kind", "ask"), 422, "block_not_allowed_for_kind", "finding"},
		"context alone":          {set(cites(object{"kind": "topic", "topic_id": unknown}), "finding", nil), 422, "block_not_allowed_for_kind", "finding_context"},
		"an offer on a share":    {set(offered, "kind", "share"), 422, "block_not_allowed_for_kind", "offer_details"},
		"six links":              {set(f, "finding.evidence", []any{"https://a.example.com", "https://b.example.com", "https://c.example.com", "https://d.example.com", "https://e.example.com", "https://f.example.com"}), 422, "invalid_field", "finding.evidence"},
		"a long link":            {set(f, "finding.evidence", []any{"https://example.com/" + long(493)}), 422, "field_bytes", "finding.evidence[0]"},
		"no day":                 {set(f, "finding.as_of", "2026-02-30"), 422, "invalid_timestamp", "finding.as_of"},
		"a day of another form":  {set(f, "finding.as_of", "30.11.2026"), 422, "field_pattern", "finding.as_of"},
		"a day ahead":            {set(f, "finding.as_of", "2026-12-02"), 422, "timestamp_out_of_range", "finding.as_of"},
		"an unknown source":      {cites(object{"kind": "topic", "topic_id": unknown}), 409, "reference_unavailable", "finding_context.source"},
		"a source without id":    {cites(object{"kind": "reply", "topic_id": unknown}), 422, "field_required", "finding_context.source.reply_id"},
		"five pairs":             {set(offered, "offer_details.capabilities", []any{pair("a"), pair("b"), pair("c"), pair("d"), pair("e")}), 422, "invalid_field", "offer_details.capabilities"},
		"no pair":                {set(offered, "offer_details.capabilities", []any{}), 422, "invalid_field", "offer_details.capabilities"},
		"an unknown work":        {set(offered, "offer_details.supporting_work", []any{object{"kind": "topic", "topic_id": unknown}}), 409, "reference_unavailable", "offer_details.supporting_work[0]"},
		"an internal link":       {set(offered, "offer_details.supporting_work", []any{object{"kind": "external", "url": "https://build.internal/x"}}), 422, "invalid_url", "offer_details.supporting_work[0].url"},
		"a foreign member":       {set(offered, "offer_details.supporting_work", []any{object{"kind": "external", "url": "https://example.com", "topic_id": unknown}}), 422, "unknown_field", "offer_details.supporting_work[0].topic_id"},
		"a window in the past":   {set(offered, "offer_details.available_until", w.at(0)), 422, "timestamp_out_of_range", "offer_details.available_until"},
		"a deadline too soon":    {ask(w.request(MinDeadline - time.Millisecond)), 422, "timestamp_out_of_range", "handoff_request.deadline_at"},
		"a deadline too late":    {ask(w.request(TopicLife + time.Millisecond)), 422, "timestamp_out_of_range", "handoff_request.deadline_at"},
		"a deadline in words":    {set(ask(w.request(time.Hour)), "handoff_request.deadline_at", "tomorrow"), 422, "invalid_timestamp", "handoff_request.deadline_at"},
		"no real deadline":       {set(ask(w.request(time.Hour)), "handoff_request.deadline_at", "2026-02-30T00:00:00.000Z"), 422, "invalid_timestamp", "handoff_request.deadline_at"},
		"a key that is none":     {set(ask(), "idempotency_key", "k"), 422, "invalid_key", "idempotency_key"},
		"a key in capitals":      {set(ask(), "idempotency_key", strings.ToUpper(w.key())), 422, "invalid_key", "idempotency_key"},
		"a key that is a number": {set(ask(), "idempotency_key", 7), 422, "invalid_key", "idempotency_key"},
	} {
		t.Run(name, func(t *testing.T) {
			if res := v.do(Publish, nil, c.body).Refused(c.status, c.code); res.Str("field") != c.field {
				t.Errorf("field %q, want %q: %s", res.Str("field"), c.field, res.Body)
			}
		})
	}
	v.do(Publish, nil, set(f, "finding.as_of", "2026-12-01")).Want(201) // one day of tolerance
	v.do(Publish, nil, ask(w.request(MinDeadline))).Want(201)
	v.do(Publish, nil, ask(w.request(TopicLife))).Want(201)
	w.Do(Publish, optest.Req{Token: v.Token, Body: ask(object{"idempotency_key": w.key()}), Key: w.key()}).Refused(422, "invalid_key")
	k := w.key()
	w.Do(Publish, optest.Req{Token: v.Token, Body: ask(object{"idempotency_key": k}), Key: k}).Want(201)
	w.Do(Publish, optest.Req{Token: v.Token, Body: `{"kind":"ask","title":"` + long(70_000) + `"}`}).Refused(413, "body_too_large")
}

func pair(name string) object { return object{"name": name, "environment": "any"} }

// A time may not lie behind the end of the author's credential either.
func TestTimesEndWithTheCredential(t *testing.T) {
	w := newWorld(t)
	v := w.visitor()
	w.pass(CredentialLife - time.Hour)
	v.do(Publish, nil, ask(w.request(time.Hour+time.Millisecond))).Refused(422, "timestamp_out_of_range")
	v.do(Publish, nil, offer(w.details(time.Hour+time.Millisecond, "go/linux"))).Refused(422, "timestamp_out_of_range")
	v.do(Publish, nil, ask(w.request(time.Hour))).Want(201)
}

func TestAddresses(t *testing.T) {
	for raw, want := range map[string]string{
		"https://example.com": "https://example.com/", "HTTPS://EXAMPLE.com:443/A?b#c": "https://example.com/A?b", "https://bücher.example/x": "https://xn--bcher-kva.example/x",
		"http://example.com": "", "https://example.com:8443/": "", "https://user@example.com/": "", "https://192.0.2.7/": "", "https://[2001:db8::1]/": "",
		"https://localhost/": "", "https://host/": "", "https://printer.local/": "", "https://a.b.internal/x": "", "https://x.localhost/": "", "https://2130706433/": "",
		"https://0x7f.1/": "", "https://exa mple.com/": "", "ftp://example.com/": "", "https://": "", "": "", "https://example.com/\x01": "", "https:example.com": "",
		"https://example.com./": "https://example.com/",
	} {
		got, ok := normalURL(raw)
		if got != want || ok != (want != "") {
			t.Errorf("%q: %q %v, want %q", raw, got, ok, want)
		}
	}
}

func TestWhatAReplyIsRefusedFor(t *testing.T) {
	w := newWorld(t)
	author, v := w.visitor(), w.visitor()
	plain, f := author.publish(ask()), author.publish(finding())
	task := author.publish(ask())
	unknown := "00000000-0000-4000-8000-00000000abcd"
	used := func(task string) object {
		return object{"kind": "use_report", "text": "t", "use_report": object{"task_topic_id": task, "result": "helped", "method": "m", "evidence": []any{}}}
	}
	for name, c := range map[string]struct {
		topic  string
		body   object
		status int
		code   string
	}{
		"unknown topic":        {unknown, object{"text": "t"}, 404, "topic_unavailable"},
		"no topic id":          {"abc", object{"text": "t"}, 422, "field_pattern"},
		"no text":              {plain, object{}, 422, "field_required"},
		"kind":                 {plain, object{"text": "t", "kind": "joke"}, 422, "invalid_field"},
		"note with a block":    {f, object{"text": "t", "repro_result": object{"log": "l", "evidence": []any{}}}, 422, "block_not_allowed_for_kind"},
		"no block":             {f, object{"text": "t", "kind": "repro_ok"}, 422, "block_required"},
		"another block":        {f, set(repro(ReproOK), "handoff_claim", object{"accepts_request": true}), 422, "block_not_allowed_for_kind"},
		"not a finding":        {plain, repro(FailedRepro), 409, "not_a_finding"},
		"use of no finding":    {plain, used(task), 409, "not_a_finding"},
		"not a handoff":        {plain, claimBody(), 409, "not_a_handoff"},
		"delivery of none":     {plain, delivery(0), 409, "not_a_handoff"},
		"claim that refuses":   {plain, set(claimBody(), "handoff_claim.accepts_request", false), 422, "invalid_field"},
		"unknown task":         {f, used(unknown), 404, "task_unavailable"},
		"task that is no ask":  {f, used(author.publish(share())), 404, "task_unavailable"},
		"no participant":       {f, used(task), 403, "not_task_participant"},
		"the same topic":       {f, used(f), 422, "same_topic"},
		"same link twice":      {f, set(repro(ReproOK), "repro_result.evidence", []any{"https://example.com/a", "https://example.com/a"}), 422, "duplicate_evidence"},
		"a bad link":           {f, set(repro(ReproOK), "repro_result.evidence", []any{"https://10.0.0.1/"}), 422, "invalid_url"},
		"a secret":             {plain, object{"text": "ghp_0123456789abcdefghijklmnopqrstuvwxyz12"}, 422, "secret_detected"},
		"a secret in a method": {f, set(repro(ReproOK), "repro_result.method", "AKIAIOSFODNN7EXAMPLE"), 422, "secret_detected"},
		"no revision":          {plain, set(delivery(0), "handoff_delivery.expected_revision", nil), 422, "field_required"},
		"a large revision":     {plain, set(delivery(0), "handoff_delivery.expected_revision", 9007199254740992), 422, "invalid_field"},
	} {
		t.Run(name, func(t *testing.T) { v.reply(c.topic, c.body).Refused(c.status, c.code) })
	}
	for range 30 {
		v.reply(plain, object{"text": "t"}).Want(201)
	}
	v.reply(plain, object{"text": "t"}).Refused(429, "rate_limited")
}

// The order in which an action's faults answer (peer.md 3.4).
func TestTheFirstOfTwoFaultsOfAnActionAnswers(t *testing.T) {
	w := newWorld(t)
	asker, helper, topic, claim := w.working(time.Hour)
	stranger := w.visitor()
	used := w.key()
	asker.do(Publish, nil, ask(object{"idempotency_key": used})).Want(201)
	old := w.keyAt(w.Now().Add(-25 * time.Hour))
	// Each step mends one fault of the body before.
	body := object{"action": "accept", "expected_revision": 0, "idempotency_key": old, "colour": "red", "reason": "other"}
	send := func(v visitor, topic string) optest.Res { return v.do(Act, topicOf(topic), body) }
	unknown := "00000000-0000-4000-8000-00000000abcd"
	send(w.anyone(), unknown).Refused(401, "unauthorized")
	send(asker, unknown).Refused(410, "key_expired")
	body["idempotency_key"] = used
	send(asker, unknown).Refused(409, "idempotency_conflict")
	body["idempotency_key"] = w.key()
	send(stranger, unknown).Refused(422, "unknown_field")
	delete(body, "colour")
	send(stranger, unknown).Refused(422, "unknown_field") // reason belongs to other actions
	delete(body, "reason")
	send(stranger, unknown).Refused(422, "field_required")
	body["delivery_reply_id"] = claim
	send(stranger, unknown).Refused(404, "topic_unavailable")
	send(stranger, asker.publish(ask())).Refused(409, "not_a_handoff")
	send(stranger, topic).Refused(403, "not_participant")
	send(helper, topic).Refused(403, "wrong_role")
	w.pass(time.Hour)
	body["idempotency_key"] = w.key()
	send(asker, topic).Refused(409, "revision_conflict")
	body["expected_revision"] = 1
	send(asker, topic).Refused(409, "deadline_passed")
}

func TestStateAnswersBeforeReferences(t *testing.T) {
	w := newWorld(t)
	asker, helper, topic, claim := w.working(2 * time.Hour)
	asker.act(topic, Accept, 1, object{"delivery_reply_id": claim}).Refused(409, "handoff_state")
	asker.act(topic, Agree, 1, object{"claim_reply_id": claim}).Refused(409, "handoff_state")
	helper.act(topic, Resume, 1, nil).Refused(409, "handoff_state")
	helper.act(topic, Withdraw, 1, object{"reason": "no_longer_needed", "note_reply_id": claim}).Refused(409, "note_invalid")
	theirs := asker.reply(topic, object{"text": "a note"}).Want(201).Str("reply_id")
	helper.act(topic, Withdraw, 1, object{"reason": "no_longer_needed", "note_reply_id": theirs}).Refused(409, "note_invalid")
	own := helper.reply(topic, object{"text": "my note"}).Want(201).Str("reply_id")
	helper.act(topic, Pause, 1, object{"reason": "input_required", "wait_until": "soon", "note_reply_id": own}).Refused(422, "invalid_timestamp")
	helper.act(topic, Pause, 1, object{"reason": "input_required", "wait_until": w.at(0), "note_reply_id": own}).Refused(422, "wait_until_out_of_range")
	helper.act(topic, Pause, 1, object{"reason": "input_required", "wait_until": w.at(2 * time.Hour), "note_reply_id": own}).Want(200)
	res := w.anyone().get(Read, topicOf(topic), "")
	if res.Str("topic.handoff.pause.note.reply_id") != own || res.At("topic.handoff.pause.overdue") != false {
		t.Errorf("%s", res.Body)
	}
	asker.act(topic, Resume, 2, object{"note_reply_id": own}).Want(200) // either participant's note
}

func TestNullMembersOfOtherActionsCountAsAbsent(t *testing.T) {
	w := newWorld(t)
	asker, helper := w.visitor(), w.visitor()
	topic := asker.publish(ask(w.request(time.Hour)))
	claim := helper.reply(topic, claimBody()).Want(201).Str("reply_id")
	asker.act(topic, Agree, 0, object{"claim_reply_id": claim, "reason": nil, "wait_until": nil, "delivery_reply_id": nil, "note_reply_id": nil}).Want(200)
	asker.do(Act, topicOf(topic), object{"action": "cancel", "reason": "other", "expected_revision": 1}).Refused(422, "field_required")
}

func TestCanonicalLengths(t *testing.T) {
	for json, want := range map[string]int{"{}": 2, `{"a":""}`: 8, `["a","b"]`: 9, `"<é>\u2028"`: 9, `"\"\\\n"`: 8, `"\u0001"`: 8, `{"b":[],"a":true}`: 17} {
		if got := canonicalBytes(op.RawValue(json)); got != want {
			t.Errorf("%s has %d bytes, want %d", json, got, want)
		}
	}
}

func TestRefusalsByState(t *testing.T) {
	w := newWorld(t)
	a, b := w.visitor(), w.visitor()
	both := ask(w.request(time.Hour), object{"ask_package": object{"tried": "a", "error": "b", "constraints": "c", "success": "d"}})
	a.do(Publish, nil, both).Refused(422, "package_and_handoff")
	a.do(Publish, nil, set(finding(), "finding.evidence", []any{})).Refused(422, "evidence_required")
	plain, f := a.publish(share()), a.publish(finding())
	where := object{"environment": "a", "conditions": "b", "limitations": "c"}
	a.do(Publish, nil, set(finding(), "finding_context", object{"source": object{"kind": "topic", "topic_id": f}, "applicability": where,
		"relation": object{"kind": "disputes", "topic_id": plain, "explanation": "d"}})).Refused(409, "relation_not_a_finding")
	task := a.publish(ask())
	used := object{"kind": "use_report", "text": "t", "use_report": object{"task_topic_id": task, "result": "helped", "method": "m", "evidence": []any{}}}
	a.reply(f, used).Want(201)
	a.reply(f, used).Refused(409, "use_report_exists")
	pick := func(v visitor, topic string) optest.Res {
		return v.do(SelectAnswer, topicOf(topic), object{"selected_reply_id": nil})
	}
	pick(b, task).Refused(403, "not_author")
	pick(b, f).Refused(403, "not_author")
	pick(a, f).Refused(409, "not_an_ask")
	w.anyone().get(FindUnfinished, nil, "").Refused(422, "q_or_tag_required")
	w.anyone().get(FindUnfinished, nil, "q=+").Refused(422, "q_or_tag_required")
	w.anyone().get(ReadUpdates, nil, "").Refused(422, "scope_required")
	w.anyone().get(ReadUpdates, nil, "own=false").Refused(422, "scope_required")
	w.anyone().get(ReadUpdates, nil, "topic_ids="+f+"&topic_ids="+f).Refused(422, "duplicate_topic_id")
	b.do(Follow, topicOf(f), nil).Want(200)
	cursor := b.get(ReadInbox, nil, "").Want(200).Str("next_cursor")
	b.do(Unfollow, topicOf(f), nil).Want(200)
	b.do(Follow, topicOf(f), nil).Want(200)
	b.get(ReadInbox, nil, "cursor="+cursor).Refused(409, "inbox_scope_changed")
}

func TestTenFollows(t *testing.T) {
	w := newWorld(t)
	v, ids := w.visitor(), []string{}
	for range 11 {
		ids = append(ids, w.visitor().publish(ask()))
	}
	for i, id := range ids[:10] {
		if res := v.do(Follow, topicOf(id), nil).Want(200); int(res.Num("follow_count")) != i+1 {
			t.Errorf("%s", res.Body)
		}
	}
	v.do(Follow, topicOf(ids[10]), nil).Refused(409, "follow_limit_reached")
	v.do(Follow, topicOf(ids[9]), nil).Want(200)
}

// The last places of a topic are kept for those who have to finish something.
func TestRoom(t *testing.T) {
	w := newWorld(t)
	asker, helper, topic, _ := w.working(20 * 24 * time.Hour)
	full := func(v visitor, times int, body object) {
		t.Helper()
		for i := range times {
			if i%30 == 0 {
				w.pass(time.Hour)
			}
			v.reply(topic, body).Want(201)
		}
		v.reply(topic, body).Refused(409, "topic_full")
	}
	note := object{"text": "t"}
	full(w.visitor(), MaxByOthers-1, note) // one is the claim
	w.pass(time.Hour)
	full(asker, 3, note2(asker, helper, topic, 3))
	rev := 1
	for range MaxReplies - MaxUndelivered {
		d := helper.reply(topic, delivery(rev)).Want(201).Str("reply_id")
		asker.act(topic, RequestChanges, rev+1, object{"delivery_reply_id": d, "reason": "other"}).Want(200)
		rev += 2
	}
	helper.reply(topic, delivery(rev)).Refused(409, "topic_full")
	asker.act(topic, Cancel, rev, object{"reason": "cannot_continue"}).Want(200)
	if res := w.anyone().get(Read, topicOf(topic), "").Want(200); len(res.At("replies").([]any)) != MaxReplies {
		t.Errorf("%d replies", len(res.At("replies").([]any)))
	}
}

// note2 has the contributor fill its share of the places kept for author and contributor.
func note2(asker, helper visitor, topic string, left int) object {
	for range MaxUndelivered - MaxByOthers - left {
		helper.reply(topic, object{"text": "t"}).Want(201)
	}
	return object{"text": "t"}
}

func TestAThousandHiddenRepliesAreEnough(t *testing.T) {
	w := newWorld(t)
	v, steward := w.visitor(), w.steward()
	topic := v.publish(ask())
	reply := v.reply(topic, object{"text": "t"}).Want(201).Str("reply_id")
	w.Run("peer", func(c *op.Call) error {
		h, _, err := op.Load[head](c, headKey(ID(topic)))
		for i := range maxHidden {
			h.Hidden = append(h.Hidden, ID(fmt.Sprint("hidden ", i)))
		}
		h.save(c)
		return err
	})
	w.moderate(Hide, steward, object{"entity_type": "reply", "entity_id": reply, "reason": "r"}).Refused(409, "too_many_hidden")
}

func TestPageCursorsLiveADay(t *testing.T) {
	w := newWorld(t)
	v := w.visitor()
	for range 3 {
		v.publish(offer())
	}
	next := w.anyone().get(FindOffers, nil, "limit=1").Want(200).Str("next_cursor")
	w.pass(CursorLife)
	w.anyone().get(FindOffers, nil, "limit=2&cursor="+next).Want(200)
	w.pass(time.Second)
	w.anyone().get(FindOffers, nil, "cursor="+next).Refused(410, "cursor_expired")
}

func TestAQueryHas1024Bytes(t *testing.T) {
	w := newWorld(t)
	h := rest.Handler(w.Engine, Operations, rest.Options{BaseURL: w.Engine.BaseURL})
	for path, want := range map[string]int{"/api/peer/topics?q=": 422, "/api/peer/offers?q=": 422, "/api/peer/unfinished?q=": 422} {
		for n, status := range map[int]int{MaxQuery - len("q="): want, MaxQuery - len("q=") + 1: 414} {
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, httptest.NewRequest("GET", path+long(n), nil))
			if rec.Code != status || status == 414 && !strings.Contains(rec.Body.String(), "query_too_long") {
				t.Errorf("%s with %d: %d %s", path, n, rec.Code, rec.Body)
			}
		}
	}
}
