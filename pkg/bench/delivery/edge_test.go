package delivery_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/bench/drip"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
)

const aDay = 24 * time.Hour

// stored is the whole table.
func (m *mornings) stored() (all []table.Row) {
	m.t.Helper()
	for after, first := "", true; first || after != ""; first = false {
		rows, next, err := m.Store.List(context.Background(), after, table.MaxPageRows)
		if err != nil {
			m.t.Fatal(err)
		}
		all, after = append(all, rows...), next
	}
	return all
}

// approved is a deal whose timed delivery has begun, for a person of a zone and a House.
func (m *mornings) approved(zone string, n int, channels ...string) *parties {
	m.t.Helper()
	d := m.ready(zone)
	m.Do(account.Update, optest.Req{Token: d.person, Body: fields{"phone": "+15551234567", "house": fields{"house": "House of Oak", "value": "care"}}}).Want(200)
	d.schedule(fields{"pieces": pieces(n)}).Want(201)
	d.answer("4", "approve", "score", 9, "channels", append([]string{}, channels...)).Want(200)
	return d
}

// feedOf are the released days of a person's feed, oldest first, read to its end.
func (d *parties) wholeFeed() (titles []string) {
	d.t.Helper()
	for _, r := range (&mornings{shelf: d.shelf}).stored() {
		if strings.HasPrefix(r.PK, "bench.PERSON#"+d.personID) && strings.Contains(string(r.Data), `"kind":"delivery.released"`) {
			var n struct{ Subject string }
			if err := op.Decode(r.Data, &n); err != nil {
				d.t.Fatal(err)
			}
			titles = append(titles, n.Subject)
		}
	}
	return titles
}

func titles(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("Morning %d", i+1))
	}
	return all
}

// announced are the subjects of the mails about days.
func (m *mornings) announced() (subjects []string) {
	for _, one := range m.mails {
		if strings.HasPrefix(one.Subject, "Day ") {
			subjects = append(subjects, one.Subject)
		}
	}
	return subjects
}

// TestWhatHasFallenDueStaysReleasedWhateverThePersonDoesBeforeTheSweep: seven weeks without a
// sweep are more than one commit can tell of, and every reader has seen them land.
func TestWhatHasFallenDueStaysReleasedWhateverThePersonDoesBeforeTheSweep(t *testing.T) {
	for _, silent := range []bool{false, true} {
		for name, act := range map[string]func(*parties) optest.Res{
			"pause":    func(d *parties) optest.Res { return d.say(delivery.Pause, fields{}) },
			"stop":     func(d *parties) optest.Res { return d.say(delivery.Stop, fields{}) },
			"channels": func(d *parties) optest.Res { return d.say(delivery.SetChannels, fields{"channels": []string{"email"}}) },
			"share":    func(d *parties) optest.Res { return d.day(delivery.Share, "49") },
		} {
			m := newMornings(t)
			d, skip := (*parties)(nil), 49*aDay
			if silent { // even the approval by silence was seen by no sweep
				d, skip = m.ready("UTC"), skip+14*aDay
				m.Do(account.Update, optest.Req{Token: d.person, Body: fields{"house": fields{"house": "House of Oak", "value": "care"}}}).Want(200)
				d.schedule(fields{"pieces": pieces(60)}).Want(201)
			} else {
				d = m.approved("UTC", 60)
			}
			m.Skip(skip)
			if n := d.daily().Num("released_count"); n != 49 {
				t.Fatalf("%s: %v days are out before", name, n)
			}
			act(d).Want(200)
			if n := d.daily().Num("released_count"); n != 49 {
				t.Errorf("%s took days back: %v are out", name, n)
			}
			d.day(delivery.ReadDay, "49").Want(200)
			m.Settle()
			if got := d.wholeFeed(); !slices.Equal(got, titles(49)) {
				t.Errorf("%s: the feed has %d days: %v", name, len(got), got)
			}
			m.Advance(aDay)
			want := map[string]int{"pause": 49, "stop": 49, "channels": 50, "share": 50}[name]
			if got := d.wholeFeed(); !slices.Equal(got, titles(want)) {
				t.Errorf("%s: a day later the feed has %d days, want %d", name, len(got), want)
			}
		}
	}
}

func TestOneCatchingUpIsAnnouncedOnceHoweverLongItTook(t *testing.T) {
	m := newMornings(t)
	d := m.approved("UTC", 60, "email", "text")
	m.Skip(50 * aDay)
	m.Settle()
	if got := m.announced(); !slices.Equal(got, []string{"Day 50: Morning 50"}) || len(m.texts) != 1 {
		t.Errorf("%v, %d texts", got, len(m.texts))
	}
	for _, one := range m.mails {
		if strings.HasPrefix(one.Subject, "Day ") && !strings.Contains(one.Text, "50 in all") {
			t.Error(one.Text)
		}
	}
	if got := d.wholeFeed(); !slices.Equal(got, titles(50)) {
		t.Errorf("%v", got)
	}
	late, _, err := audited(m)
	if err != nil || len(late) != 50 {
		t.Errorf("%d of 50 late days on record (%v)", len(late), err)
	}
}

// TestAnAccountThatIsClosedReceivesNothingMore from the moment it is closed, for every reader,
// and nothing of its deliveries waits for anything afterwards.
func TestAnAccountThatIsClosedReceivesNothingMore(t *testing.T) {
	for _, paused := range []bool{false, true} {
		m := newMornings(t)
		d := m.approved("UTC", 5, "email")
		m.Advance(aDay)
		if paused {
			d.say(delivery.Pause, fields{}).Want(200)
		}
		m.Do(account.CloseAccount, optest.Req{Token: d.person, Body: fields{}}).Want(200)
		m.Skip(3 * aDay)
		if s := d.current(); s.Str("schedule.status") != "stopped" || s.Num("schedule.released_count") != 1 {
			t.Errorf("paused %v, before any sweep: %v", paused, s.At("schedule"))
		}
		m.Settle()
		m.Advance(5 * aDay)
		if s := d.current(); s.Str("schedule.status") != "stopped" || s.Num("schedule.released_count") != 1 {
			t.Errorf("paused %v: %v", paused, s.At("schedule"))
		}
		for _, r := range m.stored() {
			if strings.HasPrefix(r.SK, "DRIP#") || strings.Contains(r.SK, drip.Timer) {
				t.Errorf("paused %v: %v is left", paused, r.Key)
			}
		}
	}
}

// TestANewZoneReachesWhoeverDecidesAtThatMoment: a release or a resumption that read the old
// zone must not be the last word on the next morning.
func TestANewZoneReachesWhoeverDecidesAtThatMoment(t *testing.T) {
	m := newMornings(t)
	due, paused := m.approved("America/Los_Angeles", 3), m.approved("America/Los_Angeles", 3)
	paused.say(delivery.Pause, fields{}).Want(200)
	m.Skip(aDay) // the morning is due, and no sweep was there
	version := func(d *parties) (v string) {
		for _, r := range m.stored() {
			if strings.HasPrefix(r.PK, "bench.DRIP#") && r.SK == "ROOT" && strings.Contains(string(r.Data), d.id) {
				v = r.Version
			}
		}
		return v
	}
	for _, d := range []*parties{due, paused} {
		before := version(d)
		m.Run("bench", func(c *op.Call) error {
			for _, k := range delivery.Timers {
				if k.Kind == account.ZoneChanged {
					return k.Fire(c, op.Fired{Kind: k.Kind, Subject: d.personID + "#1", Due: c.Now})
				}
			}
			return nil
		})
		if version(d) == before {
			t.Errorf("whoever read %s before would come through", before)
		}
	}
}

// TestWhatATimedDeliveryCosts counts calls of the store, credential, limit and idempotency
// included. Which timed delivery it is stands in the deal, so that what is about it costs one
// batch more than what is about the deal alone.
func TestWhatATimedDeliveryCosts(t *testing.T) {
	m := newMornings(t)
	d := m.ready("UTC")
	m.Do(account.Update, optest.Req{Token: d.person, Body: fields{"house": fields{"house": "House of Oak", "value": "care"}}}).Want(200)
	check := func(what string, gets, queries, commits int64, call func() optest.Res) {
		t.Helper()
		m.Settle()
		before := m.Store.Stats()
		if r := call(); r.Status > 299 {
			t.Fatalf("%s: %s", what, r.Body)
		}
		if got := m.Store.Stats().Since(before); got.Gets != gets || got.Queries != queries || got.Commits != commits {
			t.Errorf("%s: %d gets, %d queries, %d commits; want %d, %d, %d", what, got.Gets, got.Queries, got.Commits, gets, queries, commits)
		}
	}
	check("file", 2, 0, 1, func() optest.Res { return d.schedule(fields{"pieces": pieces(4)}) })
	check("read while it waits", 2, 0, 0, d.daily)
	check("read a day while it waits", 2, 0, 0, func() optest.Res { return d.day(delivery.ReadDay, "1") })
	check("read the step", 2, 1, 0, func() optest.Res { return d.step("4") })
	check("approve", 2, 1, 1, func() optest.Res { return d.answer("4", "approve", "score", 9) })
	check("read", 2, 0, 0, d.daily)
	check("read as the agent", 2, 0, 0, d.current)
	check("read the deal", 2, 0, 0, func() optest.Res { return d.Do(deals.ReadDeal, optest.Req{Token: d.person, Path: d.at("")}) })
	m.Advance(aDay)
	check("read a day", 2, 0, 0, func() optest.Res { return d.day(delivery.ReadDay, "1") })
	check("share", 2, 0, 1, func() optest.Res { return d.day(delivery.Share, "1") })
	check("read the House", 1, 4, 0, func() optest.Res { return m.Do(delivery.ReadHouse, optest.Req{Token: d.person}) })
	check("pause", 2, 0, 1, func() optest.Res { return d.say(delivery.Pause, fields{}) })
	check("resume", 2, 0, 1, func() optest.Res { return d.say(delivery.Resume, fields{}) })
	check("channels", 2, 0, 1, func() optest.Res { return d.say(delivery.SetChannels, fields{"channels": []string{"email"}}) })
	check("stop", 2, 0, 1, func() optest.Res { return d.say(delivery.Stop, fields{}) })
}

// TestTheLargestTimedDeliveriesFitACommitOrAreRefusedBeforeAnythingIsWritten: letters of four
// bytes, signs that other encoders blow up to six, and more than a commit holds.
func TestTheLargestTimedDeliveriesFitACommitOrAreRefusedBeforeAnythingIsWritten(t *testing.T) {
	for _, c := range []struct {
		what                   string
		pieces, blocks, length int
		sign                   string
		status                 int
	}{
		{"60 pieces of 40 blocks of 1000 letters", 60, 40, 1000, "a", 201},
		{"a megabyte of signs HTML knows", 60, 16, 1000, "<", 201},
		{"18 pieces as large as a piece can be", 18, 40, 1000, "\U0001F600", 201},
		{"60 pieces as large as a piece can be", 60, 40, 1000, "\U0001F600", 413},
		{"line ends that are stored as six bytes", 60, 15, 1000, "\u2028", 413},
	} {
		t.Run(c.what, func(t *testing.T) {
			m := newMornings(t)
			d := m.ready("UTC")
			var body bytes.Buffer
			e := json.NewEncoder(&body)
			e.SetEscapeHTML(false)
			if err := e.Encode(fields{"pieces": filled(c.pieces, c.blocks, c.length, c.sign)}); err != nil {
				t.Fatal(err)
			}
			raw := bytes.ReplaceAll(body.Bytes(), []byte(`\u2028`), []byte("\u2028"))
			before := len(m.stored())
			r := d.Do(delivery.FileSchedule, optest.Req{Token: d.agent, Path: d.at(""), Body: raw}).Want(c.status)
			if r.Status == 413 {
				if after := len(m.stored()); r.Str("error") != "body_too_large" || after != before {
					t.Errorf("%s, and %d rows more", r.Body, after-before)
				}
				return
			}
			d.step("4")
			d.answer("4", "approve", "score", 9).Want(200)
			m.Advance(time.Duration(c.pieces) * aDay)
			if got := len(d.wholeFeed()); got != c.pieces {
				t.Errorf("%d of %d days landed", got, c.pieces)
			}
		})
	}
}

// filled are pieces whose blocks are full of one sign.
func filled(n, blocks, length int, sign string) (out []fields) {
	for i := range n {
		var list []fields
		for range blocks {
			list = append(list, fields{"type": "paragraph", "text": "a" + strings.Repeat(sign, length-2) + "a"})
		}
		out = append(out, fields{"title": fmt.Sprintf("Day %d", i+1), "document": fields{"blocks": list}})
	}
	return out
}

// TestANewZoneAndAClosedAccountReachEverythingThePersonReceives, a page of commits at a time.
func TestANewZoneAndAClosedAccountReachEverythingThePersonReceives(t *testing.T) {
	const many = 2*drip.MaxLive + 7
	m := newMornings(t)
	d := m.approved("America/Los_Angeles", 2)
	for range many {
		m.Run("bench", func(c *op.Call) error {
			if err := c.Fetch(account.PersonKey(d.personID)); err != nil {
				return err
			}
			p, _, err := op.Load[account.Person](c, account.PersonKey(d.personID))
			if err != nil {
				return err
			}
			s := drip.Schedule{ID: c.NewID(), DealID: d.id, TargetID: d.target, AgentID: d.agentID, PersonID: d.personID, Status: drip.Filed, Pieces: make([]drip.Heading, 3)}
			s.Create(c, nil)
			s.Approve(c.Now, p.Stays(), nil, false)
			c.Create(drip.LiveKey(s.PersonID, s.ID), struct{}{})
			s.Listed = c.CommitID()
			s.Save(c)
			return nil
		})
	}
	due := func() (n int, next time.Time) {
		for _, r := range m.stored() {
			if i := strings.Index(r.SK, "#"+drip.Timer+"#"); i > 0 {
				n++
				next, _ = time.Parse(time.RFC3339, r.SK[:i])
			}
		}
		return n, next
	}
	m.zone(d, "Asia/Tokyo")
	m.Settle()
	if n, next := due(); n != many+1 || !next.Equal(time.Date(2026, 11, 30, 21, 0, 0, 0, time.UTC)) {
		t.Errorf("%d clocks, at %v", n, next)
	}
	m.Do(account.CloseAccount, optest.Req{Token: d.person, Body: fields{}}).Want(200)
	m.Settle()
	if n, _ := due(); n != 0 {
		t.Errorf("%d clocks of a closed account", n)
	}
	for _, r := range m.stored() {
		if strings.HasPrefix(r.SK, "DRIP#") {
			t.Errorf("%v is left", r.Key)
		}
	}
}

// TestAHouseIsReadToItsEndHoweverManyDaysWereSharedInOneMoment: a page never loses or repeats
// one, and the feed neither.
func TestAHouseIsReadToItsEndHoweverManyDaysWereSharedInOneMoment(t *testing.T) {
	m := newMornings(t)
	var all []*parties
	for range 5 {
		all = append(all, m.approved("UTC", 6))
	}
	m.Skip(7 * aDay)
	m.Settle()
	for _, d := range all {
		for n := 1; n <= 6; n++ {
			d.day(delivery.Share, fmt.Sprint(n)).Want(200)
		}
	}
	read := func(o *op.Operation, list string, limit int) (cards []string) {
		next := ""
		for range 100 {
			r := m.Do(o, optest.Req{Token: all[0].person, Query: url.Values{"after": {next}, "limit": {fmt.Sprint(limit)}}}).Want(200)
			page, _ := r.At(list).([]any)
			if len(page) > limit {
				t.Errorf("a page of %d, asked for %d", len(page), limit)
			}
			for _, one := range page {
				if c, ok := one.(fields)["card"].(fields); ok {
					cards = append(cards, fmt.Sprint(c["schedule_id"], c["ordinal"]))
				} else if c, ok := one.(fields)["day"].(fields); ok {
					cards = append(cards, fmt.Sprint(c["schedule_id"], c["ordinal"]))
				}
			}
			if next = r.Str("next_cursor"); next == "" {
				break
			}
		}
		return cards
	}
	for _, limit := range []int{1, 7, 30, 50} {
		if got := read(delivery.ReadHouse, "days", limit); len(got) != 30 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 30 {
			t.Errorf("%d a page: %d days of 30: %v", limit, len(got), got)
		}
		if got := read(deals.ReadFeed, "feed", limit); len(got) != 6 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 6 {
			t.Errorf("%d a page: %d cards of 6: %v", limit, len(got), got)
		}
	}
	m.Do(delivery.ReadHouse, optest.Req{Token: all[0].person, Query: url.Values{"after": {"x"}}}).Refused(422, "cursor_invalid")
}

// TestATitleIsOneLine: it becomes the subject of a mail, which no mailer sends with a break in it.
func TestATitleIsOneLine(t *testing.T) {
	m := newMornings(t)
	d := m.ready("UTC")
	list := pieces(3)
	list[0]["title"], list[1]["title"], list[2]["title"] = "To the\ncorner\tand back", "Round the\u2028block", strings.Repeat("\U0001F6B6", delivery.MaxPieceTitle)
	d.schedule(fields{"pieces": append(pieces(1), fields{"title": "a\u0090b", "document": list[0]["document"]})}).Want(422)
	d.schedule(fields{"pieces": list}).Want(201)
	d.answer("4", "approve", "score", 9, "channels", []string{"email"}).Want(200)
	m.Advance(4 * aDay)
	if got := m.announced(); len(got) != 3 || got[0] != "Day 1: To the corner and back" || got[1] != "Day 2: Round the block" {
		t.Errorf("%q", got)
	}
	for _, one := range m.mails {
		if err := one.Valid(); err != nil && one.From != "" {
			t.Errorf("%q: %v", one.Subject, err)
		}
	}
}
