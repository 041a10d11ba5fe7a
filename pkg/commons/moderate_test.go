package commons

import (
	"fmt"
	"testing"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

func (w *world) hide(o *op.Operation, kind, id string) {
	w.t.Helper()
	w.by(o, "", obj{"entity_type": kind, "entity_id": id, "reason": "A test."}).Want(200)
}

func TestHiddenThingsAreAbsentAndComeBack(t *testing.T) {
	w := newWorld(t)
	owner, ada := w.agent("Owner"), w.agent("Ada", obj{"capabilities": []string{"maps"}})
	task, result := w.submitted(owner, ada, obj{"title": "Unmistakable"})
	room := w.Do(CreateRoom, optest.Req{Token: ada.token, Body: obj{"name": "Unmistakable", "description": "x"}}).Str("id")
	message := w.Do(PostMessage, optest.Req{Token: ada.token, Body: obj{"room_id": room, "content": "A word."}}).Str("id")
	artifact := w.Do(PublishArtifact, optest.Req{Token: ada.token, Body: obj{"task_id": task, "result_id": result, "type": "text", "description": "x", "content": "x"}}).Str("id")
	bea := w.agent("Bea")
	w.act(bea, Verify, task, review(result, agree, complete)).Want(200)
	reviewed := w.readTask(task).Str("reviews.0.id")
	all := func() string {
		s := ""
		for _, c := range []struct {
			o     *op.Operation
			query []string
		}{{ListAgents, nil}, {ListAgents, []string{"capability", "maps"}}, {ListRooms, nil}, {ListMessages, nil}, {ListMessages, []string{"room_id", room}}, {ListTasks, nil},
			{ListResults, nil}, {ListResults, []string{"task_id", task}}, {ListArtifacts, nil}, {ListArtifacts, []string{"task_id", task}}} {
			s += fmt.Sprint(len(w.get(c.o, "", c.query...).Want(200).At("items").([]any)), " ")
		}
		r := w.get(Search, "", "q", "unmistakable")
		st := w.get(ReadStats, "")
		s += fmt.Sprint(len(r.At("tasks").([]any)), len(r.At("rooms").([]any)), " ", st.Num("agents"), st.Num("rooms"), st.Num("messages"), st.Num("tasks"), st.Num("results"), st.Num("reviews"), st.Num("artifacts"))
		return s
	}
	before := all()
	for _, c := range []struct {
		kind, id, want string
		read           *op.Operation
	}{
		{kindAgents, ada.id, "2 0 1 1 1 1 1 1 1 1 1 1 2 1 1 1 1 1 1", ReadAgent},
		{kindRooms, room, "3 1 0 1 0 1 1 1 1 1 1 0 3 0 1 1 1 1 1", ReadRoom},
		{kindMessages, message, "3 1 1 0 0 1 1 1 1 1 1 1 3 1 0 1 1 1 1", ReadMessage},
		{kindTasks, task, "3 1 1 1 1 0 1 1 1 1 0 1 3 1 1 0 1 1 1", ReadTask},
		{kindResults, result, "3 1 1 1 1 1 0 0 1 1 1 1 3 1 1 1 0 1 1", ReadResult},
		{kindArtifacts, artifact, "3 1 1 1 1 1 1 1 0 0 1 1 3 1 1 1 1 1 0", ReadArtifact},
		{kindReviews, reviewed, "3 1 1 1 1 1 1 1 1 1 1 1 3 1 1 1 1 0 1", nil},
	} {
		w.hide(Hide, c.kind, c.id)
		w.hide(Hide, c.kind, c.id) // once more changes nothing
		if got := all(); spaced(got) != spaced(c.want) {
			t.Errorf("%s hidden: %s, want %s", c.kind, got, c.want)
		}
		if c.read != nil {
			w.get(c.read, c.id).Refused(404, "not_found")
		}
		w.hide(Unhide, c.kind, c.id)
		w.hide(Unhide, c.kind, c.id)
		if got := all(); got != before {
			t.Errorf("%s shown again: %s, want %s", c.kind, got, before)
		}
	}
	w.by(Hide, "", obj{"entity_type": "rooms", "entity_id": task, "reason": "x"}).Refused(404, "not_found")
}

// spaced cuts a line of numbers at every number, since prints of several stand together.
func spaced(s string) (out string) {
	for _, r := range s {
		if r != ' ' {
			out += string(r)
		}
	}
	return out
}

func TestAHiddenResultCountsAsHeldAndAHiddenReviewNot(t *testing.T) {
	w := newWorld(t)
	owner, ada, bea, cid := w.agent("Owner"), w.agent("Ada"), w.agent("Bea"), w.agent("Cid")
	task, result := w.submitted(owner, ada)
	w.act(bea, Verify, task, review(result, agree, complete)).Want(200)
	w.act(cid, Verify, task, review(result, dispute, "")).Want(200)
	var disputed string
	for _, v := range w.readTask(task).At("reviews").([]any) {
		if v := v.(map[string]any); v["verdict"] == dispute {
			disputed = v["id"].(string)
		}
	}
	before := w.readResult(result).Str("owner_review_state")
	w.hide(Hide, kindReviews, disputed)
	r := w.readResult(result)
	if r.Str("consensus.state") != Qualified || r.Num("consensus.counts.dispute") != 0 || r.Num("consensus.counts.ineligible") != 0 || len(r.At("consensus.votes").([]any)) != 1 ||
		len(r.At("reviews").([]any)) != 1 || r.Str("owner_review_state") == before {
		t.Errorf("%s", r.Body)
	}
	if got := w.readTask(task).Str("status"); got != Verified {
		t.Errorf("status %s", got)
	}
	w.hide(Hide, kindResults, result)
	w.act(owner, Complete, task, obj{"result_id": result}).Refused(404, "not_found")
	w.act(w.agent("Dan"), Verify, task, review(result, agree, complete)).Refused(404, "not_found")
	w.hide(Unhide, kindResults, result)
	w.hide(Unhide, kindReviews, disputed)
	if r := w.act(owner, Complete, task, obj{"result_id": result}).Refused(409, "not_qualified"); reasons(r) != isDisputed {
		t.Errorf("%s", r.Body)
	}
	w.hide(Hide, kindReviews, disputed)
	w.act(owner, Complete, task, obj{"result_id": result}).Want(200)
	// Of a completed task the counts stay as they were accepted.
	w.hide(Unhide, kindReviews, disputed)
	if r := w.readResult(result); r.Num("consensus.counts.dispute") != 0 || r.At("accepted") != true {
		t.Errorf("%s", r.Body)
	}
}

func TestARestrictedAgentLosesItsLeases(t *testing.T) {
	w := newWorld(t)
	owner, ada, bea := w.agent("Owner"), w.agent("Ada"), w.agent("Bea")
	one, two := w.task(owner), w.task(owner)
	other, result := w.submitted(owner, bea)
	w.act(ada, Claim, one, nil).Want(200)
	w.act(ada, Claim, two, nil).Want(200)
	w.act(ada, Start, two, nil).Want(200)
	w.act(ada, ReviewClaim, other, obj{"result_id": result}).Want(200)
	w.by(Restrict, "", obj{"account_id": ada.id, "reason": "Spam."}).Want(200)
	for _, task := range []string{one, two} {
		if r := w.readTask(task); r.Str("status") != Open || r.At("assignee") != nil {
			t.Errorf("%s", r.Body)
		}
	}
	if r := w.readResult(result); r.Str("review_status") != "available" {
		t.Errorf("%s", r.Body)
	}
	w.act(ada, Claim, one, nil).Refused(403, "posting_restricted")
	w.act(bea, Claim, one, nil).Want(200)
	if n := w.Advance(3 * time.Hour); n != 3 { // the look through its reviews, and Bea's lease
		t.Logf("%d timers fired", n)
	}
	w.by(Lift, "", obj{"account_id": ada.id, "reason": "A mistake."}).Want(200)
	w.act(ada, Claim, two, nil).Want(200)
	// A restricted creator's tasks wait until the operator names another one.
	w.by(Restrict, "", obj{"account_id": owner.id, "reason": "Spam."}).Want(200)
	w.act(owner, Archive, one, obj{"expected_revision": 1, "reason": "Not needed any more."}).Refused(403, "posting_restricted")
	w.by(StewardEdit, one, obj{"creator": bea.id}).Want(200)
	w.act(bea, Archive, one, obj{"expected_revision": 1, "reason": "Not needed any more."}).Want(200)
}

func TestStewardsCalls(t *testing.T) {
	w := newWorld(t)
	owner, ada := w.agent("Owner"), w.agent("Ada")
	task, result := w.submitted(owner, ada)
	seen := w.readResult(result).Str("owner_review_state")
	for _, c := range []struct {
		body     obj
		revision float64
	}{{obj{"expires_at": "2028-01-01T00:00:00Z"}, 1}, {obj{"featured": true, "approved": false}, 1}, {obj{"title": "Another name", "risk": "high"}, 1}, {obj{"objective": "Something else."}, 2},
		{obj{"objective": "Something else."}, 2}, {obj{"acceptance_criteria": "All of it."}, 3}, {obj{"output_format": "json", "required_output_keys": []string{"a"}}, 4}, {obj{"max_minutes": 61}, 5}, {obj{"max_leg_minutes": 4}, 6}} {
		if r := w.by(StewardEdit, task, c.body).Want(200); r.Num("revision") != c.revision {
			t.Errorf("%v: revision %v, want %v", c.body, r.Num("revision"), c.revision)
		}
	}
	if w.readResult(result).Str("owner_review_state") == seen {
		t.Error("a new contract, the same state token")
	}
	if r := w.get(Search, "", "q", "something ELSE"); len(r.At("tasks").([]any)) != 1 {
		t.Errorf("%s", r.Body)
	}
	w.by(StewardEdit, task, obj{"output_format": "text"}).Refused(422, "field_value")
	w.by(StewardEdit, task, obj{"creator": task}).Refused(422, "creator_unknown")
	w.by(StewardEdit, task, obj{"room_id": task}).Refused(422, "room_unknown")
	w.by(StewardEdit, task, obj{"parent_id": task}).Refused(422, "parent_unknown")
	w.by(StewardEdit, result, obj{"title": "Nobody's"}).Refused(404, "not_found")
	if r := w.by(StewardCreate, "", spec(owner.id)).Want(200); r.Str("status") != Open || r.At("approved") != true || r.Num("revision") != 1 {
		t.Errorf("%s", r.Body)
	}
	for field := range map[string]bool{"title": true, "objective": true, "acceptance_criteria": true, "output_format": true, "risk": true, "max_minutes": true, "max_leg_minutes": true, "creator": true, "expires_at": true} {
		w.by(StewardCreate, "", spec(owner.id, obj{field: nil})).Refused(422, "field_required")
	}
	w.by(StewardCreate, "", spec(owner.id, obj{"expires_at": "2026-11-30T18:20:00Z"})).Refused(422, "field_value")
	w.by(StewardCreate, "", spec(owner.id, obj{"parent_id": result})).Refused(422, "parent_unknown")
	w.by(StewardCreate, "", spec(owner.id, obj{"title": "xx"})).Want(422)
	w.by(HoldResult, result, obj{"reason": "A look."}).Want(200)
	w.by(HoldResult, result, obj{"reason": "A look."}).Refused(409, "hold_active")
	w.by(UnholdResult, result, obj{"reason": "Fine."}).Want(200)
	w.by(UnholdResult, result, obj{"reason": "Fine."}).Refused(409, "no_active_hold")
	w.by(HoldResult, task, obj{"reason": "A look."}).Refused(404, "not_found")
	w.by(FlagAgent, task, obj{"demo": true}).Refused(404, "not_found")
	// Others than stewards find nothing here.
	_, token := w.Person("nobody@example.com")
	for _, o := range []*op.Operation{StewardCreate, StewardEdit, HoldResult, FlagAgent, Hide, Restrict, Reports} {
		r := optest.Req{Token: token, Body: obj{}, Path: map[string]string{"task_id": task, "result_id": result, "agent_id": ada.id}}
		if got := w.Do(o, r); got.Status != 404 {
			t.Errorf("%s: %d %s", o.ID, got.Status, got.Body)
		}
		r.Token = ada.token
		if got := w.Do(o, r); got.Status != 401 {
			t.Errorf("%s: %d %s", o.ID, got.Status, got.Body)
		}
	}
}

func TestReportsArePagedNewestFirst(t *testing.T) {
	w := newWorld(t)
	owner := w.agent("Owner")
	for i := range 120 {
		w.Advance(time.Minute)
		w.Do(ReportAbuse, optest.Req{Token: w.agent(fmt.Sprint("Agent ", i)).token, Body: obj{"entity_type": "agents", "entity_id": owner.id, "reason": fmt.Sprint("Report ", i)}}).Want(201)
	}
	seen, after := 0, ""
	for {
		r := w.Do(Reports, optest.Req{Token: w.steward, Query: map[string][]string{"after": {after}}}).Want(200)
		for _, e := range r.At("reports").([]any) {
			if want := fmt.Sprint("Report ", 119-seen); e.(map[string]any)["reason"] != want {
				t.Errorf("%v, want %s", e, want)
			}
			seen++
		}
		if after = r.Str("next_cursor"); after == "" {
			break
		}
	}
	if seen != 120 {
		t.Errorf("%d reports", seen)
	}
	w.Do(Reports, optest.Req{Token: w.steward, Query: map[string][]string{"after": {"nonsense"}}}).Refused(422, "cursor_invalid")
}

func TestTheOperatorsToolStopsAtFiveThousand(t *testing.T) {
	w := newWorld(t)
	owner := w.agent("Owner")
	for n := 0; n < MaxStanding-1; n += 90 {
		w.Run("commons", func(c *op.Call) error {
			for i := n; i < min(n+90, MaxStanding-1); i++ {
				c.Create(standingKey(planted(9, i)), line{ID: planted(9, i), Status: Open})
			}
			return nil
		})
	}
	w.by(StewardCreate, "", spec(owner.id)).Want(200)
	w.by(StewardCreate, "", spec(owner.id)).Refused(409, "too_many_tasks")
	w.Run("commons", func(c *op.Call) error { return dropAll(c, standingKey(planted(9, 7))) })
	w.by(StewardCreate, "", spec(owner.id)).Want(200)
}

func TestActiveAgentsAreCountedByTheDayOfTheirLastWrite(t *testing.T) {
	w := newWorld(t)
	ada, bea := w.agent("Ada"), w.agent("Bea")
	active := func(want float64) {
		t.Helper()
		if r := w.get(ReadAdoption, ""); r.Num("agents_active_7_days") != want || r.Num("agents_registered") != 2 {
			t.Errorf("%s, want %v", r.Body, want)
		}
	}
	room := func(a actor) {
		w.Do(CreateRoom, optest.Req{Token: a.token, Body: obj{"name": "A room", "description": "x"}}).Want(201)
	}
	active(2)
	w.Advance(6 * 24 * time.Hour) // the seventh day, the first included
	active(2)
	room(ada)
	room(ada)
	w.Advance(24 * time.Hour)
	active(1)
	room(bea)
	active(2)
	w.Advance(6 * 24 * time.Hour)
	active(1)
	w.Advance(24 * time.Hour)
	active(0)
	_ = bea
}
