package delivery_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/audit"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/closing"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/bench/drip"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/blob"
	"guildhall/pkg/clock"
	"guildhall/pkg/clock/morning"
	"guildhall/pkg/edge/jobs"
	"guildhall/pkg/mail"
	"guildhall/pkg/mail/outbox"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/sms"
	texts "guildhall/pkg/sms/outbox"
	"guildhall/pkg/table"
	"guildhall/pkg/table/faulty"
)

// walk is a random life of two people with a timed delivery each: they travel, pause, share and
// leave, at six sharp above all, while sweeps come late, twice or not at all and the table fails.
// After every step the raw rows are held against what a timed delivery promises.
type walk struct {
	*mornings
	r       *rand.Rand
	seed    uint64
	broken  *faulty.Store
	sweeps  []*jobs.Sweeper
	people  []*walker
	mails   mailbox
	log     []string
	handled map[string]int // what was done, and how often it was answered with success
}

// walker is a person with a deal, and what was seen of it.
type walker struct {
	*parties
	zones   []zoned
	seen    map[string]drip.Schedule // as last stored
	shown   map[string]int           // most days that were shown as landed
	resumed time.Time                // since when days may fall due again, after a pause
	closed  bool
	key     int
}

// zoned is a zone from a moment on.
type zoned struct {
	at   time.Time
	name string
}

// mailbox keeps one mail a key, as a mailer does.
type mailbox struct {
	mu    sync.Mutex
	mails map[string]mail.Mail
	texts []sms.Message
}

func (b *mailbox) Send(_ context.Context, m mail.Mail) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mails[m.Key] = m
	return nil
}

type handset struct{ b *mailbox }

func (h handset) Send(_ context.Context, m sms.Message) error {
	h.b.mu.Lock()
	defer h.b.mu.Unlock()
	h.b.texts = append(h.b.texts, m)
	return nil
}

var walkZones = []string{"UTC", "America/Los_Angeles", "Asia/Tokyo", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Europe/Berlin", "Australia/Lord_Howe"}

func newWalk(t testing.TB, seed uint64) *walk {
	w := &walk{mornings: &mornings{}, r: rand.New(rand.NewPCG(seed, 14)), seed: seed, handled: map[string]int{}}
	w.mails.mails = map[string]mail.Mail{}
	w.shelf = newShelf(t, optest.WithStore(func(s table.Store) table.Store { w.broken = faulty.Wrap(s); return w.broken }),
		optest.WithPorts(func(ctx context.Context, _ op.Touch) context.Context {
			return texts.With(outbox.With(blob.With(ctx, w.blobs), outbox.Letters{Mailer: &w.mails, From: "Guildhall <hall@guildhall.test>"}), handset{&w.mails})
		}))
	timers := slices.Concat(deals.Timers, bids.Timers, wants.Timers, delivery.Timers)
	effects := slices.Concat(deals.Effects, wants.Effects, outbox.Effects, closing.Effects, texts.Effects)
	for _, group := range []string{"bench", "person"} {
		w.sweeps = append(w.sweeps, &jobs.Sweeper{Engine: w.Engine, Context: group, Timers: timers, Effects: effects})
	}
	for range 2 {
		p := &walker{parties: w.ready("UTC"), seen: map[string]drip.Schedule{}, shown: map[string]int{}, zones: []zoned{{w.Now(), "UTC"}}}
		w.call(p, account.Update, p.person, fields{"phone": "+15551234567", "house": fields{"house": "House of Oak", "value": "care"}}, "")
		w.people = append(w.people, p)
	}
	return w
}

func (w *walk) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("seed %d at %s: %s\n%s", w.seed, clock.Stamp(w.Now()), fmt.Sprintf(format, args...), strings.Join(w.log[max(0, len(w.log)-25):], "\n"))
}

func (w *walk) note(format string, args ...any) {
	w.log = append(w.log, clock.Stamp(w.Now())+" "+fmt.Sprintf(format, args...))
}

// call makes a call; one that was not answered is made again under the same key.
func (w *walk) call(p *walker, o *op.Operation, token string, body any, ordinal string) optest.Res {
	w.t.Helper()
	p.key++
	at := p.at("4")
	at["ordinal"] = ordinal
	req := optest.Req{Token: token, Path: at, Body: body, Key: fmt.Sprintf("%s %d", p.id, p.key)}
	res := w.Do(o, req)
	if res.Status == 503 {
		w.broken.Clear()
		res = w.Do(o, req)
	}
	if res.Status >= 500 {
		cause := error(nil)
		if res.Fault != nil {
			cause = res.Fault.Unwrap()
		}
		w.fail("%s answers %d: %s %v", o.ID, res.Status, res.Body, cause)
	}
	w.note("%s of %s: %d %s", o.ID, p.id[:4], res.Status, res.Str("error"))
	if res.Status < 300 {
		w.handled[o.ID]++
		w.broken.Clear()
		if again := w.Do(o, req); o != account.CloseAccount && string(again.Body) != string(res.Body) {
			w.fail("%s is replayed as %s, was %s", o.ID, again.Body, res.Body)
		}
	}
	return res
}

// harm makes some of the next calls of the table fail.
func (w *walk) harm() {
	mode := []faulty.Mode{faulty.Conflict, faulty.FailBefore, faulty.FailAfter, faulty.Throttle, faulty.Duplicate}[w.r.IntN(5)]
	what := []faulty.Op{faulty.Commit, faulty.Get, faulty.Query}[w.r.IntN(3)]
	if _, err := w.broken.Inject(faulty.Fault{Mode: mode, Op: what, Skip: w.r.IntN(6), Times: 1 + w.r.IntN(4)}); err != nil {
		w.fail("%v", err)
	}
	w.note("the table will %s (%s)", mode, what)
}

// sweep fires what is due, perhaps on two machines at once.
func (w *walk) sweep() {
	var all sync.WaitGroup
	n := 1 + w.r.IntN(2)
	w.note("%d sweeps", n)
	for range n {
		all.Go(func() {
			for _, s := range w.sweeps {
				if _, err := s.SweepAll(context.Background(), w.Now()); err != nil && !errors.Is(err, table.ErrUnavailable) {
					w.t.Errorf("seed %d: %v", w.seed, err)
				}
			}
		})
	}
	all.Wait()
}

// calm sweeps until nothing is due.
func (w *walk) calm() {
	w.broken.Clear()
	for range 100 {
		fired := 0
		for _, s := range w.sweeps {
			n, err := s.SweepAll(context.Background(), w.Now())
			if err != nil {
				w.fail("%v", err)
			}
			fired += n
		}
		if fired == 0 {
			return
		}
	}
	w.fail("the clocks do not come to rest")
}

// pass lets time go on: to the second of the next morning, around it, or far.
func (w *walk) pass() {
	var next time.Time
	live := false
	for _, p := range w.people {
		for _, s := range p.seen {
			live = live || s.Live()
			if _, at, ok := s.Next(); ok && at.After(w.Now()) && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
	}
	switch k := w.r.IntN(10); {
	case k < 5 && !next.IsZero():
		w.Skip(next.Sub(w.Now()) + time.Duration(w.r.IntN(3)-1)*time.Millisecond*time.Duration(1+w.r.IntN(2)*999))
	case k < 8:
		w.Skip(time.Duration(w.r.IntN(36)) * time.Hour)
	case k == 8 && live:
		w.Skip(time.Duration(w.r.IntN(50)) * aDay)
	default:
		w.Skip(time.Duration(w.r.IntN(120)) * time.Minute)
	}
}

// step does one thing.
func (w *walk) step() {
	p := w.people[w.r.IntN(len(w.people))]
	if w.r.IntN(6) == 0 {
		w.harm()
	}
	switch w.r.IntN(20) {
	case 0, 1, 2, 3:
		w.pass()
	case 4, 5, 6, 7:
		w.sweep()
	case 8:
		w.together(p)
	case 9:
		w.agent(p)
	default:
		w.act(p, w.r.IntN(13))
	}
	w.broken.Clear()
	w.check()
}

// agent works or leaves.
func (w *walk) agent(p *walker) {
	if w.r.IntN(25) == 0 {
		w.call(p, deals.Withdraw, p.agent, fields{"reason": "I cannot go on.", "kind": "abandonment"}, "")
		return
	}
	for _, n := range path.Checkpoints {
		w.call(p, deals.CheckIn, p.agent, fields{"changed": "no change", "now": "Working.", "next": "More.", "progress_percent": n}, "")
	}
	n := 1 + w.r.IntN(8)
	if w.r.IntN(3) == 0 { // more than one commit tells of, after a long silence
		n = drip.MaxAtOnce + w.r.IntN(drip.MaxPieces-drip.MaxAtOnce)
	}
	body := fields{"pieces": pieces(n)}
	if w.r.IntN(3) == 0 {
		body["starts_on"] = w.Now().AddDate(0, 0, 1+w.r.IntN(4)).Format(time.DateOnly)
	}
	w.call(p, delivery.FileSchedule, p.agent, body, "")
}

// act is something the person does.
func (w *walk) act(p *walker, what int) {
	channels := fields{"channels": slices.DeleteFunc([]string{"email", "text"}, func(string) bool { return w.r.IntN(2) == 0 })}
	switch what {
	case 0:
		w.agent(p)
	case 1, 2:
		body := fields{"verdict": "approve", "score": 1 + w.r.IntN(10), "channels": channels["channels"]}
		if k := w.r.IntN(8); k == 0 {
			body = fields{"verdict": "request_changes", "reason": "More."}
		} else if k == 1 && w.r.IntN(4) == 0 {
			body = fields{"verdict": "decline", "reason": "No."}
		}
		w.call(p, deals.AnswerStep, p.person, body, "")
	case 3:
		w.call(p, delivery.Pause, p.person, fields{}, "")
	case 4, 5:
		w.call(p, delivery.Resume, p.person, fields{}, "")
	case 6:
		w.call(p, delivery.SetChannels, p.person, channels, "")
	case 7, 8:
		w.call(p, delivery.Share, p.person, fields{}, fmt.Sprint(1+w.r.IntN(2+w.r.IntN(40))))
	case 9, 10:
		zone := walkZones[w.r.IntN(len(walkZones))]
		if w.call(p, account.Update, p.person, fields{"timezone": zone}, "").Status == 200 {
			p.zones = append(p.zones, zoned{w.Now(), zone})
		}
	case 11:
		if w.r.IntN(8) == 0 {
			w.call(p, delivery.Stop, p.person, fields{}, "")
		}
	case 12:
		if w.r.IntN(12) == 0 { // one whose answer was lost is a stranger when it asks again
			r := w.call(p, account.CloseAccount, p.person, fields{}, "")
			p.closed = p.closed || r.Status == 200 || r.Status == 401
		}
	}
}

// together lets the person, a second window and the sweep meet in one moment.
func (w *walk) together(p *walker) {
	var all sync.WaitGroup
	w.note("all at once")
	for _, one := range []struct {
		o    *op.Operation
		body fields
	}{{delivery.Pause, fields{}}, {delivery.Resume, fields{}}, {delivery.Share, fields{}}, {delivery.SetChannels, fields{"channels": []string{"email"}}},
		{deals.AnswerStep, fields{"verdict": "approve", "score": 3}}} {
		if w.r.IntN(3) == 0 {
			continue
		}
		p.key++
		at := p.at("4")
		at["ordinal"] = "1"
		req := optest.Req{Token: p.person, Path: at, Body: one.body, Key: fmt.Sprintf("%s %d", p.id, p.key)}
		for range 2 {
			all.Go(func() {
				if res := w.Do(one.o, req); res.Status == 500 {
					w.t.Errorf("seed %d: %s answers %s", w.seed, one.o.ID, res.Body)
				}
			})
		}
	}
	all.Go(func() {
		for _, s := range w.sweeps {
			_, _ = s.SweepAll(context.Background(), w.Now())
		}
	})
	all.Wait()
}

// found is what the table holds of a timed delivery.
type found struct {
	drip.Schedule
	timers, live []table.Row
	cards        []deals.Notice
	late         []int
	words        map[record.Word]int
	events       int
}

// rows sorts the table by timed delivery.
func (w *walk) rows() map[string]*found {
	out, all := map[string]*found{}, w.stored()
	of := func(id string) *found {
		if out[id] == nil {
			out[id] = &found{words: map[record.Word]int{}}
		}
		return out[id]
	}
	read := func(r table.Row, v any) {
		if err := op.Decode(r.Data, v); err != nil {
			w.fail("%v: %v", r.Key, err)
		}
	}
	byDeal := map[string]map[record.Word]int{}
	for _, r := range all {
		kind, id, _ := strings.Cut(r.PK, "#")
		switch {
		case kind == "bench.DRIP" && r.SK == "ROOT":
			read(r, &of(id).Schedule)
		case kind == "bench.CLOCK" && strings.Contains(r.SK, "#"+drip.Timer+"#"):
			var f op.Fired
			read(r, &f)
			id, _ := drip.Names(f.Subject)
			of(id).timers = append(of(id).timers, r)
		case kind == "bench.PERSON" && strings.HasPrefix(r.SK, "DRIP#"):
			f := of(strings.TrimPrefix(r.SK, "DRIP#"))
			f.live = append(f.live, r)
		case kind == "bench.PERSON":
			var n deals.Notice
			if strings.HasPrefix(r.SK, wants.FeedPrefix) && json.Unmarshal(r.Data, &n) == nil && n.Day != nil {
				of(n.Day.ScheduleID).cards = append(of(n.Day.ScheduleID).cards, n)
			}
		case kind == "bench.AUDIT":
			var a audit.Row
			read(r, &a)
			if a.Action == "delivery.late" {
				var after struct {
					ID string `json:"schedule_id"`
					N  int    `json:"ordinal"`
				}
				b, _ := json.Marshal(a.After)
				_ = json.Unmarshal(b, &after)
				of(after.ID).late = append(of(after.ID).late, after.N)
			}
		case kind == "bench.LEDGER":
			var e record.Pending
			read(r, &e)
			if byDeal[e.Refs.DealID] == nil {
				byDeal[e.Refs.DealID] = map[record.Word]int{}
			}
			byDeal[e.Refs.DealID][e.Event]++
		case kind == "bench.FEED":
			var e record.Entry
			read(r, &e)
			if e.Type == string(record.ScheduleCompleted) {
				b, _ := json.Marshal(e.Data)
				for id := range out {
					if strings.Contains(string(b), id) {
						of(id).events++
					}
				}
				if len(out) == 0 {
					w.fail("the order of the table has changed")
				}
			}
		}
	}
	for _, f := range out {
		if words := byDeal[f.DealID]; words != nil {
			f.words = words
		}
	}
	return out
}

// check holds everything against what a timed delivery promises.
func (w *walk) check() {
	w.t.Helper()
	rows := w.rows()
	for _, p := range w.people {
		filed, approved, words := 0, 0, map[record.Word]int{}
		for id, f := range rows {
			if f.ID == "" {
				w.fail("rows of a timed delivery that is not there: %s", id)
			}
			if f.PersonID != p.personID {
				continue
			}
			filed++
			if words = f.words; !f.ApprovedAt.IsZero() {
				approved++
			}
			if f.Behind > 0 {
				w.handled["behind"]++
			}
			w.armed(f)
			w.days(p, f)
			w.told(f)
			p.seen[id] = f.Schedule
		}
		if words[record.ScheduleFiled] != filed || words[record.ScheduleApproved] != approved || approved > 1 {
			w.fail("%d filed, %d approved: %v", filed, approved, words)
		}
		w.shown(p)
	}
}

// armed: what is to come has exactly one clock, at or before it, and the person's list names
// what is live.
func (w *walk) armed(f *found) {
	w.t.Helper()
	_, next, runs := f.Next()
	if f.Behind > 0 {
		next, runs = w.Now(), true
	}
	if (len(f.live) == 1) != f.Live() || len(f.live) > 1 {
		w.fail("%s is %s and stands %d times in the person's list", f.ID, f.Status, len(f.live))
	}
	if (len(f.timers) == 1) != runs || len(f.timers) > 1 {
		w.fail("%s is %s (%d behind) with %d clocks: %+v", f.ID, f.Status, f.Behind, len(f.timers), f.Timer)
	}
	if !runs {
		if f.Timer.Set() {
			w.fail("%s is %s and remembers a clock: %+v", f.ID, f.Status, f.Timer)
		}
		return
	}
	r := f.timers[0]
	if key := clock.Key("bench", f.Timer.Kind, f.Timer.Subject, f.Timer.Due); r.Key != key || r.Version != f.Timer.Version || f.Timer.Due.After(next) {
		w.fail("%s is due at %v; its clock is %v of %s, it remembers %+v", f.ID, next, r.Key, r.Version, f.Timer)
	}
}

// days: one a local date, in order, never early, and what has landed stays.
func (w *walk) days(p *walker, f *found) {
	w.t.Helper()
	old := p.seen[f.ID]
	if len(f.Released) > len(f.Pieces) || (f.Status == drip.Completed) != (len(f.Released) == len(f.Pieces)) || len(f.Released) < len(old.Released) {
		w.fail("%s is %s with %d of %d days, had %d", f.ID, f.Status, len(f.Released), len(f.Pieces), len(old.Released))
	}
	if old.Status == drip.Paused && f.Status == drip.Delivering {
		p.resumed = w.Now()
	}
	for i, d := range f.Released {
		if i >= len(old.Released) && d.At.Before(p.resumed) {
			w.fail("%s: %+v fell due before %v, while it was paused", f.ID, d, p.resumed)
		}
		if i < len(old.Released) {
			if was := old.Released[i]; was.Release != d.Release || !was.ReleasedAt.Equal(d.ReleasedAt) {
				w.fail("%s: day %d was %+v and is %+v", f.ID, i+1, was, d)
			}
			continue
		}
		if i > 0 && (!d.Date.After(f.Released[i-1].Date) || d.At.Sub(f.Released[i-1].At) < morning.Apart) {
			w.fail("%s: %+v after %+v", f.ID, d, f.Released[i-1])
		}
		if d.At.After(d.ReleasedAt) || d.ReleasedAt.After(w.Now()) || !d.At.After(f.ApprovedAt) || d.Late != (d.ReleasedAt.Sub(d.At) > morning.Grace) {
			w.fail("%s: %+v", f.ID, d)
		}
		if !p.morningAt(d.Release) {
			w.fail("%s: %+v is no morning where the person was: %v", f.ID, d, p.zones)
		}
	}
}

// morningAt tells whether a release was at six or later of its date in a zone the person had
// in that moment.
func (p *walker) morningAt(r morning.Release) bool {
	for i, z := range p.zones {
		if z.at.After(r.At) || i+1 < len(p.zones) && p.zones[i+1].at.Before(r.At) {
			continue
		}
		if at, ok := morning.Morning(morning.Zone(z.name), r.Date); ok && at.Equal(r.At) {
			return true
		}
	}
	return false
}

// told: each landed day is once in the feed, in order, and once on the public record; the late
// ones are on ours.
func (w *walk) told(f *found) {
	w.t.Helper()
	n := len(f.Released) - f.Behind
	if f.ApprovedAt.IsZero() {
		f.words = map[record.Word]int{} // they are about another one of the deal
	}
	if len(f.cards) != n || f.words[record.DeliveryReleased] != n {
		w.fail("%s: %d days have landed; %d cards, record %v", f.ID, n, len(f.cards), f.words)
	}
	for i, c := range f.cards {
		if c.Day.Ordinal != i+1 || !c.At.Equal(f.Released[i].At) || c.Day.Late != f.Released[i].Late || c.Day.Date != f.Released[i].Date.String() {
			w.fail("%s: card %d is %+v of %+v", f.ID, i+1, *c.Day, f.Released[i])
		}
	}
	var late []int
	for i := range n {
		if f.Released[i].Late {
			late = append(late, i+1)
		}
	}
	slices.Sort(f.late)
	if !slices.Equal(late, f.late) {
		w.fail("%s: late are %v, on record %v", f.ID, late, f.late)
	}
	done := 0
	if f.Status == drip.Completed && f.Behind == 0 {
		done = 1
	}
	if f.words[record.ScheduleCompleted] != done || f.events != done {
		w.fail("%s is %s: completed %d times on record, %d times told", f.ID, f.Status, f.words[record.ScheduleCompleted], f.events)
	}
}

// shown: readers see what the rules say, whether a sweep was there or not.
func (w *walk) shown(p *walker) {
	w.t.Helper()
	s := p.Do(deals.Current, optest.Req{Token: p.agent, Path: p.at("")}).Want(200)
	id, n := s.Str("schedule.schedule_id"), int(s.Num("schedule.released_count"))
	if n < p.shown[id] {
		w.fail("%d days were shown as landed, now %d: %s", p.shown[id], n, s.Body)
	}
	p.shown[id] = n
	if p.closed {
		return
	}
	if r := p.daily(); id != "" && (r.Status != 200 || int(r.Num("released_count")) != n || r.Str("status") != s.Str("schedule.status")) {
		w.fail("the person reads %s, the agent %s", r.Body, s.Body)
	}
}

// letters: no day is announced twice, and a later one never before an earlier.
func (w *walk) letters() {
	w.t.Helper()
	seen := map[string]bool{}
	for _, m := range w.mails.texts {
		if seen[m.Key] {
			w.fail("a second text %s", m.Key)
		}
		seen[m.Key] = true
	}
}

func walkSeed(t *testing.T, seed uint64) map[string]int {
	w := newWalk(t, seed)
	for range 150 {
		w.step()
	}
	w.calm()
	for day := range drip.MaxPieces + 25 {
		w.Skip(aDay)
		if w.calm(); day%10 == 0 {
			w.check()
		}
	}
	w.check()
	w.letters()
	for _, f := range w.rows() {
		if f.Status == drip.Delivering || f.Status == drip.Filed && f.words[record.ScheduleApproved] > 0 {
			w.fail("after three quiet months a timed delivery is %s: %+v", f.Status, f.Schedule)
		}
		w.handled[f.Status]++
	}
	return w.handled
}

// seeds is how many lives one run of the test walks; -walks begins with another one:
//
//	go test ./pkg/bench/delivery -run KeepsItsPromises -walks 123
var walks = flag.Uint64("walks", 0, "the first seed of the random walks of timed deliveries")

const seeds = 6

func TestATimedDeliveryKeepsItsPromisesWhateverHappens(t *testing.T) {
	reached := map[string]int{}
	for seed := *walks; seed < *walks+seeds; seed++ {
		for k, n := range walkSeed(t, seed) {
			reached[k] += n
		}
	}
	t.Log(reached)
}
