package desk_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/desk"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
)

func TestTheOpenListPagesNewestFirst(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	var posted []string
	for i := range 43 {
		posted = append(posted, w.Post(p, benchtest.With(benchtest.Posting(), "want", fmt.Sprintf("Want number %d, please.", i))))
		if i%3 == 0 { // some share their moment
			w.Advance(time.Second)
		}
	}
	all := ids(w.open(m).Want(200), "targets", "target_id")
	if len(all) != 43 || all[42] != posted[0] {
		t.Fatalf("%d targets", len(all))
	}
	for _, limit := range []string{"1", "5", "7", "42", "43", "200"} {
		var got []string
		after := ""
		for {
			r := w.open(m, "limit", limit, "after", after).Want(200)
			got = append(got, ids(r, "targets", "target_id")...)
			equal(t, "count", int(r.Num("count")), len(r.At("targets").([]any)))
			if after = r.Str("next_cursor"); after == "" {
				break
			}
		}
		if !slices.Equal(got, all) {
			t.Errorf("in pages of %s: %d targets, the order differs", limit, len(got))
		}
	}
	w.open(m, "after", "x").Refused(422, "cursor_invalid")
	w.open(m, "limit", "0").Refused(422, "invalid_field")
	w.open(m, "limit", "201").Refused(422, "invalid_field")
	w.open(m, "limit", "many").Refused(422, "invalid_field")
	board := w.Do(desk.Board, optest.Req{Query: query("limit", "5")}).Want(200)
	w.open(m, "after", board.Str("next_cursor")).Refused(422, "cursor_invalid")
}

func TestARepostGoesToTheTop(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	first := w.Easy(p)
	w.Advance(time.Minute)
	second := w.Easy(p)
	w.Advance(time.Minute)
	w.Do(wants.Repost, optest.Req{Token: p.Token, Path: benchtest.On(first)}).Want(200)
	if got := ids(w.open(m), "targets", "target_id"); !slices.Equal(got, []string{first, second}) {
		t.Error(got)
	}
}

func TestATargetStaysInTheListOfWhoHoldsALiveBidOnIt(t *testing.T) {
	w := newWorld(t)
	p, m, other := w.Poster("ada"), w.Maker("Maker"), w.Maker("Other")
	var targets []string
	for range 6 {
		targets = append(targets, w.Easy(p))
		w.Advance(time.Second)
	}
	held := targets[2]
	mine := w.File(m, held)
	var filed []string
	for range 3 {
		filed = append(filed, w.File(w.Maker("Finalist"), held))
		w.Name(p, held, filed[len(filed)-1])
	}
	if got := ids(w.open(other), "targets", "target_id"); len(got) != 5 || slices.Contains(got, held) {
		t.Errorf("%v", got)
	}
	want := []string{targets[5], targets[4], targets[3], held, targets[1], targets[0]}
	if got := ids(w.open(m), "targets", "target_id"); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	var paged []string
	after := ""
	for {
		r := w.open(m, "limit", "2", "after", after).Want(200)
		paged = append(paged, ids(r, "targets", "target_id")...)
		if after = r.Str("next_cursor"); after == "" {
			break
		}
	}
	if !slices.Equal(paged, want) {
		t.Errorf("%v", paged)
	}
	if got := w.open(m, "limit", "4").Str("targets.3.your_bid.proposal_id"); got != mine {
		t.Errorf("your_bid is %q", got)
	}
	w.withdraw(m, mine)
	if got := ids(w.open(m), "targets", "target_id"); len(got) != 5 {
		t.Errorf("%v", got)
	}
	w.Do(bids.Unname, optest.Req{Token: p.Token, Path: benchtest.On(held, filed[0])}).Want(200)
	r := w.open(m)
	if got := ids(r, "targets", "target_id"); !slices.Equal(got, want) {
		t.Errorf("a free slot brings it back for everybody: %v", got)
	}
	equal(t, "a withdrawn bid still shows", r.Str("targets.3.your_bid.status"), "withdrawn")
	equal(t, "as in the brief", w.brief(m, held).Str("brief.your_bid.status"), "withdrawn")
	again := w.File(m, held)
	equal(t, "the latest bid shows", w.open(m).Str("targets.3.your_bid.proposal_id"), again)
	w.Advance(time.Minute)
	w.Do(wants.Repost, optest.Req{Token: p.Token, Path: benchtest.On(held)}).Want(200)
	r = w.open(m)
	equal(t, "reposted on top", r.Str("targets.0.target_id"), held)
	equal(t, "your_bid of the round before", r.At("targets.0.your_bid"), any(nil))
	w.Edit(held, func(_ *op.Call, v *wants.Want) error { odds := 0.55; v.Frozen = &odds; return nil })
	w.File(m, held)
	if got := ids(w.open(m), "targets", "target_id"); len(got) != 6 {
		t.Errorf("listed twice: %v", got)
	}
}

func TestOpenEntriesAreTheBriefs(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	target := w.Easy(p)
	w.File(m, target)
	a, b := w.brief(m, target).At("brief"), w.open(m).At("targets.0")
	if text(a) != text(b) {
		t.Errorf("%s\n%s", text(a), text(b))
	}
	if r := w.open(w.Maker("Other")); r.At("targets.0.your_bid") != nil {
		t.Errorf("%s", r.Body)
	}
}

func TestTheOpenTargetsAreCounted(t *testing.T) {
	w := newWorld(t)
	p, m, other := w.Poster("ada"), w.Maker("Maker"), w.Maker("Other")
	count := func(m maker) int {
		return int(w.Do(desk.Attention, optest.Req{Token: m.Token}).Want(200).Num("open_targets.count"))
	}
	equal(t, "nothing", count(m), 0)
	var targets []string
	for range 5 {
		targets = append(targets, w.Easy(p))
	}
	bid := w.File(m, targets[0])
	equal(t, "mine", count(m), 4)
	equal(t, "the other's", count(other), 5)
	w.withdraw(m, bid)
	equal(t, "after a withdrawal", count(m), 5)
	w.File(m, targets[0])
	w.close(p, targets[0])
	equal(t, "after a close", count(m), 4)
	w.Do(wants.Repost, optest.Req{Token: p.Token, Path: benchtest.On(targets[0])}).Want(200)
	equal(t, "after a repost", count(m), 5)
	for range 3 {
		w.Name(p, targets[1], w.File(w.Maker("Finalist"), targets[1]))
	}
	equal(t, "with three finalists", count(other), 4)
	w.Advance(97 * time.Hour)
	equal(t, "when they ran out of time", count(other), 5)
	equal(t, "in the status", int(w.Do(desk.Me, optest.Req{Token: other.Token}).Num("open_targets_count")), 5)
}

func TestTheBoardShowsNothingOfBidsAndPeople(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	target := w.Easy(p)
	w.practice(benchtest.Posting(), 0.55)
	board := func() optest.Res { return w.Do(desk.Board, optest.Req{Address: "198.51.100.7"}).Want(200) }
	before := board()
	row := before.At("wants.0").(obj)
	want := obj{"id": target, "want": "A dinner table for nine people on Friday.", "status": "open", "budget_ceiling_cents": 20000.0, "posted_at": "2026-11-30T18:20:00Z",
		"updated_at": "2026-11-30T18:20:00Z", "timeline_days": nil, "url": "http://guildhall.test/api/bench/targets/" + target + "/brief"}
	if text(row) != text(want) || before.Num("count") != 1 || before.Str("note") == "" || before.At("next_cursor") != nil {
		t.Errorf("%s", before.Body)
	}
	w.Advance(time.Hour)
	var filed []string
	for range 3 {
		filed = append(filed, w.File(m, target))
		m = w.Maker("Maker")
	}
	w.Name(p, target, filed[0])
	w.Name(p, target, filed[1])
	w.Do(bids.Reject, optest.Req{Token: p.Token, Path: benchtest.On(target, filed[1]), Body: obj{"reason": "No."}}).Want(200)
	w.Name(p, target, filed[2])
	if after := board(); string(after.Body) != string(before.Body) {
		t.Errorf("bids and namings moved the board: %s", after.Body)
	}
	w.Do(wants.AddNote, optest.Req{Token: p.Token, Path: benchtest.On(target), Body: obj{"note": "We are ten."}}).Want(200)
	if r := board(); r.Str("wants.0.updated_at") != "2026-11-30T19:20:00Z" || !strings.HasSuffix(r.Str("wants.0.want"), "[2026-11-30] We are ten.") {
		t.Errorf("%s", r.Body)
	}
	w.close(p, target)
	if r := board(); r.Num("count") != 0 {
		t.Errorf("%s", r.Body)
	}
}

func TestTheBoardIsReadAHundredAndTwentyTimesAnHour(t *testing.T) {
	w := newWorld(t)
	for range 120 {
		w.Do(desk.Board, optest.Req{}).Want(200)
	}
	if r := w.Do(desk.Board, optest.Req{}).Refused(429, "rate_limited"); r.Header["Retry-After"] == "" {
		t.Errorf("%v", r.Header)
	}
	w.Do(desk.Board, optest.Req{Address: "203.0.113.1"}).Want(200)
	w.Advance(time.Hour)
	w.Do(desk.Board, optest.Req{}).Want(200)
	w.Do(desk.Board, optest.Req{Query: query("after", "x")}).Refused(422, "cursor_invalid")
}

func TestAHundredThousandWantsCostThePageOfTen(t *testing.T) {
	w := newWorld(t)
	m := w.Maker("Maker")
	p := w.Poster("ada")
	for range 10 {
		w.Post(p, benchtest.Posting())
	}
	calls := func(o *op.Operation, token string) int64 {
		before := w.Store.Stats()
		w.Do(o, optest.Req{Token: token, Query: query("limit", "50")}).Want(200)
		s := w.Store.Stats().Since(before)
		return s.Gets + s.Queries
	}
	board, open := calls(desk.Board, ""), calls(desk.OpenTargets, m.Token)
	rows := 0
	tx := &table.Tx{}
	for i := range 100_000 {
		id := fmt.Sprintf("%08d-0000-4000-8000-000000000000", i)
		at := optest.Start.Add(-time.Duration(i) * time.Minute)
		data, err := op.Encode(wants.Entry{TargetID: id, PersonID: p.ID, Want: "One of very many.", PostedAt: at, UpdatedAt: at})
		if err != nil {
			t.Fatal(err)
		}
		tx.Writes = append(tx.Writes, table.Write{Kind: table.Create, Key: wants.OpenKey(at, id), Data: data})
		if len(tx.Writes) == table.MaxTxRows {
			tx.ID = fmt.Sprint("fill ", i)
			if err := w.Store.Commit(context.Background(), tx); err != nil {
				t.Fatal(err)
			}
			rows, tx = rows+len(tx.Writes), &table.Tx{}
		}
	}
	if got := calls(desk.Board, ""); rows != 100_000 || got != board {
		t.Errorf("the board took %d calls over ten wants, %d over %d more", board, got, rows)
	}
	if got := calls(desk.OpenTargets, m.Token); got > open+1 { // one more batch of briefs: fifty, not ten
		t.Errorf("the open list took %d calls, then %d", open, got)
	}
	seen, after := map[string]bool{}, ""
	for range 20 {
		r := w.Do(desk.Board, optest.Req{Query: query("limit", "200", "after", after)}).Want(200)
		for _, id := range ids(r, "wants", "id") {
			if seen[id] {
				t.Fatalf("%s twice", id)
			}
			seen[id] = true
		}
		after = r.Str("next_cursor")
	}
	if len(seen) != 4000 {
		t.Errorf("%d wants on twenty pages", len(seen))
	}
}
