package help

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
	"guildhall/pkg/table/faulty"
)

// stored is every row of a noun, read around all operations.
type stored struct {
	requests    map[string]Request
	offers      map[string]Offer
	submissions map[string]Submission
	reviews     map[string]Review
	entries     map[string]Entry
	reuses      map[string]Reuse
}

func collect[T any](w *world, m map[string]T, row table.Row, prefix string) {
	id, ok := strings.CutPrefix(row.PK, prefix)
	if !ok || row.SK != "ROOT" {
		return
	}
	var v T
	if err := op.Decode(row.Data, &v); err != nil {
		w.T.Fatal(err)
	}
	m[id] = v
}

func (w *world) stored() stored {
	w.T.Helper()
	s := stored{map[string]Request{}, map[string]Offer{}, map[string]Submission{}, map[string]Review{}, map[string]Entry{}, map[string]Reuse{}}
	after := ""
	for {
		rows, next, err := w.Store.List(context.Background(), after, table.MaxPageRows)
		if err != nil {
			w.T.Fatal(err)
		}
		for _, r := range rows {
			collect(w, s.requests, r, "help.REQUEST#")
			collect(w, s.offers, r, "help.OFFER#")
			collect(w, s.submissions, r, "help.SUBMISSION#")
			collect(w, s.reviews, r, "help.REVIEW#")
			collect(w, s.entries, r, "help.KNOWLEDGE#")
			collect(w, s.reuses, r, "help.REUSE#")
		}
		if next == "" {
			return s
		}
		after = next
	}
}

// ids lists the visible rows of a map that fit, in the order of lists.
func ids[T listed](rows map[string]T, oldest bool, fits func(T) bool) (all []string) {
	for id, v := range rows {
		if !v.hidden() && fits(v) {
			all = append(all, id)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		n := cmp.Or(rows[a].made().Compare(rows[b].made()), cmp.Compare(a, b))
		if !oldest {
			return -n
		}
		return n
	})
	return all
}

type listed interface {
	hidden() bool
	made() time.Time
}

func (r Request) made() time.Time    { return r.CreatedAt }
func (o Offer) made() time.Time      { return o.CreatedAt }
func (s Submission) made() time.Time { return s.CreatedAt }
func (v Review) made() time.Time     { return v.CreatedAt }
func (e Entry) made() time.Time      { return e.CreatedAt }
func (u Reuse) made() time.Time      { return u.CreatedAt }

// same holds a list as it is served against the rows it must have.
func (w *world) same(what string, want []string, o *op.Operation, path map[string]string, member string, query ...string) []obj {
	w.T.Helper()
	rows, total := w.list(o, path, member, query...)
	var got []string
	for _, r := range rows {
		got = append(got, r["id"].(string))
	}
	if !slices.Equal(got, want) || total != len(want) {
		w.T.Fatalf("%s: %d rows and total %d, want %d\n%v\n%v", what, len(got), total, len(want), got, want)
	}
	return rows
}

// agrees holds every list, total and count against the rows, and the rows against the
// rules of help.md 3.
func (w *world) agrees() {
	w.T.Helper()
	s := w.stored()
	all := func(Request) bool { return true }
	w.same("requests", ids(s.requests, false, all), ListRequests, nil, "requests")
	sum := 0
	for _, status := range []string{Open, Active, InReview, Completed, Cancelled} {
		in := ids(s.requests, false, func(r Request) bool { return r.Status == status })
		w.same(status, in, ListRequests, nil, "requests", "status", status)
		sum += len(in)
	}
	if n := len(ids(s.requests, false, all)); n != sum {
		w.T.Fatalf("%d requests, %d by status", n, sum)
	}
	entries := ids(s.entries, false, func(Entry) bool { return true })
	w.same("knowledge", entries, SearchKnowledge, nil, "knowledge")
	w.same("a search", entries, SearchKnowledge, nil, "knowledge", "q", "LINKER was")
	for id, r := range s.requests {
		w.lawful(s, r)
		if r.Hidden {
			continue
		}
		offers := w.same("offers", ids(s.offers, true, func(o Offer) bool { return o.RequestID == id }), ListOffers, request(id), "offers")
		work := w.same("submissions", ids(s.submissions, true, func(v Submission) bool { return v.RequestID == id }), ListSubmissions, request(id), "submissions")
		res := w.Do(ReadRequest, optest.Req{Path: request(id), Address: id}).Want(200)
		if res.Num("request.offerCount") != float64(len(offers)) || res.Num("request.submissionCount") != float64(len(work)) {
			w.T.Fatalf("counts of %s: %s, want %d and %d", id, res.Body, len(offers), len(work))
		}
		for _, sub := range work {
			sid := sub["id"].(string)
			n := len(w.same("reviews", ids(s.reviews, true, func(v Review) bool { return v.SubmissionID == sid }), ListReviews, submission(sid), "reviews"))
			if sub["reviewCount"] != float64(n) {
				w.T.Fatalf("reviewCount %v of %d", sub["reviewCount"], n)
			}
		}
	}
	for id, e := range s.entries {
		if e.Hidden {
			continue
		}
		n := len(w.same("reuses", ids(s.reuses, false, func(u Reuse) bool { return u.KnowledgeID == id }), ListReuses, entry(id), "reuses"))
		if got := w.Do(ReadKnowledge, optest.Req{Path: entry(id), Address: id}).Num("entry.reuseCount"); got != float64(n) {
			w.T.Fatalf("reuseCount %v of %d", got, n)
		}
	}
}

// lawful checks what must hold of a request whatever was called in whatever order.
func (w *world) lawful(s stored, r Request) {
	w.T.Helper()
	pendingBy, accepted := map[string]int{}, 0
	for _, o := range s.offers {
		if o.RequestID != r.ID {
			continue
		}
		status, decided := o.status(r)
		if (status == Pending) != decided.IsZero() {
			w.T.Fatalf("offer %s decided at %v", status, decided)
		}
		switch status {
		case Accepted:
			accepted++
		case Pending:
			if !o.Hidden {
				pendingBy[o.Contributor.ID]++
			}
			if o.Contributor.ID == r.Requester.ID || pendingBy[o.Contributor.ID] > 1 {
				w.T.Fatalf("offers of %s: %v", o.Contributor.Handle, pendingBy)
			}
		}
	}
	var sequences []int
	latest := ""
	for _, v := range s.submissions {
		if v.RequestID == r.ID {
			sequences = append(sequences, v.Sequence)
			if v.Sequence == r.Sequence {
				latest = v.ID
			}
		}
	}
	slices.Sort(sequences)
	for i, n := range sequences {
		if n != i+1 {
			w.T.Fatalf("sequences %v", sequences)
		}
	}
	entries := 0
	for _, e := range s.entries {
		if e.RequestID == r.ID {
			entries++
			if e.SubmissionID != r.Latest || e.ID != r.Knowledge {
				w.T.Fatalf("entry %+v of request %+v", e, r)
			}
		}
	}
	facts := fmt.Sprintf("%+v with %d accepted offers, %d submissions, %d entries", r, accepted, len(sequences), entries)
	switch {
	case (accepted == 1) != (r.Contributor != nil), accepted > 1, latest != r.Latest, len(sequences) != r.Sequence:
		w.T.Fatal(facts)
	case (entries == 1) != (r.Status == Completed), entries > 1:
		w.T.Fatal(facts)
	case r.Status == Open && accepted > 0, r.Status == Active && accepted == 0, r.Status == InReview && (len(sequences) == 0 || r.Decision != ""):
		w.T.Fatal(facts)
	case (r.Status == Cancelled) != (r.CancelReason != ""), (r.Status == Completed) != !r.CompletedAt.IsZero():
		w.T.Fatal(facts)
	}
}

// Whatever accounts and stewards do in whatever order, counts equal rows, statuses add up
// to the total, and every row is lawful.
func TestCountsEqualRowsAfterAnySequence(t *testing.T) {
	done := map[string]int{}
	for seed := range uint64(12) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			w := seeded(t, seed)
			w.done = done
			r := rand.New(rand.NewPCG(seed, 11))
			var people []*actor
			for _, n := range []string{"ann", "bob", "eve", "dan"} {
				people = append(people, w.join(n))
			}
			for step := range 250 {
				w.act(r, people[r.IntN(len(people))])
				if r.IntN(4) == 0 {
					w.Advance(time.Duration(r.IntN(1200)) * time.Second)
				}
				if step%50 == 49 {
					w.agrees()
				}
			}
		})
	}
	for _, what := range []string{"offer", "withdraw", "select", "submit", Comment, Revise, Accept, "cancel", "reuse", "hide", "unhide"} {
		if done[what] < 12 {
			t.Errorf("only %d times in all: %s", done[what], what)
		}
	}
}

// pick chooses a key of a map, the same for the same seed.
func pick[T any](r *rand.Rand, m map[string]T) string {
	if len(m) == 0 {
		return "none"
	}
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys[r.IntN(len(keys))]
}

// act makes one call that may be refused, but never fails.
func (w *world) act(r *rand.Rand, a *actor) {
	w.T.Helper()
	s := w.stored()
	var res optest.Res
	what := ""
	defer func() {
		if res.Response != nil && res.Status < 300 {
			w.done[what]++
		}
	}()
	switch r.IntN(12) {
	case 0:
		res = a.do(CreateRequest, nil, requestBody())
	case 1, 2:
		what = "offer"
		res = a.do(MakeOffer, request(pick(r, s.requests)), offerBody())
	case 3:
		what = "withdraw"
		res = a.do(WithdrawOffer, offer(pick(r, s.offers)), nil)
	case 4:
		o := s.offers[pick(r, s.offers)]
		what = "select"
		res = w.as(s.requests[o.RequestID].Requester, a).do(AcceptOffer, offer(o.ID), nil)
	case 5, 6:
		q := s.requests[pick(r, s.requests)]
		by := a
		if q.Contributor != nil {
			by = w.as(*q.Contributor, a)
		}
		what = "submit"
		res = by.do(SubmitWork, request(q.ID), workBody())
	case 7, 8:
		v := s.submissions[pick(r, s.submissions)]
		by, decision := a, []string{Comment, Revise, Accept}[r.IntN(3)]
		if decision != Comment {
			by = w.as(s.requests[v.RequestID].Requester, a)
		}
		what = decision
		res = by.do(ReviewSubmission, submission(v.ID), reviewBody(decision, []string{Pass, Pass, "fail"}[r.IntN(3)]))
	case 9:
		if r.IntN(3) > 0 {
			return
		}
		q := s.requests[pick(r, s.requests)]
		what = "cancel"
		res = w.as(q.Requester, a).do(CancelRequest, request(q.ID), obj{"reason": "r"})
	case 10:
		what = "reuse"
		res = a.do(ReportReuse, entry(pick(r, s.entries)), reuseBody())
	case 11:
		kinds := map[string]string{"request": pick(r, s.requests), "offer": pick(r, s.offers), "submission": pick(r, s.submissions),
			"review": pick(r, s.reviews), "knowledge": pick(r, s.entries), "reuse": pick(r, s.reuses)}
		kind := pick(r, kinds)
		o := []*op.Operation{Hide, Unhide, Unhide}[r.IntN(3)]
		what = strings.TrimPrefix(o.ID, "steward.help.")
		res = w.moderate(o, kind, kinds[kind])
	}
	if res.Status >= 500 && (w.faults == nil || res.Status != 503) {
		w.T.Fatalf("%d %s", res.Status, res.Body)
	}
}

// The same with a store that fails, conflicts and loses answers: what was answered with a
// success is there once, and counts still equal rows.
func TestCountsEqualRowsOverAFailingStore(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			var faults *faulty.Store
			w := seeded(t, seed, optest.WithStore(func(s table.Store) table.Store { faults = faulty.Wrap(s); return faults }))
			w.done, w.faults = map[string]int{}, faults
			r := rand.New(rand.NewPCG(seed, 13))
			var people []*actor
			for _, n := range []string{"ann", "bob", "eve"} {
				people = append(people, w.join(n))
			}
			for step := range 200 {
				mode := []faulty.Mode{faulty.FailBefore, faulty.FailAfter, faulty.Conflict, faulty.Throttle, faulty.Duplicate}[r.IntN(5)]
				if _, err := faults.Inject(faulty.Fault{Mode: mode, Op: faulty.Commit, Skip: r.IntN(2), Times: 1 + r.IntN(3)}); err != nil {
					t.Fatal(err)
				}
				w.act(r, people[r.IntN(len(people))])
				faults.Clear()
				w.Advance(time.Duration(r.IntN(600)) * time.Second)
				if step%50 == 49 {
					w.agrees()
				}
			}
		})
	}
}

// as is the actor behind a reference.
func (w *world) as(who Ref, otherwise *actor) *actor {
	if a := w.actors[who.ID]; a != nil {
		return a
	}
	return otherwise
}
