package help

import (
	"fmt"
	"testing"
	"time"

	"guildhall/pkg/op/optest"
)

// patient repeats a call that was told to come back.
func patient(call func() optest.Res) optest.Res {
	for {
		if res := call(); res.Status != 503 {
			return res
		}
	}
}

func TestTwoAcceptsPickOneOffer(t *testing.T) {
	for seed := range uint64(20) {
		w := seeded(t, seed)
		ann := w.join("ann")
		id := ann.ask()
		offers := []string{w.join("bob").offer(id), w.join("eve").offer(id)}
		got := atOnce(2, func(i int) int { return ann.do(AcceptOffer, offer(offers[i]), obj{}).Status })
		if got[200] != 1 || got[409] != 1 {
			t.Errorf("seed %d: %v", seed, got)
		}
		w.agrees()
	}
}

func TestAcceptAgainstCancelHasOneWinner(t *testing.T) {
	for seed := range uint64(20) {
		w := seeded(t, seed)
		ann := w.join("ann")
		id := ann.ask()
		picked := w.join("bob").offer(id)
		got := atOnce(2, func(i int) int {
			if i == 0 {
				return ann.do(AcceptOffer, offer(picked), obj{}).Status
			}
			return ann.do(CancelRequest, request(id), obj{"reason": "Solved."}).Status
		})
		// Accepted first, the request may still be cancelled; cancelled first, nothing may be accepted.
		status := w.read(id).Str("request.status")
		if !(got[200] == 2 && status == Cancelled) && !(got[200] == 1 && got[409] == 1 && status == Cancelled) {
			t.Errorf("seed %d: %v, %s", seed, got, status)
		}
		w.agrees()
	}
}

func TestSubmitAgainstCancelLosesNothing(t *testing.T) {
	for seed := range uint64(20) {
		w := seeded(t, seed)
		d := w.active()
		got := atOnce(2, func(i int) int {
			if i == 0 {
				return d.bob.do(SubmitWork, request(d.request), workBody()).Status
			}
			return d.ann.do(CancelRequest, request(d.request), obj{"reason": "Solved."}).Status
		})
		submitted := got[201] == 1 && got[200] == 1
		refused := got[409] == 1 && got[200] == 1
		rows, _ := w.list(ListSubmissions, request(d.request), "submissions")
		if !submitted && !refused || submitted != (len(rows) == 1) || submitted && rows[0]["status"] != SubmissionCancelled {
			t.Errorf("seed %d: %v, %v", seed, got, rows)
		}
		w.agrees()
	}
}

func TestWithdrawAgainstAcceptHasOneWinner(t *testing.T) {
	for seed := range uint64(20) {
		w := seeded(t, seed)
		ann, bob := w.join("ann"), w.join("bob")
		id := ann.ask()
		o := bob.offer(id)
		got := atOnce(2, func(i int) int {
			if i == 0 {
				return ann.do(AcceptOffer, offer(o), obj{}).Status
			}
			return bob.do(WithdrawOffer, offer(o), obj{}).Status
		})
		if got[200] != 1 || got[409] != 1 {
			t.Errorf("seed %d: %v", seed, got)
		}
		w.agrees()
	}
}

func TestAcceptedTwiceIsPublishedOnce(t *testing.T) {
	w := newWorld(t)
	d := w.inReview()
	got := atOnce(8, func(int) int {
		return patient(func() optest.Res {
			return d.ann.do(ReviewSubmission, submission(d.submission), reviewBody(Accept, Pass))
		}).Status
	})
	if got[201] != 1 || got[409] != 7 {
		t.Errorf("%v", got)
	}
	w.agrees()
}

// Two hundred reports by a hundred accounts: one of each is stored.
func TestAHundredAccountsReportReuseTwiceAtOnce(t *testing.T) {
	w := newWorld(t)
	d := w.completed()
	var users []*actor
	for range 100 {
		users = append(users, w.join("user"))
	}
	got := atOnce(200, func(i int) int {
		return patient(func() optest.Res { return users[i%100].do(ReportReuse, entry(d.knowledge), reuseBody()) }).Status
	})
	if got[201] != 100 || got[409] != 100 {
		t.Errorf("%v", got)
	}
	rows, total := w.list(ListReuses, entry(d.knowledge), "reuses")
	seen := map[any]bool{}
	for _, r := range rows {
		seen[r["reporter"].(map[string]any)["id"]] = true
	}
	if len(rows) != 100 || total != 100 || len(seen) != 100 {
		t.Errorf("%d rows of %d accounts, total %d", len(rows), len(seen), total)
	}
	if n := w.Do(ReadKnowledge, optest.Req{Path: entry(d.knowledge)}).Num("entry.reuseCount"); n != 100 {
		t.Errorf("reuseCount %v", n)
	}
	w.agrees()
}

func TestOneKeyUsedTwiceAtOnceMakesOneRequest(t *testing.T) {
	w := newWorld(t)
	ann := w.join("ann")
	bodies := make([]string, 6)
	got := atOnce(len(bodies), func(i int) int {
		res := w.Do(CreateRequest, optest.Req{Token: ann.Key, Key: "one", Body: requestBody()})
		bodies[i] = string(res.Body)
		return res.Status
	})
	for _, b := range bodies {
		if b != bodies[0] {
			t.Errorf("answers differ: %s", b)
		}
	}
	if _, total := w.list(ListRequests, nil, "requests"); got[201] != len(bodies) || total != 1 {
		t.Errorf("%v, %d requests", got, total)
	}
	w.Do(CreateRequest, optest.Req{Token: ann.Key, Key: "one", Body: with(requestBody(), "title", "Another")}).Refused(409, "idempotency_conflict")
	w.Advance(KeepReplays)
	w.Do(CreateRequest, optest.Req{Token: ann.Key, Key: "one", Body: with(requestBody(), "title", "Another")}).Want(201)
}

func TestManyOffersAtOnceAreAllCounted(t *testing.T) {
	w := newWorld(t)
	ann := w.join("ann")
	id := ann.ask()
	var helpers []*actor
	for range 250 {
		helpers = append(helpers, w.join("helper"))
	}
	got := atOnce(len(helpers), func(i int) int {
		return patient(func() optest.Res { return helpers[i].do(MakeOffer, request(id), offerBody()) }).Status
	})
	if got[201] != len(helpers) {
		t.Errorf("%v", got)
	}
	rows, total := w.list(ListOffers, request(id), "offers")
	if len(rows) != 250 || total != 250 || w.read(id).Num("request.offerCount") != 250 {
		t.Errorf("%d rows, total %d", len(rows), total)
	}
	w.Advance(time.Minute)
	picked := fmt.Sprint(rows[117]["id"])
	before := w.Store.Stats()
	ann.accept(picked)
	if s := w.Store.Stats().Since(before); s.Commits != 1 || s.RowsWritten > 6 {
		t.Errorf("accepting one of 250 offers writes %d rows in %d commits", s.RowsWritten, s.Commits)
	}
	rows, _ = w.list(ListOffers, request(id), "offers")
	for _, r := range rows {
		want := NotSelected
		if r["id"] == picked {
			want = Accepted
		}
		if r["status"] != want || r["decidedAt"] == nil {
			t.Fatalf("%v", r)
		}
	}
}
