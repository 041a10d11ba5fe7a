package commons

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

func TestTheAddressRule(t *testing.T) {
	for _, s := range []string{"https://example.com", "https://example.com/", "HTTPS://Example.COM:443/a?b=c#d", "https://a.b.example.org/x%20y", "https://bücher.example/ä",
		"https://xn--bcher-kva.example/", "https://example.com./", "https://1.example.com", "https://example.com/" + strings.Repeat("a", maxURL-20)} {
		if why := publicURL(s); why != "" {
			t.Errorf("%s is refused: %s", s, why)
		}
	}
	for s, want := range map[string]string{"": "syntax", "example.com": "scheme", "http://example.com": "scheme", "ftp://example.com": "scheme", "javascript:alert(1)": "syntax",
		"https://user@example.com": "credentials", "https://user:pw@example.com": "credentials", "https://example.com:8443": "port", "https://example.com:": "port", "https://example.com:80/": "port",
		"https://127.0.0.1": "ip_literal", "https://127.1": "ip_literal", "https://2130706433": "ip_literal", "https://0x7f000001": "ip_literal", "https://0x7f.0.0.1": "ip_literal",
		"https://0177.0.0.1": "ip_literal", "https://[::1]/": "ip_literal", "https://[::ffff:127.0.0.1]": "ip_literal", "https://１２７.０.０.１/": "ip_literal", "https://localhost": "host",
		"https://intranet": "host", "https://a.localhost": "host", "https://printer.local": "host", "https://vault.internal": "host", "https://PRINTER.LOCAL": "host", "https:///a": "host",
		"https://exa mple.com": "syntax", "https://example.com/a b": "syntax", "https://example.com\\@evil.example": "syntax", "https://-a.example.com": "host",
		"https://example.com/" + strings.Repeat("a", maxURL-19): "length"} {
		if why := publicURL(s); why != want {
			t.Errorf("%q: %q, want %q", s, why, want)
		}
	}
}

// sized is a text of n characters.
func sized(n int) string { return strings.Repeat("ä", n) }

func labels(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint("label ", i)
	}
	return all
}

func sources(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("https://a.example.com/%d", i)
	}
	return all
}

// Every limit at its last good and its first bad value, in characters.
func TestLimits(t *testing.T) {
	w := newWorld(t)
	owner := w.agent("Owner")
	room := w.Do(CreateRoom, optest.Req{Token: owner.token, Body: obj{"name": "A room", "description": "x"}}).Want(201).Str("id")
	task, result := w.submitted(owner, owner)
	register := obj{"name": "Ada", "description": "x"}
	makeRoom := obj{"name": "Talk", "description": "x"}
	message := obj{"room_id": room, "content": "x"}
	artifact := obj{"task_id": task, "result_id": result, "type": "text", "description": "x", "content": "x"}
	report := obj{"entity_type": "tasks", "entity_id": task, "reason": "x"}
	submission := obj{"content": "x"}
	stale := obj{"content": "x", "result_kind": premiseResult, "evidence": sources(1), "premise": obj{"failed_assumption": "x", "affected_source": "https://a.example.com", "repairable": false, "suggested_creator_action": "x"}}
	premise := func(field string, v any) obj {
		p := obj{}
		for k, e := range stale["premise"].(obj) {
			p[k] = e
		}
		p[field] = v
		return p
	}
	expectation := func(field string, v any) []obj { return []obj{{"url": "https://libraries.example.com/mill", field: v}} }
	archive := obj{"expected_revision": 1, "reason": "Long enough."}
	owners := obj{"result_id": result, "outcome": failed, "reason": strings.Repeat("x", 20), "expected_review_state": "x"}
	cases := []struct {
		o         *op.Operation
		body      obj
		field     string
		good, bad any
	}{
		{Register, register, "name", sized(100), sized(101)}, {Register, register, "name", "xx", "x"}, {Register, register, "description", sized(8000), sized(8001)},
		{Register, register, "model", sized(100), sized(101)}, {Register, register, "operator", "xx", "x"}, {Register, register, "operator", sized(100), sized(101)},
		{Register, register, "interests", labels(20), labels(21)}, {Register, register, "capabilities", labels(20), labels(21)},
		{Register, register, "interests", []string{sized(64)}, []string{sized(65)}}, {Register, register, "capabilities", []string{"x"}, []string{" "}},
		{Register, register, "capabilities", []string{"a b"}, []string{"a\x00b"}}, {Register, register, "interests", []string{"é"}, []string{"a\nb"}},
		{Register, register, "a2a_endpoint", "https://a.example.com", "https://a"}, {Register, register, "model", "xx", nil},
		{CreateRoom, makeRoom, "name", sized(100), sized(101)}, {CreateRoom, makeRoom, "description", sized(8000), sized(8001)}, {CreateRoom, makeRoom, "description", "x", " "},
		{PostMessage, message, "content", " " + sized(8000) + "\n", sized(8001)}, {PostMessage, message, "evidence", sources(20), sources(21)},
		{PublishArtifact, artifact, "content", sized(8000), sized(8001)}, {PublishArtifact, artifact, "description", sized(8000), sized(8001)}, {PublishArtifact, artifact, "type", "dataset", "novel"},
		{PublishArtifact, artifact, "evidence", sources(20), sources(21)}, {PublishArtifact, artifact, "uri", "https://a.example.com", "file:///etc"},
		{ReportAbuse, report, "reason", sized(8000), sized(8001)}, {ReportAbuse, report, "entity_type", "tasks", "reviews"},
		{Submit, submission, "content", sized(8000), sized(8001)}, {Submit, submission, "evidence", sources(20), sources(21)}, {Submit, submission, "confidence", 1, 1.01},
		{Submit, submission, "confidence", 0, -0.01}, {Submit, submission, "submission_key", strings.Repeat("a", 100), strings.Repeat("a", 101)}, {Submit, submission, "submission_key", "abcd-_12", "abcd 123"},
		{Submit, submission, "result_kind", contribution, "other"},
		{Submit, stale, "premise", premise("failed_assumption", sized(8000)), premise("failed_assumption", sized(8001))}, {Submit, stale, "premise", premise("suggested_creator_action", sized(8000)), premise("suggested_creator_action", sized(8001))},
		{Submit, stale, "premise", premise("affected_source", "https://a.example.com/x"), premise("affected_source", "http://a.example.com/x")}, {Submit, stale, "evidence", sources(20), sources(21)},
		{HandOff, handoff(), "next_action", sized(1200), sized(1201)}, {HandOff, handoff(), "next_action", sized(10), sized(9)}, {HandOff, handoff(), "desired_output", sized(1200), sized(1201)},
		{HandOff, handoff(), "useful_progress", sized(1200), sized(1201)}, {HandOff, handoff(), "source_urls", append(sources(9), "https://libraries.example.com/mill"), sources(11)},
		{HandOff, handoff(), "max_minutes", 1, 0}, {HandOff, handoff(), "max_minutes", 5, 6}, {HandOff, handoff(), "kind", "review", "rest"}, {HandOff, handoff(), "reason", sized(1000), sized(1001)},
		{HandOff, handoff(), "reason", sized(10), sized(9)}, {HandOff, handoff(), "source_expectations", expectation("record_range", sized(200)), expectation("record_range", sized(201))},
		{HandOff, handoff(), "source_expectations", expectation("headers", labels(100)), expectation("headers", labels(101))}, {HandOff, handoff(), "source_expectations", expectation("headers", []string{sized(100)}), expectation("headers", []string{sized(101)})},
		{HandOff, handoff(), "source_expectations", expectation("schema_version", sized(100)), expectation("schema_version", sized(101))}, {HandOff, handoff(), "source_expectations", expectation("discovery_remaining", sized(1000)), expectation("discovery_remaining", sized(1001))},
		{HandOff, handoff(), "source_expectations", expectation("redirect_hosts", labels(10)), expectation("redirect_hosts", labels(11))}, {HandOff, handoff(), "source_expectations", expectation("dataset_date", "2026-01-31"), expectation("dataset_date", "31.1.2026")},
		{HandOff, handoff(), "source_expectations", expectation("sha256", strings.Repeat("a", 64)), expectation("sha256", strings.Repeat("A", 64))}, {HandOff, handoff(), "source_expectations", expectation("size_bytes", maxSafe), expectation("size_bytes", maxSafe+1)},
		{HandOff, handoff(), "source_expectations", expectation("row_count", 0), expectation("row_count", -1)}, {HandOff, handoff(), "source_expectations", expectation("checked_at", "2024-02-29T23:59:59.123Z"), expectation("checked_at", "2023-02-29T23:59:59Z")},
		{HandOff, handoff(), "expected_handoff_revision", 0, -1}, {HandOff, handoff(), "expected_revision", 1, 0},
		{Archive, archive, "reason", sized(1000), sized(1001)}, {Archive, archive, "reason", sized(10), sized(9)}, {Archive, archive, "expected_revision", maxSafe, maxSafe + 1},
		{OwnerVerify, owners, "reason", sized(1000), sized(1001)}, {OwnerVerify, owners, "reason", sized(20), sized(19)}, {OwnerVerify, owners, "expected_review_state", strings.Repeat("x", 16000), strings.Repeat("x", 16001)},
		{OwnerVerify, owners, "outcome", reopened, "maybe"}, {Complete, obj{"result_id": result}, "expected_review_state", strings.Repeat("x", 16000), strings.Repeat("x", 16001)},
		{Verify, review(result, agree, complete), "confidence", 0, "high"}, {Verify, review(result, agree, complete), "content", sized(8000), sized(8001)}, {Verify, review(result, agree, complete), "verdict", dispute, "abstain"},
		{Verify, review(result, agree, complete), "completeness", partial, "half"}, {ReviewClaim, obj{"result_id": result}, "minutes", 15, 16}, {ReviewClaim, obj{"result_id": result}, "minutes", 1, 0},
		{CheckJSON, obj{"text": "1"}, "text", strings.Repeat(" ", 15999) + "1", strings.Repeat(" ", 16000) + "1"}, {CheckCitations, obj{"sources": sources(1)}, "sources", sources(50), sources(51)},
		{CheckCitations, obj{"sources": sources(1)}, "sources", []string{sized(2000)}, []string{sized(2001)}}, {CheckCitations, obj{"sources": sources(1)}, "sources", []string{"x"}, []string{}},
	}
	for i, c := range cases {
		call := func(v any) optest.Res {
			body := obj{}
			for k, e := range c.body {
				body[k] = e
			}
			body[c.field] = v
			if v == nil {
				body[c.field] = "x"
			}
			caller := w.agent(fmt.Sprint("Caller ", i))
			r := optest.Req{Token: caller.token, Body: body, Address: fmt.Sprint("limits ", i, v)[:min(30, len(fmt.Sprint("limits ", i, v)))], Path: map[string]string{"task_id": task}}
			if c.o == OwnerVerify || c.o == Archive || c.o == HandOff || c.o == PublishArtifact {
				r.Token = owner.token
			}
			return w.Do(c.o, r)
		}
		if r := call(c.bad); r.Status != 422 || !strings.HasPrefix(r.Str("field"), c.field) {
			t.Errorf("%s %s %.40v: %d %s", c.o.ID, c.field, c.bad, r.Status, r.Body)
		}
		if r := call(c.good); r.Status == 422 {
			t.Errorf("%s %s %.40v: %d %s", c.o.ID, c.field, c.good, r.Status, r.Body)
		}
		w.Advance(time.Hour)
	}
}

func TestTheFirstFaultAnswers(t *testing.T) {
	w := newWorld(t)
	owner, ada := w.agent("Owner"), w.agent("Ada")
	task, result := w.submitted(owner, ada)
	path := map[string]string{"task_id": task}
	for _, c := range []struct {
		name   string
		o      *op.Operation
		r      optest.Req
		status int
		code   string
	}{
		{"size before JSON", Submit, optest.Req{Body: "{" + strings.Repeat(" ", maxBody), Path: path}, 413, "body_too_large"},
		{"JSON before token", Submit, optest.Req{Body: "{", Path: path}, 400, "invalid_json"},
		{"token before fields", Submit, optest.Req{Body: obj{}, Path: path}, 401, "unauthorized"},
		{"fields before existence", Submit, optest.Req{Token: ada.token, Body: obj{}, Path: map[string]string{"task_id": "c0ffee00-0000-4000-8000-000000000000"}}, 422, "field_required"},
		{"existence before role", Complete, optest.Req{Token: ada.token, Body: obj{"result_id": "c0ffee00-0000-4000-8000-000000000000"}, Path: path}, 404, "not_found"},
		{"role before state", Complete, optest.Req{Token: ada.token, Body: obj{"result_id": result}, Path: path}, 403, "creator_only"},
		{"role before review state", OwnerVerify, optest.Req{Token: ada.token, Body: obj{"result_id": result, "outcome": failed, "reason": strings.Repeat("x", 20), "expected_review_state": "x"}, Path: path}, 403, "creator_only"},
		{"unknown before types", CreateRoom, optest.Req{Token: ada.token, Body: obj{"name": 1, "colour": "red"}}, 422, "unknown_field"},
		{"ignored inside a body", Complete, optest.Req{Token: owner.token, Body: obj{"result_id": result, "colour": "red"}, Path: path}, 409, "not_qualified"},
	} {
		if r := w.Do(c.o, c.r); r.Status != c.status || r.Str("error") != c.code {
			t.Errorf("%s: %d %s", c.name, r.Status, r.Body)
		}
	}
}

func TestIdsAreComparedInAnyCase(t *testing.T) {
	w := newWorld(t)
	owner, ada, bea := w.agent("Owner"), w.agent("Ada"), w.agent("Bea")
	task, result := w.submitted(owner, ada)
	up := strings.ToUpper
	w.act(bea, Verify, up(task), review(up(result), agree, complete)).Want(200)
	w.act(bea, Verify, task, review(result, agree, complete)).Refused(409, "review_exists")
	if r := w.get(ReadTask, up(task)).Want(200); r.Str("id") != task {
		t.Errorf("%s", r.Body)
	}
	if r := w.get(ListResults, "", "task_id", up(task)); len(r.At("items").([]any)) != 1 {
		t.Errorf("%s", r.Body)
	}
	w.get(ReadTask, "00000000-0000-0000-0000-000000000000").Refused(404, "not_found")
	w.get(ReadTask, "00000000-0000-9000-8000-000000000000").Refused(400, "invalid_path")
}

func TestTheLargestHandoffFits(t *testing.T) {
	w := newWorld(t)
	owner := w.agent("Owner")
	task := w.task(owner)
	var expects []obj
	urls := make([]string, 10)
	for i := range urls {
		urls[i] = fmt.Sprintf("https://a%d.example.com/", i)
		urls[i] += strings.Repeat("x", maxURL-len(urls[i]))
	}
	for i := range 20 {
		headers, hosts := make([]string, 100), make([]string, 10)
		for j := range headers {
			headers[j] = strings.Repeat("h", 100)
		}
		for j := range hosts {
			hosts[j] = strings.Repeat("o", 253)
		}
		expects = append(expects, obj{"url": urls[i%10], "headers": headers, "redirect_hosts": hosts, "record_range": strings.Repeat("r", 200), "schema_version": strings.Repeat("s", 100),
			"discovery_remaining": strings.Repeat("d", 1000), "sha256": strings.Repeat("a", 64), "row_count": maxSafe, "size_bytes": maxSafe, "checked_at": "2026-01-01T00:00:00Z", "dataset_date": "2026-01-01"})
	}
	big := handoff(obj{"next_action": strings.Repeat("n", 1200), "desired_output": strings.Repeat("o", 1200), "useful_progress": strings.Repeat("p", 1200), "reason": strings.Repeat("r", 1000),
		"source_urls": urls, "source_expectations": expects})
	w.act(owner, HandOff, task, big).Want(200)
	w.act(owner, HandOff, task, big).Want(200) // the first goes into history
	if r := w.readTask(task); r.Num("handoff_revision") != 2 || len(r.At("handoff.source_expectations").([]any)) != 20 {
		t.Errorf("%.300s", r.Body)
	}
	if r := w.get(ListTasks, ""); len(r.At("items").([]any)) != 1 {
		t.Errorf("%.300s", r.Body)
	}
	if n := len(w.rows(TaskKey(task).PK, "HANDOFF#")); n != 1 {
		t.Errorf("%d earlier handoffs", n)
	}
}
