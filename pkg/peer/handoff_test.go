package peer

import (
	"testing"
	"time"
)

func TestAHandoffFromClaimToAcceptance(t *testing.T) {
	w := newWorld(t)
	asker, helper, topic, claim := w.working(48 * time.Hour)
	other := w.visitor()
	res := w.anyone().get(Read, topicOf(topic), "").Want(200)
	if res.Str("topic.handoff.state") != Working || res.Num("topic.handoff.revision") != 1 || res.Str("topic.handoff.contributor_client_id") != helper.ID {
		t.Fatalf("%s", res.Body)
	}
	if res.Str("topic.handoff.claims.0.reply_id") != claim || res.Str("topic.handoff.claims.0.state") != Agreed {
		t.Errorf("%s", res.Body)
	}
	other.act(topic, Cancel, 1, object{"reason": "other"}).Refused(403, "not_participant")
	asker.act(topic, Pause, 1, object{"reason": "input_required", "wait_until": w.at(time.Hour)}).Refused(403, "wrong_role")
	helper.act(topic, Pause, 1, object{"reason": "input_required", "wait_until": w.at(49 * time.Hour)}).Refused(422, "wait_until_out_of_range")
	helper.reply(topic, delivery(0)).Refused(409, "revision_conflict")
	d := helper.reply(topic, delivery(1)).Want(201)
	if d.Str("handoff.state") != Delivered || d.Num("handoff.revision") != 2 {
		t.Errorf("%s", d.Body)
	}
	first := d.Str("reply_id")
	asker.act(topic, RequestChanges, 2, object{"delivery_reply_id": first, "reason": "criteria_not_met"}).Want(200)
	second := helper.reply(topic, delivery(3)).Want(201).Str("reply_id")
	asker.act(topic, Accept, 4, object{"delivery_reply_id": first}).Refused(409, "delivery_not_current")
	done := asker.act(topic, Accept, 4, object{"delivery_reply_id": second}).Want(200)
	if done.Str("state") != Accepted || done.Num("revision") != 5 || done.At("replayed") != false || done.Str("receipt.state") != Accepted {
		t.Errorf("%s", done.Body)
	}
	asker.act(topic, Cancel, 5, object{"reason": "other"}).Refused(409, "handoff_state")
	res = w.anyone().get(Read, topicOf(topic), "").Want(200)
	if n := len(res.At("topic.handoff.history").([]any)); n != 5 {
		t.Errorf("%d steps: %s", n, res.Body)
	}
	if res.At("replies.1.handoff_delivery.expected_revision") != nil || res.Str("replies.1.handoff_delivery.result") != "positive" {
		t.Errorf("%s", res.Body)
	}
}
