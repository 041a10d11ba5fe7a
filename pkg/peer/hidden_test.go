package peer

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

func (w *world) hide(steward, kind, id string) {
	w.T.Helper()
	w.moderate(Hide, steward, object{"entity_type": kind, "entity_id": id, "reason": "r"}).Want(200)
}

func (w *world) unhide(steward, kind, id string) {
	w.T.Helper()
	w.moderate(Unhide, steward, object{"entity_type": kind, "entity_id": id, "reason": "r"}).Want(200)
}

func TestAHiddenTopicLooksLikeNoTopic(t *testing.T) {
	w := newWorld(t)
	v, steward := w.visitor(), w.steward()
	id := v.publish(ask(object{"tags": []any{"tape"}}))
	unknown := "00000000-0000-4000-8000-00000000abcd"
	w.hide(steward, "topic", id)
	w.hide(steward, "topic", id) // again changes nothing
	for _, c := range []func(string) []byte{
		func(id string) []byte { return v.get(Read, topicOf(id), "").Refused(404, "topic_unavailable").Body },
		func(id string) []byte { return v.reply(id, object{"text": "t"}).Body },
		func(id string) []byte { return v.do(Follow, topicOf(id), nil).Body },
		func(id string) []byte { return v.act(id, Cancel, 0, object{"reason": "other"}).Body },
		func(id string) []byte {
			return v.do(SelectAnswer, topicOf(id), object{"selected_reply_id": nil}).Body
		},
		func(id string) []byte {
			return v.do(ReportAbuse, nil, object{"entity_type": "topic", "entity_id": id, "reason": "r"}).Body
		},
	} {
		if a, b := c(id), c(unknown); !bytes.Equal(a, b) {
			t.Errorf("hidden: %s\nunknown: %s", a, b)
		}
	}
	for _, q := range []string{"", "tag=tape", "kind=ask", "q=tape"} {
		if res := v.get(Search, nil, q).Want(200); len(res.At("topics").([]any)) != 0 {
			t.Errorf("%q finds %s", q, res.Body)
		}
	}
	w.unhide(steward, "topic", id)
	v.get(Read, topicOf(id), "").Want(200)
	if res := v.get(Search, nil, "tag=tape").Want(200); len(res.At("topics").([]any)) != 1 {
		t.Errorf("%s", res.Body)
	}
	w.moderate(Hide, steward, object{"entity_type": "topic", "entity_id": unknown, "reason": "r"}).Refused(404, "not found")
	w.moderate(Hide, steward, object{"entity_type": "reply", "entity_id": unknown, "reason": "r"}).Refused(404, "not found")
	w.moderate(Hide, v.Token, object{"entity_type": "topic", "entity_id": id, "reason": "r"}).Refused(401, "unauthorized")
}

func TestAHiddenReplyTakesItsEffectsAway(t *testing.T) {
	w := newWorld(t)
	author, a, b, steward := w.visitor(), w.visitor(), w.visitor(), w.steward()
	f, task := author.publish(finding()), author.publish(ask())
	first := a.reply(f, repro(ReproOK)).Want(201).Str("reply_id")
	failed := a.reply(f, repro(FailedRepro)).Want(201).Str("reply_id")
	b.reply(f, repro(ReproOK)).Want(201)
	used := author.reply(f, object{"kind": "use_report", "text": "t", "use_report": object{"task_topic_id": task, "result": "did_not_help", "method": "m", "evidence": []any{}}}).Want(201).Str("reply_id")
	look := func(want string, ok, bad, replies, uses int) {
		t.Helper()
		res := w.anyone().get(Read, topicOf(f), "").Want(200)
		got := fmt.Sprint(res.Str("topic.confidence"), res.Num("topic.repro_ok_count"), res.Num("topic.failed_repro_count"), res.Num("topic.reply_count"), len(res.At("replies").([]any)), res.Num("topic.use_reports.did_not_help"), len(res.At("topic.use_reports.reports").([]any)))
		if got != fmt.Sprint(want, ok, bad, replies, replies, uses, uses) {
			t.Errorf("%s: %s", got, res.Body)
		}
	}
	look(Contradicted, 1, 1, 4, 1)
	w.hide(steward, "reply", failed)
	look(Reproduced, 2, 0, 3, 1) // the earlier one counts again
	w.hide(steward, "reply", first)
	look(Reproduced, 1, 0, 2, 1)
	w.hide(steward, "reply", used)
	look(Reproduced, 1, 0, 1, 0)
	w.unhide(steward, "reply", failed)
	look(Contradicted, 1, 1, 2, 0)
	w.unhide(steward, "reply", used)
	look(Contradicted, 1, 1, 3, 1)
	changes := string(w.anyone().get(ReadUpdates, nil, "topic_ids="+f).Want(200).Body)
	if strings.Contains(changes, first) || !strings.Contains(changes, failed) {
		t.Errorf("%s", changes)
	}
}

func TestAHiddenReplyLeavesALinkWithoutAnID(t *testing.T) {
	w := newWorld(t)
	asker, helper, steward := w.visitor(), w.visitor(), w.steward()
	topic := asker.publish(ask(w.request(24 * time.Hour)))
	claim := helper.reply(topic, claimBody()).Want(201).Str("reply_id")
	asker.do(SelectAnswer, topicOf(topic), object{"selected_reply_id": claim}).Want(200)
	w.hide(steward, "reply", claim)
	res := w.anyone().get(Read, topicOf(topic), "").Want(200)
	if bytes.Contains(res.Body, []byte(claim)) || res.Str("topic.status") != Answered || res.At("topic.selected_reply.available") != false || res.At("topic.handoff.claims.0.available") != false {
		t.Errorf("%s", res.Body)
	}
	asker.act(topic, Agree, 0, object{"claim_reply_id": claim}).Refused(409, "claim_not_pending")
	asker.do(SelectAnswer, topicOf(topic), object{"selected_reply_id": claim}).Refused(404, "reply_unavailable")
	asker.do(ReportAbuse, nil, object{"entity_type": "reply", "entity_id": claim, "reason": "r"}).Refused(404, "reply_unavailable")
	asker.act(topic, Decline, 0, object{"claim_reply_id": claim}).Want(200)
	note := helper.reply(topic, object{"text": "a note"}).Want(201).Str("reply_id")
	w.hide(steward, "reply", note)
	asker.act(topic, Cancel, 1, object{"reason": "other", "note_reply_id": note}).Refused(409, "note_invalid")
}

func TestAHiddenCorrectionIsTakenOff(t *testing.T) {
	w := newWorld(t)
	author, v, steward := w.visitor(), w.visitor(), w.steward()
	f := author.publish(finding(object{"tags": []any{"tape"}}))
	context := func(kind string) object {
		return object{"finding_context": object{"source": object{"kind": "topic", "topic_id": f},
			"applicability": object{"environment": "a", "conditions": "b", "limitations": "c"}, "relation": object{"kind": kind, "topic_id": f, "explanation": "d"}}}
	}
	d := v.publish(finding(context("disputes")))
	v.publish(finding(context("supersedes")))
	count := func() string {
		res := w.anyone().get(Read, topicOf(f), "").Want(200)
		short := w.anyone().get(FindUnfinished, nil, "tag=tape&need=investigate").Want(200)
		return fmt.Sprint(res.Num("topic.corrections_count"), len(res.At("topic.corrections").([]any)), len(short.At("topics").([]any)))
	}
	if got := count(); got != "2 2 1" {
		t.Error(got)
	}
	w.hide(steward, "topic", d)
	if got := count(); got != "1 1 0" {
		t.Error(got)
	}
	w.unhide(steward, "topic", d)
	if got := count(); got != "2 2 1" {
		t.Error(got)
	}
	w.hide(steward, "topic", f)
	res := w.anyone().get(Read, topicOf(d), "").Want(200)
	if bytes.Contains(res.Body, []byte(f)) || res.At("topic.finding_context.relation.topic.available") != false || res.At("topic.finding_context.relation.same_author") != nil {
		t.Errorf("%s", res.Body)
	}
}

func TestReportsReachTheSteward(t *testing.T) {
	w := newWorld(t)
	v, other, steward := w.visitor(), w.visitor(), w.steward()
	topic := other.publish(ask())
	reply := other.reply(topic, object{"text": "t"}).Want(201).Str("reply_id")
	if res := v.do(ReportAbuse, nil, object{"entity_type": "topic", "entity_id": topic, "reason": "Spam."}).Want(201); res.Str("status") != "received" || res.Str("id") == "" {
		t.Errorf("%s", res.Body)
	}
	w.pass(time.Second)
	v.do(ReportAbuse, nil, object{"entity_type": "reply", "entity_id": reply, "reason": "A secret.", "urgent": true}).Want(201)
	res := w.moderate(Reports, steward, nil).Want(200)
	if res.Str("reports.0.entity_id") != reply || res.At("reports.0.urgent") != true || res.Str("reports.1.entity_id") != topic || res.At("next_cursor") != nil {
		t.Errorf("%s", res.Body)
	}
	for i := range 60 {
		w.pass(4 * time.Minute)
		v.do(ReportAbuse, nil, object{"entity_type": "topic", "entity_id": topic, "reason": fmt.Sprint(i)}).Want(201)
	}
	page := w.moderate(Reports, steward, nil).Want(200)
	q := w.anyone()
	q.Token = steward
	rest := q.get(Reports, nil, "after="+page.Str("next_cursor")).Want(200)
	if len(page.At("reports").([]any)) != reportsPage || len(rest.At("reports").([]any)) != 12 {
		t.Errorf("%d and %d", len(page.At("reports").([]any)), len(rest.At("reports").([]any)))
	}
	q.get(Reports, nil, "after=x").Refused(422, "invalid_cursor")
	for range 20 {
		other.do(ReportAbuse, nil, object{"entity_type": "topic", "entity_id": topic, "reason": "r"}).Want(201)
	}
	other.do(ReportAbuse, nil, object{"entity_type": "topic", "entity_id": topic, "reason": "r"}).Refused(429, "rate_limited")
	v.do(ReportAbuse, nil, object{"entity_type": "topic", "entity_id": topic, "reason": long(2001)}).Refused(422, "field_bytes")
}
