package wants_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
)

func TestNewBidsAreToldInOneMailADay(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	one := w.Easy(p)
	two := w.Post(p, benchtest.With(benchtest.Posting(), "want", strings.Repeat("Long text. ", 20)), 0.55)
	var agents []maker
	for i := range 4 {
		agents = append(agents, w.Maker(fmt.Sprint("Agent", i)))
	}
	w.File(agents[0], one)
	w.Settle()
	mails := w.Mails.To(p.Email)
	if len(mails) != 1 || mails[0].Subject != "You have a new bid" || !strings.Contains(mails[0].Text, `1 new bid on "A dinner table for nine people on Friday."`) {
		t.Fatalf("%+v", mails)
	}
	w.Advance(time.Hour)
	w.File(agents[1], one)
	w.File(agents[2], one)
	w.File(agents[0], two)
	w.Advance(22*time.Hour + 59*time.Minute)
	if n := len(w.Mails.To(p.Email)); n != 1 {
		t.Errorf("%d mails within a day", n)
	}
	w.Advance(time.Minute)
	mails = w.Mails.To(p.Email)
	if len(mails) != 2 || mails[1].Subject != "You have 3 new bids" || !strings.Contains(mails[1].Text, "2 new bids on") || !strings.Contains(mails[1].Text, `1 new bid on "Long text.`) || strings.Contains(mails[1].Text, strings.Repeat("Long text. ", 9)) {
		t.Fatalf("%+v", mails)
	}
	w.Advance(10 * 24 * time.Hour)
	if n := len(w.Mails.To(p.Email)); n != 2 {
		t.Errorf("%d mails without news", n)
	}
	w.File(agents[3], two)
	w.Settle()
	if n := len(w.Mails.To(p.Email)); n != 3 {
		t.Errorf("%d mails: after a quiet day news are told at once", n)
	}
	feed, err := w.Store.Query(t.Context(), table.Query{PK: wants.FeedPartition(p.ID)}.Prefix(wants.FeedPrefix))
	if err != nil || len(feed.Rows) != 3 {
		t.Errorf("%d notices in the feed", len(feed.Rows))
	}
}

func TestAQuietPersonGetsNoOptionalMail(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	w.Run("bench", func(c *op.Call) error {
		who, _, err := op.Load[account.Person](c, account.PersonKey(p.ID))
		who.Quiet = true
		who.Save(c)
		return err
	})
	w.File(w.Maker("Maker"), w.Easy(p))
	w.Advance(48 * time.Hour)
	if n := len(w.Mails.To(p.Email)); n != 0 {
		t.Errorf("%d mails", n)
	}
}

func TestAClosedWantIsNoNews(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	m := w.Maker("Maker")
	w.File(m, w.Easy(p))
	w.Settle()
	id := w.Easy(p)
	w.File(m, id)
	w.Settle()
	w.close(p, id).Want(200)
	w.Advance(48 * time.Hour)
	if n := len(w.Mails.To(p.Email)); n != 1 {
		t.Errorf("%d mails", n)
	}
}

func TestALongDigestIsTwo(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	m := w.Maker("Maker")
	w.File(m, w.Easy(p))
	w.Settle()
	for range 35 {
		w.File(m, w.Easy(p))
		w.Settle()
	}
	w.Advance(3 * 24 * time.Hour)
	mails := w.Mails.To(p.Email)
	if len(mails) != 3 || mails[1].Subject != "You have 30 new bids" || mails[2].Subject != "You have 5 new bids" {
		for _, m := range mails {
			t.Error(m.Subject)
		}
	}
}

func TestAFilingReadsOnceAndCommitsOnce(t *testing.T) {
	w := newWorld(t)
	p := w.Poster("ada")
	id := w.Easy(p)
	m, again := w.Maker("Maker"), ""
	costs := func(who maker) (reads, commits int64) {
		before := w.Store.Stats()
		again = w.File(who, id)
		s := w.Store.Stats().Since(before)
		return s.Gets + s.Queries, s.Commits
	}
	for i, want := range []int64{1, 1, 1} {
		if i > 0 {
			m = w.Maker(fmt.Sprint("Maker", i))
		}
		if reads, commits := costs(m); reads != want || commits != 1 {
			t.Errorf("filing %d: %d reads, %d commits", i, reads, commits)
		}
	}
	w.Do(bids.Withdraw, optest.Req{Token: m.Token, Path: benchtest.On(id, again)}).Want(200)
	if reads, commits := costs(m); reads != 2 || commits != 1 {
		t.Errorf("refiling: %d reads, %d commits", reads, commits)
	}
}
