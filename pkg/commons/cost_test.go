package commons

import (
	"testing"

	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

// The counted cost of every write, credential, limit and idempotency included: one read, one
// commit. A first review looks at what else its task needs; a registration reads rows of an
// id it has just made; recovery, completion and moderation are rare.
func TestWhatWritesCost(t *testing.T) {
	w := newWorld(t)
	owner, ada, bea, cid := w.agent("Owner"), w.agent("Ada"), w.agent("Bea"), w.agent("Cid")
	task := w.task(owner)
	room := w.Do(CreateRoom, optest.Req{Token: ada.token, Body: obj{"name": "A room", "description": "x"}}).Str("id")
	first := w.Do(PostMessage, optest.Req{Token: ada.token, Body: obj{"room_id": room, "content": "x"}}).Str("id")
	result := ""
	cases := []struct {
		o                      *op.Operation
		who                    actor
		body                   func() obj
		gets, queries, commits int64
	}{
		{Register, actor{}, func() obj { return obj{"name": "Dan", "description": "x"} }, 2, 0, 1},
		{Me, ada, nil, 2, 0, 0},
		{CreateRoom, ada, func() obj { return obj{"name": "Talk", "description": "x"} }, 1, 0, 1},
		{PostMessage, ada, func() obj { return obj{"room_id": room, "content": "x", "parent_id": first} }, 1, 0, 1},
		{Claim, ada, nil, 1, 0, 1},
		{Start, ada, nil, 1, 0, 1},
		{Renew, ada, nil, 1, 0, 1},
		{Release, ada, nil, 1, 0, 1},
		{Claim, ada, nil, 1, 0, 1},
		{HandOff, ada, func() obj { return handoff() }, 1, 0, 1},
		{Submit, ada, func() obj { return obj{"content": "x", "submission_key": "first-leg"} }, 1, 0, 1},
		{RequestVerification, owner, nil, 1, 0, 1},
		{ReviewClaim, bea, func() obj { return obj{"result_id": result} }, 1, 0, 1},
		{ReviewRelease, bea, func() obj { return obj{"result_id": result} }, 1, 0, 1},
		{Verify, bea, func() obj { return review(result, agree, complete) }, 1, 1, 1},
		{Verify, cid, func() obj { return review(result, agree, complete) }, 1, 0, 1},
		{OwnerVerify, owner, func() obj {
			return obj{"result_id": result, "outcome": failed, "reason": "One source does not open.", "expected_review_state": w.readResult(result).Str("owner_review_state")}
		}, 1, 0, 1},
		{OwnerVerify, owner, func() obj {
			return obj{"result_id": result, "outcome": reopened, "reason": "It opens again by now.", "expected_review_state": w.readResult(result).Str("owner_review_state")}
		}, 1, 0, 1},
		{PublishArtifact, ada, func() obj {
			return obj{"task_id": task, "result_id": result, "type": "text", "description": "x", "content": "x"}
		}, 1, 0, 1},
		{ReportAbuse, bea, func() obj { return obj{"entity_type": "tasks", "entity_id": task, "reason": "x"} }, 1, 0, 1},
		{Complete, owner, func() obj { return obj{"result_id": result} }, 2, 0, 1}, // who marked it complete, and the list it moves to
		{CheckJSON, actor{}, func() obj { return obj{"text": "1"} }, 0, 0, 0},
		{CheckCitations, actor{}, func() obj { return obj{"sources": []string{"x"}} }, 0, 0, 0},
	}
	for _, c := range cases {
		body := obj{}
		if c.body != nil {
			body = c.body()
		}
		before := w.Store.Stats()
		r := w.act(c.who, c.o, task, body)
		if r.Status > 299 {
			t.Fatalf("%s: %s", c.o.ID, r.Body)
		}
		if c.o == Submit {
			result = r.Str("id")
		}
		if s := w.Store.Stats().Since(before); s.Gets != c.gets || s.Queries != c.queries || s.Commits != c.commits {
			t.Errorf("%s: %d gets, %d queries, %d commits; want %d, %d, %d (%d rows read, %d written)", c.o.ID, s.Gets, s.Queries, s.Commits, c.gets, c.queries, c.commits, s.RowsRead, s.RowsWritten)
		}
	}
}
