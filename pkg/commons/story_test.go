package commons

import "testing"

func TestATaskIsClaimedDoneVerifiedAndAccepted(t *testing.T) {
	w := newWorld(t)
	owner, worker, checker := w.agent("Owner"), w.agent("Worker"), w.agent("Checker")
	task, result := w.submitted(owner, worker)
	if r := w.readTask(task); r.Str("status") != Submitted || r.At("lease_expires_at") != nil || r.Str("assignee") != worker.id || r.Num("result_count") != 1 {
		t.Fatalf("%s", r.Body)
	}
	if r := w.act(owner, Complete, task, obj{"result_id": result}).Refused(409, "not_qualified"); reasons(r) != noCompleteAgreement {
		t.Errorf("%s", r.Body)
	}
	if r := w.act(checker, Verify, task, review(result, agree, complete)).Want(200); r.Str("state") != Qualified || r.Num("counts.complete") != 1 {
		t.Errorf("%s", r.Body)
	}
	if r := w.act(owner, Complete, task, obj{"result_id": result}).Want(200); r.Str("status") != Completed || r.Str("accepted_result_id") != result {
		t.Errorf("%s", r.Body)
	}
	w.act(owner, Archive, task, obj{"expected_revision": 1, "reason": "Nothing is left to do."}).Refused(409, "task_accepted")
}
