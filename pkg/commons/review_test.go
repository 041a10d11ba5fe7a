package commons

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
)

func TestConsensusIsTheFirstThatFits(t *testing.T) {
	cases := []struct {
		votes string // a: agree complete, p: agree partial, u: agree unknown, d: dispute; upper case: ineligible
		want  string
	}{
		{"", Unreviewed}, {"A", Unreviewed}, {"D", Unreviewed}, {"u", CompletionUnknown}, {"uu", CompletionUnknown}, {"a", Qualified}, {"au", Qualified},
		{"uA", CompletionUnknown}, {"p", Partial}, {"ap", Partial}, {"aaaaap", Partial}, {"d", Disputed}, {"aaaaad", Disputed}, {"pd", Disputed}, {"aD", Qualified}, {"aP", Qualified},
	}
	for _, c := range cases {
		var n Counts
		for _, v := range c.votes {
			eligible := v >= 'a'
			switch strings.ToLower(string(v)) {
			case "a":
				n.add(agree, complete, eligible, 1)
			case "p":
				n.add(agree, partial, eligible, 1)
			case "u":
				n.add(agree, unknown, eligible, 1)
			case "d":
				n.add(dispute, complete, eligible, 1)
			}
		}
		if n.State() != c.want {
			t.Errorf("%q: %s, want %s", c.votes, n.State(), c.want)
		}
	}
}

func TestOperatorsAreComparedAsPeopleReadThem(t *testing.T) {
	same := [][2]string{{" ACME  Labs", "acme labs"}, {"ＡＣＭＥ labs", "Acme Labs"}, {"Straße", "STRASSE"}, {"Ａcme\u00a0Labs", "acme labs"},
		{"Acme\u200b Labs", "Acme Labs"}, {"ﬁeld Notes", "FIELD notes"}, {"ΣΊΣΥΦΟΣ", "σίσυφος"}, {"Acme\tLabs\n", "acme labs"}}
	for _, p := range same {
		if fold(p[0]) != fold(p[1]) {
			t.Errorf("%q and %q: %q and %q", p[0], p[1], fold(p[0]), fold(p[1]))
		}
	}
	for _, p := range [][2]string{{"Acme", "Acme Labs"}, {"Acme-Labs", "Acme Labs"}, {"Acme", "Acne"}} {
		if fold(p[0]) == fold(p[1]) {
			t.Errorf("%q and %q are taken for one", p[0], p[1])
		}
	}
}

func TestWhoMayReview(t *testing.T) {
	w := newWorld(t)
	acme := obj{"operator": " ACME  Labs"}
	owner, worker := w.agent("Owner", acme), w.agent("Worker", obj{"operator": "Field Notes"})
	task, result := w.submitted(owner, worker)
	follower := w.agent("Follower", obj{"operator": "Third House"})
	other := w.act(follower, Submit, task, obj{"content": "I found a fourth one."}).Want(201).Str("id")
	site, demo := w.agent("Site"), w.agent("Demo")
	w.by(FlagAgent, site.id, obj{"site_run": true}).Want(200)
	w.by(FlagAgent, demo.id, obj{"demo": true}).Want(200)
	cases := []struct {
		name   string
		who    actor
		result string
		rule   string
	}{
		{"the creator", owner, result, ruleCreator},
		{"the assignee", worker, other, ruleAssignee},
		{"the author", worker, result, ruleAuthor},
		{"the author of a follow-up", follower, other, ruleAuthor},
		{"the creator's operator", w.agent("Twin", obj{"operator": "acme labs"}), result, ruleOperator},
		{"the assignee's operator", w.agent("Mate", obj{"operator": "FIELD NOTES"}), other, ruleOperator},
		{"the author's operator", w.agent("Peer", obj{"operator": "third house"}), other, ruleOperator},
		{"an account of the site", site, result, ruleSiteRun},
		{"a demo account", demo, result, ruleDemo},
		{"the author of another result", follower, result, ""},
		{"an agent without operator", w.agent("Free"), result, ""},
		{"another operator", w.agent("Foreign", obj{"operator": "acme labs ltd"}), result, ""},
	}
	for _, c := range cases {
		for _, call := range []struct {
			o    *op.Operation
			body obj
		}{{ReviewClaim, obj{"result_id": c.result}}, {ReviewRelease, obj{"result_id": c.result}}, {Verify, review(c.result, agree, unknown)}} {
			r := w.act(c.who, call.o, task, call.body)
			if c.rule != "" && (r.Status != 403 || r.Str("error") != "reviewer_not_independent" || r.Str("detail.rule") != c.rule) || c.rule == "" && r.Status == 403 {
				t.Errorf("%s, %s: %d %s", c.name, call.o.ID, r.Status, r.Body)
			}
		}
	}
	r := w.readResult(result)
	for _, v := range r.At("reviews").([]any) {
		v := v.(map[string]any)
		if want := v["reviewer"] != w.id("Free"); v["operator_declared"] != want {
			t.Errorf("%v", v)
		}
	}
}

func (w *world) id(name string) string {
	r := w.get(Search, "", "q", name)
	return r.Str("agents.0.id")
}

func TestTheLastAssigneeStaysDependent(t *testing.T) {
	w := newWorld(t)
	owner, first, second := w.agent("Owner"), w.agent("First"), w.agent("Second")
	task, result := w.submitted(owner, first)
	w.act(owner, Archive, task, obj{"expected_revision": 1, "reason": "Paused for the summer."}).Want(200)
	w.act(owner, HandOff, task, handoff()).Want(200)
	if r := w.act(first, Verify, task, review(result, agree, complete)); r.Str("detail.rule") != ruleAuthor {
		t.Errorf("%s", r.Body)
	}
	w.act(second, Claim, task, nil).Want(200)
	w.act(second, Release, task, nil).Want(200)
	if r := w.act(second, Verify, task, review(result, agree, complete)); r.Str("detail.rule") != ruleAssignee {
		t.Errorf("%s", r.Body)
	}
}

// handoff is a sound handoff of a task at revision 1.
func handoff(more ...obj) obj {
	h := obj{"next_action": "Check the branch on Mill Street.", "source_urls": []string{"https://libraries.example.com/mill"}, "desired_output": "Its Sunday hours, or that it is closed.",
		"useful_progress": "A phone number that answers.", "max_minutes": 5, "kind": "contribution", "expected_revision": 1, "reason": "The list misses one branch."}
	for _, m := range more {
		for k, v := range m {
			h[k] = v
		}
	}
	return h
}

func TestReservations(t *testing.T) {
	w := newWorld(t)
	owner, worker, a, b, c := w.agent("Owner"), w.agent("Worker"), w.agent("Ada"), w.agent("Bea"), w.agent("Cid")
	task, result := w.submitted(owner, worker)
	r := w.act(a, ReviewClaim, task, obj{"result_id": result}).Want(200)
	if r.Str("expires_at") != "2026-11-30T18:30:00.000Z" || r.Str("review_status") != "reserved" || r.Str("reviewer") != a.id {
		t.Errorf("%s", r.Body)
	}
	for _, minutes := range []any{0, 16, 1.5, "10"} {
		if r := w.act(a, ReviewClaim, task, obj{"result_id": result, "minutes": minutes}); r.Status != 422 {
			t.Errorf("%v minutes: %s", minutes, r.Body)
		}
	}
	w.act(b, ReviewClaim, task, obj{"result_id": result}).Refused(409, "review_reserved")
	w.act(b, Verify, task, review(result, agree, complete)).Refused(409, "review_reserved")
	w.act(b, ReviewRelease, task, obj{"result_id": result}).Refused(409, "reservation_not_found")
	if r := w.readTask(task); r.Str("review_reservations.0.reviewer") != a.id || r.Str("results.0.review_status") != "reserved" {
		t.Errorf("%s", r.Body)
	}
	w.jump(9 * time.Minute)
	if r := w.act(a, ReviewClaim, task, obj{"result_id": result, "minutes": 15}).Want(200); r.Str("expires_at") != "2026-11-30T18:44:00.000Z" {
		t.Errorf("%s", r.Body)
	}
	w.jump(15*time.Minute - time.Millisecond)
	w.act(b, Verify, task, review(result, agree, complete)).Refused(409, "review_reserved")
	w.jump(time.Millisecond)
	if r := w.get(ListReviews, ""); r.Str("items.0.review_status") != "available" || r.At("items.0.reservation") != nil {
		t.Errorf("%s", r.Body)
	}
	w.act(a, ReviewRelease, task, obj{"result_id": result}).Refused(409, "reservation_not_found")
	w.act(b, ReviewClaim, task, obj{"result_id": result}).Want(200)
	if r := w.act(b, ReviewRelease, task, obj{"result_id": result}).Want(200); r.At("released") != true {
		t.Errorf("%s", r.Body)
	}
	if r := w.readResult(result); r.Num("consensus.counts.eligible") != 0 || r.Str("review_status") != "available" {
		t.Errorf("%s", r.Body)
	}
	w.act(c, Verify, task, review(result, agree, complete)).Want(200)
	w.act(a, ReviewClaim, task, obj{"result_id": result}).Refused(409, "first_review_done")
	w.act(a, Verify, task, review(result, agree, complete)).Want(200)
	w.act(a, Verify, task, review(result, dispute, "unknown")).Refused(409, "review_exists")
}

func TestAtMostTwoReservations(t *testing.T) {
	w := newWorld(t)
	owner, a, b := w.agent("Owner"), w.agent("Ada"), w.agent("Bea")
	hands := w.agents("Hand", 4)
	tasks, results := make([]string, 4), make([]string, 4)
	for i := range 4 {
		tasks[i], results[i] = w.submitted(owner, hands[i])
	}
	w.act(a, ReviewClaim, tasks[0], obj{"result_id": results[0]}).Want(200)
	w.act(a, ReviewClaim, tasks[1], obj{"result_id": results[1]}).Want(200)
	w.act(a, ReviewClaim, tasks[2], obj{"result_id": results[2]}).Refused(409, "reservation_limit")
	w.act(a, ReviewClaim, tasks[1], obj{"result_id": results[1], "minutes": 15}).Want(200)
	w.act(a, ReviewRelease, tasks[1], obj{"result_id": results[1]}).Want(200)
	if r := w.readResult(results[0]); r.Str("review_status") != "reserved" {
		t.Errorf("%s", r.Body)
	}
	w.act(a, ReviewClaim, tasks[2], obj{"result_id": results[2]}).Want(200)
	// One that ends with its task frees its place.
	w.act(owner, Archive, tasks[0], obj{"expected_revision": 1, "reason": "Not needed any more."}).Want(200)
	w.act(a, ReviewClaim, tasks[0], obj{"result_id": results[0]}).Refused(409, "task_closed")
	w.act(a, ReviewClaim, tasks[3], obj{"result_id": results[3]}).Want(200)
	// Reopened at the same moment, the old reservation is over all the same.
	w.act(owner, HandOff, tasks[0], handoff()).Want(200)
	w.act(b, ReviewClaim, tasks[0], obj{"result_id": results[0]}).Want(200)
}

func TestThirtyReviewersAtOnceLeaveOneReviewEach(t *testing.T) {
	w := newWorld(t)
	owner, worker := w.agent("Owner"), w.agent("Worker")
	task, result := w.submitted(owner, worker)
	reviewers := w.agents("Reviewer", 30)
	parallel(2*len(reviewers), func(i int) {
		who := reviewers[i/2] // each tries twice
		for {
			r := w.Do(Verify, optest.Req{Token: who.token, Path: map[string]string{"task_id": task}, Body: review(result, agree, []string{complete, unknown}[i/2%2]), Address: fmt.Sprint(i)})
			if r.Status != 503 {
				if r.Status != 200 && r.Str("error") != "review_exists" {
					t.Errorf("%s", r.Body)
				}
				return
			}
		}
	})
	r := w.readResult(result)
	if r.Num("consensus.counts.eligible") != 30 || r.Num("consensus.counts.complete") != 15 || r.Num("consensus.counts.unknown") != 15 || len(r.At("consensus.votes").([]any)) != 30 {
		t.Errorf("%s", r.Body)
	}
	rows := w.rows(ResultKey(result).PK, "REVIEW#")
	by := w.rows(ResultKey(result).PK, "BY#")
	if len(rows) != 30 || len(by) != 30 {
		t.Errorf("%d reviews, %d reviewers", len(rows), len(by))
	}
	if len(r.At("reviews").([]any)) != embedded || r.At("reviews_more") != true {
		t.Errorf("%s", r.Body)
	}
	if s := w.get(ReadStats, ""); s.Num("reviews") != 30 || s.Num("tasks_by_status.verified") != 1 {
		t.Errorf("%s", s.Body)
	}
	if s := w.get(ReadAdoption, ""); s.Num("agents_with_review") != 30 || s.Num("agents_with_result") != 1 {
		t.Errorf("%s", s.Body)
	}
}

func (w *world) rows(pk, prefix string) []table.Row {
	w.t.Helper()
	p, err := w.Store.Query(w.t.Context(), table.Query{PK: pk}.Prefix(prefix))
	if err != nil {
		w.t.Fatal(err)
	}
	return p.Rows
}

func TestAFlaggedReviewersVoteStopsCounting(t *testing.T) {
	for _, how := range []string{"flag", "restrict"} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t)
			owner, worker, a := w.agent("Owner"), w.agent("Worker"), w.agent("Ada")
			var tasks, results []string
			for range 3 {
				task, result := w.submitted(owner, worker)
				w.act(a, Verify, task, review(result, agree, complete)).Want(200)
				tasks, results = append(tasks, task), append(results, result)
			}
			w.act(owner, Complete, tasks[2], obj{"result_id": results[2]}).Want(200)
			before := w.readResult(results[0]).Str("owner_review_state")
			if how == "flag" {
				w.by(FlagAgent, a.id, obj{"demo": true}).Want(200)
			} else {
				w.by(Restrict, "", obj{"account_id": a.id, "reason": "A vote for sale."}).Want(200)
			}
			// The job has not run, and the vote carries no acceptance any more.
			if r := w.act(owner, Complete, tasks[0], obj{"result_id": results[0]}).Refused(409, "not_qualified"); reasons(r) != noCompleteAgreement {
				t.Errorf("%s", r.Body)
			}
			w.Settle()
			for i := range 2 {
				r := w.readResult(results[i])
				if r.Num("consensus.counts.eligible") != 0 || r.Num("consensus.counts.ineligible") != 1 || r.Str("consensus.state") != Unreviewed ||
					r.At("reviews.0.eligible") != false || r.At("consensus.votes.0.eligible") != false || r.Str("review_status") != "available" {
					t.Errorf("%s", r.Body)
				}
				if got := w.readTask(tasks[i]).Str("status"); got != Submitted {
					t.Errorf("status %s", got)
				}
			}
			if now := w.readResult(results[0]).Str("owner_review_state"); now == before {
				t.Error("the state token is the same")
			}
			w.act(owner, Complete, tasks[0], obj{"result_id": results[0], "expected_review_state": before}).Refused(409, "review_state_changed")
			if r := w.readResult(results[2]); r.Num("consensus.counts.eligible") != 1 || r.At("accepted") != true {
				t.Errorf("accepted history changed: %s", r.Body)
			}
			if r := w.get(ListReviews, "", "kind", "first"); len(r.At("items").([]any)) != 2 {
				t.Errorf("%s", r.Body)
			}
			// Given back its standing, the vote counts again.
			if how == "flag" {
				w.by(FlagAgent, a.id, obj{"demo": false}).Want(200)
			} else {
				w.by(Lift, "", obj{"account_id": a.id, "reason": "It was a mistake."}).Want(200)
			}
			w.Settle()
			w.act(owner, Complete, tasks[0], obj{"result_id": results[0]}).Want(200)
		})
	}
}

func TestAgreementsNeverOutvoteAPartial(t *testing.T) {
	w := newWorld(t)
	owner, worker := w.agent("Owner"), w.agent("Worker")
	task, result := w.submitted(owner, worker)
	reviewers := w.agents("Reviewer", 12)
	w.act(reviewers[0], Verify, task, review(result, agree, complete)).Want(200)
	w.act(reviewers[1], Verify, task, review(result, agree, partial)).Want(200)
	for i, r := range reviewers[2:] {
		got := w.act(r, Verify, task, review(result, agree, complete)).Want(200)
		if got.Str("state") != Partial {
			t.Errorf("after %d more: %s", i+1, got.Body)
		}
		if r := w.act(owner, Complete, task, obj{"result_id": result}).Refused(409, "not_qualified"); reasons(r) != partialAssessment {
			t.Errorf("%s", r.Body)
		}
	}
	// A revised result starts anew; what was said of the old one stays with it.
	revised := w.act(worker, Submit, task, obj{"content": "All four of them, with sources."}).Want(201).Str("id")
	if got := w.readTask(task).Str("status"); got != Submitted {
		t.Errorf("status %s", got)
	}
	w.act(reviewers[1], Verify, task, review(revised, agree, complete)).Want(200)
	w.act(owner, Complete, task, obj{"result_id": result}).Refused(409, "not_qualified")
	w.act(owner, Complete, task, obj{"result_id": revised}).Want(200)
}

func TestTheTaskFollowsItsLatestCandidate(t *testing.T) {
	w := newWorld(t)
	owner, worker := w.agent("Owner"), w.agent("Worker")
	a, b, c := w.agent("Ada"), w.agent("Bea"), w.agent("Cid")
	task, first := w.submitted(owner, worker)
	status := func(want string) {
		t.Helper()
		if got := w.readTask(task).Str("status"); got != want {
			t.Errorf("status %s, want %s", got, want)
		}
	}
	w.act(a, Verify, task, review(first, agree, "")).Want(200)
	status(Verified)
	if r := w.get(ListTasks, "", "status", "completion-review"); len(r.At("items").([]any)) != 1 {
		t.Errorf("%s", r.Body)
	}
	w.act(b, Verify, task, review(first, dispute, complete)).Want(200)
	status(DisputedTask)
	w.act(c, Verify, task, review(first, agree, complete)).Want(200)
	status(DisputedTask)
	if r := w.act(owner, Complete, task, obj{"result_id": first}).Refused(409, "not_qualified"); reasons(r) != isDisputed {
		t.Errorf("%s", r.Body)
	}
	second := w.act(c, Submit, task, obj{"content": "Another way."}).Want(201).Str("id")
	status(Submitted)
	w.act(a, Verify, task, review(first, agree, complete)).Refused(409, "review_exists")
	d := w.agent("Dan")
	w.act(d, Verify, task, review(first, dispute, "")).Want(200)
	status(Submitted)
	w.act(a, Verify, task, review(second, agree, complete)).Want(200)
	status(Verified)
	// Reopened work does not follow reviews.
	w.act(owner, Archive, task, obj{"expected_revision": 1, "reason": "Paused for the summer."}).Want(200)
	w.act(owner, HandOff, task, handoff()).Want(200)
	w.act(b, Verify, task, review(second, dispute, "")).Want(200)
	status(Open)
	if r := w.readResult(second); r.Str("consensus.state") != Disputed {
		t.Errorf("%s", r.Body)
	}
}
