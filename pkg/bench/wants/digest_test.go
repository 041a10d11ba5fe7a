package wants_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
)

func TestNewBidsAreToldInOneMailADay(t *testing.T) {
	w := newWorld(t)
	p := w.person("ada")
	one := w.easy(p)
	two := w.post(p, with(posting(), "want", strings.Repeat("Long text. ", 20)), 0.55)
	var agents []maker
	for i := range 4 {
		agents = append(agents, w.maker(fmt.Sprint("Agent", i)))
	}
	w.file(agents[0], one)
	w.Settle()
	mails := w.mails.to(p.Email)
	if len(mails) != 1 || mails[0].Subject != "You have a new bid" || !strings.Contains(mails[0].Text, `1 new bid on "A dinner table for nine people on Friday."`) {
		t.Fatalf("%+v", mails)
	}
	w.Advance(time.Hour)
	w.file(agents[1], one)
	w.file(agents[2], one)
	w.file(agents[0], two)
	w.Advance(22*time.Hour + 59*time.Minute)
	if n := len(w.mails.to(p.Email)); n != 1 {
		t.Errorf("%d mails within a day", n)
	}
	w.Advance(time.Minute)
	mails = w.mails.to(p.Email)
	if len(mails) != 2 || mails[1].Subject != "You have 3 new bids" || !strings.Contains(mails[1].Text, "2 new bids on") || !strings.Contains(mails[1].Text, `1 new bid on "Long text.`) || strings.Contains(mails[1].Text, strings.Repeat("Long text. ", 9)) {
		t.Fatalf("%+v", mails)
	}
	w.Advance(10 * 24 * time.Hour)
	if n := len(w.mails.to(p.Email)); n != 2 {
		t.Errorf("%d mails without news", n)
	}
	w.file(agents[3], two)
	w.Settle()
	if n := len(w.mails.to(p.Email)); n != 3 {
		t.Errorf("%d mails: after a quiet day news are told at once", n)
	}
	feed, err := w.Store.Query(t.Context(), table.Query{PK: wants.FeedPartition(p.ID)}.Prefix(wants.FeedPrefix))
	if err != nil || len(feed.Rows) != 3 {
		t.Errorf("%d notices in the feed", len(feed.Rows))
	}
}

func TestAQuietPersonGetsNoOptionalMail(t *testing.T) {
	w := newWorld(t)
	p := w.person("ada")
	w.Run("bench", func(c *op.Call) error {
		who, _, err := op.Load[account.Person](c, account.PersonKey(p.ID))
		who.Quiet = true
		who.Save(c)
		return err
	})
	w.file(w.maker("Maker"), w.easy(p))
	w.Advance(48 * time.Hour)
	if n := len(w.mails.to(p.Email)); n != 0 {
		t.Errorf("%d mails", n)
	}
}

func TestAClosedWantIsNoNews(t *testing.T) {
	w := newWorld(t)
	p := w.person("ada")
	m := w.maker("Maker")
	w.file(m, w.easy(p))
	w.Settle()
	id := w.easy(p)
	w.file(m, id)
	w.Settle()
	w.close(p, id).Want(200)
	w.Advance(48 * time.Hour)
	if n := len(w.mails.to(p.Email)); n != 1 {
		t.Errorf("%d mails", n)
	}
}

func TestALongDigestIsTwo(t *testing.T) {
	w := newWorld(t)
	p := w.person("ada")
	m := w.maker("Maker")
	w.file(m, w.easy(p))
	w.Settle()
	for range 35 {
		w.file(m, w.easy(p))
		w.Settle()
	}
	w.Advance(3 * 24 * time.Hour)
	mails := w.mails.to(p.Email)
	if len(mails) != 3 || mails[1].Subject != "You have 30 new bids" || mails[2].Subject != "You have 5 new bids" {
		for _, m := range mails {
			t.Error(m.Subject)
		}
	}
}

func TestAFilingReadsOnceAndCommitsOnce(t *testing.T) {
	w := newWorld(t)
	p := w.person("ada")
	id := w.easy(p)
	m, again := w.maker("Maker"), ""
	costs := func(who maker) (reads, commits int64) {
		before := w.Store.Stats()
		again = w.file(who, id)
		s := w.Store.Stats().Since(before)
		return s.Gets + s.Queries, s.Commits
	}
	for i, want := range []int64{1, 1, 1} {
		if i > 0 {
			m = w.maker(fmt.Sprint("Maker", i))
		}
		if reads, commits := costs(m); reads != want || commits != 1 {
			t.Errorf("filing %d: %d reads, %d commits", i, reads, commits)
		}
	}
	w.Do(bids.Withdraw, optest.Req{Token: m.Token, Path: on(id, again)}).Want(200)
	if reads, commits := costs(m); reads != 2 || commits != 1 {
		t.Errorf("refiling: %d reads, %d commits", reads, commits)
	}
}
