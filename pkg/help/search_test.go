package help

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
	"guildhall/pkg/table/mem"
)

// publish makes n entries as acceptances do, without the way there.
func (w *world) publish(n int, text func(i int) string) (entries []string) {
	w.T.Helper()
	at := w.Now()
	for i := range n {
		at = at.Add(time.Second)
		err := w.Engine.Run(context.Background(), at, "help", func(c *op.Call) error {
			r := Request{ID: c.NewID(), Title: text(i), Problem: "p", AcceptanceCriteria: "c", ResourcePolicy: "r", Requester: Ref{c.NewID(), "ann"}}
			e, err := publish(c, r, Submission{ID: c.NewID(), Summary: "s", Method: "m", Limitations: "l"}, Review{ID: c.NewID()})
			entries = append(entries, e.ID)
			return err
		})
		if err != nil {
			w.T.Fatal(err)
		}
	}
	w.Advance(time.Duration(n) * time.Second)
	return entries
}

func (w *world) search(q string, query ...string) optest.Res {
	w.T.Helper()
	w.n++
	values := map[string][]string{"q": {q}}
	for i := 0; i < len(query); i += 2 {
		values[query[i]] = []string{query[i+1]}
	}
	return w.Do(SearchKnowledge, optest.Req{Query: values, Address: fmt.Sprint("search", w.n)}).Want(200)
}

func found(res optest.Res) (ids []string) {
	for _, e := range res.At("knowledge").([]any) {
		ids = append(ids, e.(map[string]any)["id"].(string))
	}
	return ids
}

func TestATextIsFoundLiterallyInItsFiveFields(t *testing.T) {
	w := newWorld(t)
	fields := map[string]obj{
		"title": requestBody(), "problem": requestBody(), "previousAttempts": requestBody(), "acceptanceCriteria": requestBody(), "resourcePolicy": requestBody(),
		"summary": workBody(), "method": workBody(), "evidence": workBody(), "limitations": workBody(), "body": reviewBody(Accept, Pass),
	}
	needle := "50%_DONE \\ Ärger (x*)"
	byField := map[string]string{}
	for name := range fields {
		d := &deal{ann: w.join("ann"), bob: w.join("bob")}
		put := func(b obj) obj {
			if b[name] != nil && fields[name][name] != nil && fmt.Sprint(keysOf(b)) == fmt.Sprint(keysOf(fields[name])) {
				return with(b, name, "before "+needle+" after")
			}
			return b
		}
		d.request = d.ann.do(CreateRequest, nil, put(requestBody())).Want(201).Str("request.id")
		d.ann.accept(d.bob.offer(d.request))
		d.submission = d.bob.do(SubmitWork, request(d.request), put(workBody())).Want(201).Str("submission.id")
		byField[name] = d.ann.do(ReviewSubmission, submission(d.submission), put(reviewBody(Accept, Pass))).Want(201).Str("entry.id")
	}
	var want []string
	for _, name := range []string{"title", "problem", "summary", "method", "limitations"} {
		want = append(want, byField[name])
	}
	slices.Sort(want)
	check := func() {
		t.Helper()
		for _, q := range []string{needle, " " + needle + " ", strings.ToUpper(needle), "50%_done \\ ärger (X*)", "%_", "\\", "(x*)"} {
			res := w.search(q)
			got := found(res)
			slices.Sort(got)
			if !slices.Equal(got, want) || res.At("searchTruncated") != false || res.Num("total") != 5 {
				t.Errorf("%q finds %d (total %v, truncated %v)", q, len(got), res.At("total"), res.At("searchTruncated"))
			}
		}
		if n := len(found(w.search("50__done"))) + len(found(w.search("50%%done"))) + len(found(w.search("x.*"))); n != 0 {
			t.Errorf("%d matches of a pattern", n)
		}
	}
	check() // not in the lists yet
	w.Settle()
	check()
}

func keysOf(m obj) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

func TestSearchesPageAndKeepTheirOrder(t *testing.T) {
	w := newWorld(t)
	all := w.publish(130, func(i int) string { return fmt.Sprintf("needle %d of %d", i, i%2) })
	var want []string
	for i := len(all) - 1; i >= 0; i-- {
		if i%2 == 1 {
			want = append(want, all[i])
		}
	}
	for range 2 {
		var got []string
		offset := "0"
		for {
			res := w.search("of 1", "limit", "20", "offset", offset)
			if res.Num("total") != float64(len(want)) {
				t.Fatalf("total %v of %d", res.At("total"), len(want))
			}
			got = append(got, found(res)...)
			if res.At("nextOffset") == nil {
				break
			}
			offset = fmt.Sprint(res.At("nextOffset"))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d found in order, want %d", len(got), len(want))
		}
		if res := w.search("of 1", "offset", "65"); len(found(res)) != 0 || res.At("nextOffset") != nil || res.Num("total") != 65 {
			t.Errorf("%s", res.Body)
		}
		w.Settle()
	}
}

func TestAShortTextLooksAtTheNewestThousand(t *testing.T) {
	w := newWorld(t)
	w.publish(1, func(int) string { return "the oldest: ~" })
	w.publish(newest-1, func(int) string { return "plain" })
	if res := w.search("~"); len(found(res)) != 1 || res.At("searchTruncated") != false {
		t.Errorf("%d found, truncated %v", len(found(res)), res.At("searchTruncated"))
	}
	w.publish(1, func(int) string { return "plain" })
	if res := w.search("~"); len(found(res)) != 0 || res.At("searchTruncated") != true || res.Num("total") != 0 {
		t.Errorf("%d found, truncated %v", len(found(res)), res.At("searchTruncated"))
	}
	w.Settle()
	if res := w.search("st: ~"); len(found(res)) != 1 || res.At("searchTruncated") != false {
		t.Errorf("the index finds %d, truncated %v", len(found(res)), res.At("searchTruncated"))
	}
}

// spent are the calls of the store that an operation makes.
func (w *world) spent(o *op.Operation, r optest.Req) (s mem.Stats, res optest.Res) {
	w.T.Helper()
	w.n++
	if r.Address == "" {
		r.Address = fmt.Sprint("cost", w.n)
	}
	before := w.Store.Stats()
	res = w.Do(o, r)
	if res.Status > 299 {
		w.T.Errorf("%s: %s", o.ID, res.Body)
	}
	return w.Store.Stats().Since(before), res
}

// fill makes n requests of all statuses and as many offers on the first of them, straight
// into the store, ten of each a commit.
func (w *world) fill(n int) (first string) {
	w.T.Helper()
	at := w.Now()
	statuses := []string{Open, Active, InReview, Completed, Cancelled}
	one := func(c *op.Call, i int) (err error) {
		r := Request{ID: c.NewID(), Title: "t", Status: statuses[i%5], Requester: Ref{c.NewID(), "ann"}, CreatedAt: c.Now, UpdatedAt: c.Now}
		if i == 0 {
			first = r.ID
		}
		if r.Place, err = requestsIn(everything).Open(c, i/10%shards); err != nil {
			return err
		}
		r.list(c)
		c.Create(requestKey(r.ID), r)
		o := Offer{ID: c.NewID(), RequestID: first, Contributor: r.Requester, CreatedAt: c.Now}
		if o.Place, err = offersOf(first).Open(c, 0); err != nil {
			return err
		}
		o.Mark = offersOf(first).Add(c, o.ID, o.Place)
		c.Create(offerKey(o.ID), o)
		return nil
	}
	for done := 0; done < n; done += 10 {
		at = at.Add(10 * time.Second)
		err := w.Engine.Run(context.Background(), at, "help", func(c *op.Call) error {
			for i := range 10 {
				if err := one(c, done+i); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			w.T.Fatal(err)
		}
	}
	w.Advance(at.Sub(w.Now()))
	return first
}

// Totals and any page cost the same calls at 1,000 and at 30,000 rows.
func TestPagesOfALongListCostTheSameCalls(t *testing.T) {
	want := map[string]string{}
	for _, size := range []int{1000, 30_000} {
		w := newWorld(t)
		first := w.fill(size)
		for name, c := range map[string]struct {
			o     *op.Operation
			path  map[string]string
			query map[string][]string
		}{
			"requests":            {ListRequests, nil, nil},
			"requests, deep":      {ListRequests, nil, map[string][]string{"offset": {fmt.Sprint(size / 2)}, "limit": {"50"}}},
			"requests, last page": {ListRequests, nil, map[string][]string{"offset": {fmt.Sprint(size - 20)}}},
			"open requests, deep": {ListRequests, nil, map[string][]string{"offset": {fmt.Sprint(size / 10)}, "status": {Open}}},
			"offers":              {ListOffers, request(first), nil},
			"offers, deep":        {ListOffers, request(first), map[string][]string{"offset": {fmt.Sprint(size - 20)}}},
			"a request":           {ReadRequest, request(first), nil},
		} {
			s, res := w.spent(c.o, optest.Req{Path: c.path, Query: c.query})
			got := fmt.Sprintf("%d gets, %d queries", s.Gets, s.Queries)
			if want[name] == "" {
				want[name] = got
				t.Logf("%s: %s, %d rows", name, got, s.RowsRead)
			}
			if got != want[name] || s.Commits != 0 {
				t.Errorf("%s at %d rows: %s, want %s", name, size, got, want[name])
			}
			if total, ok := res.At("total").(float64); ok && !strings.Contains(name, "open") && total != float64(size) {
				t.Errorf("%s: total %v", name, total)
			}
		}
	}
}

// The counted cost of every write: credential, limit and key included.
func TestWhatAWriteCosts(t *testing.T) {
	w := newWorld(t)
	d := w.completed()
	live := w.inReview()
	open := d.ann.ask()
	taken := d.bob.offer(open)
	gone := d.eve.offer(open)
	keyed := func(a *actor, path map[string]string, body any) optest.Req {
		w.n++
		return optest.Req{Token: a.Key, Key: fmt.Sprint("cost", w.n), Path: path, Body: body}
	}
	for _, c := range []struct {
		o             *op.Operation
		r             optest.Req
		gets, commits int64
	}{
		{CreateRequest, keyed(d.ann, nil, requestBody()), 1, 1},
		{MakeOffer, keyed(w.join("dan"), request(open), offerBody()), 1, 1},
		{WithdrawOffer, keyed(d.eve, offer(gone), nil), 2, 1}, // the offer, then its request
		{AcceptOffer, keyed(d.ann, offer(taken), nil), 2, 1},  // the offer, then its request
		{SubmitWork, keyed(d.bob, request(open), workBody()), 1, 1},
		{ReviewSubmission, keyed(live.eve, submission(live.submission), reviewBody(Comment, "fail")), 2, 1}, // the submission, then its request
		{ReviewSubmission, keyed(live.ann, submission(live.submission), reviewBody(Accept, Pass)), 2, 1},
		{ReportReuse, keyed(d.eve, entry(d.knowledge), reuseBody()), 1, 1},
		{CancelRequest, keyed(d.ann, request(open), obj{"reason": "r"}), 1, 1},
		{ReportAbuse, keyed(d.eve, nil, obj{"entityType": "request", "entityId": open, "reason": "r"}), 1, 1},
		{RotateKey, keyed(d.eve, nil, nil), 1, 1},
		{Register, optest.Req{Body: obj{"handle": "costly"}}, 2, 1},
	} {
		s, _ := w.spent(c.o, c.r)
		if s.Gets != c.gets || s.Commits != c.commits || s.Queries != 0 {
			t.Errorf("%s: %d gets, %d queries, %d commits, want %d gets and %d", c.o.ID, s.Gets, s.Queries, s.Commits, c.gets, c.commits)
		}
		t.Logf("%s: %d gets, %d rows written", c.o.ID, s.Gets, s.RowsWritten)
	}
}

// Writing the lists of an entry goes on in small commits and ends.
func TestAnEntryIsIndexedInSmallCommits(t *testing.T) {
	w := newWorld(t)
	var text strings.Builder
	for r := rune(0x4e00); text.Len() < 17_000; r++ {
		text.WriteRune(r)
	}
	d := w.inReview()
	d.ann.review(d.submission, Revise, "fail")
	d.submission = d.bob.do(SubmitWork, request(d.request), with(workBody(), "method", text.String())).Want(201).Str("submission.id")
	d.ann.review(d.submission, Accept, Pass)
	before := w.Store.Stats()
	fired := w.Settle()
	s := w.Store.Stats().Since(before)
	t.Logf("%d characters: %d firings, %d commits, %d rows", chars(text.String()), fired, s.Commits, s.RowsWritten)
	if s.Commits > 80 || fired > 80 || s.RowsWritten > 8000 {
		t.Errorf("%d firings, %d commits, %d rows", fired, s.Commits, s.RowsWritten)
	}
	if res := w.search(string([]rune(text.String())[4000:4010])); len(found(res)) != 1 || res.At("searchTruncated") != false {
		t.Errorf("%s", res.Body)
	}
	for shard := range clock.Shards {
		if p, err := w.Store.Query(context.Background(), table.Query{PK: clock.Partition("help", shard)}); err != nil || len(p.Rows) != 0 {
			t.Errorf("timers are left: %v %v", p.Rows, err)
		}
	}
}
