package delivery

import (
	"cmp"
	"encoding/json"
	"strconv"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/drip"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// DayLine is a day of a timed delivery in its list.
type DayLine struct {
	Ordinal    int          `json:"ordinal"`
	Title      string       `json:"title"`
	Date       *string      `json:"date" doc:"Local date it landed or is to land on; null while that is open."`
	Released   bool         `json:"released"`
	ReleasedAt *record.Time `json:"released_at"`
	Late       bool         `json:"late"`
	SharedAt   *record.Time `json:"shared_at"`
	Video      *string      `json:"youtube_id"`
}

// DailyOut is a timed delivery as its person sees it.
type DailyOut struct {
	deals.ScheduleLine
	DealID      string       `json:"deal_id"`
	Handle      string       `json:"agent_handle"`
	AgentNo     string       `json:"agent_registry_no"`
	Timezone    string       `json:"timezone" doc:"The zone its mornings are those of."`
	Channels    []string     `json:"channels"`
	TextOffered bool         `json:"text_offered" doc:"Whether text messages leave this exchange."`
	FiledAt     record.Time  `json:"filed_at"`
	ApprovedAt  *record.Time `json:"approved_at"`
	EndedAt     *record.Time `json:"ended_at"`
	Stale       bool         `json:"stale"`
	Days        []DayLine    `json:"days"`
	Controls    []string     `json:"controls" doc:"What can be done now: channels, pause, resume, stop."`
}

// OfDaily is the path of a call on the timed delivery of a deal.
type OfDaily struct{ deals.OfDeal }

// Rows implements op.Prefetcher.
func (in OfDaily) Rows(string) []table.Key { return in.OfDeal.Rows("") }

// load reads the caller's deal and its timed delivery, settled; a deal without one is the
// bare 404. An ordinal, where there is one, names a day that is read along.
func load(c *op.Call, deal string, ordinal int) (d *path.Deal, s *drip.Schedule, err error) {
	if d, err = deals.Seen(c, deal); err != nil {
		return nil, nil, err
	}
	var more []table.Key
	if of := deals.Packaged(d); of != "" && ordinal > 0 {
		more = append(more, drip.PieceKey(of, ordinal))
	}
	if s, err = deals.Schedule(c, d, more...); err == nil && s == nil {
		err = fault.BareNotFound
	}
	return d, s, err
}

func meta(verb, summary string, more ...string) op.Meta {
	return op.Meta{ID: "person.schedule." + verb, Method: "POST", Path: "/api/person/deals/{deal_id}/schedule/" + verb, Auth: op.Person,
		Idempotent: op.KeyRequired, Limit: &wants.PersonWrites, Summary: summary, Faults: more, Contract: "surface.md 3, bench.md 14"}
}

// ReadDaily shows a timed delivery to its person (surface.md 3).
var ReadDaily = op.Declare(op.Meta{
	ID: "person.schedule.read", Method: "GET", Path: "/api/person/deals/{deal_id}/schedule", Auth: op.Person,
	Summary: "Read what is being delivered day by day.", Contract: "surface.md 3, bench.md 14",
}, readDaily)

func readDaily(c *op.Call, in OfDaily) (DailyOut, error) {
	d, s, err := load(c, in.DealID, 0)
	if err != nil {
		return DailyOut{}, err
	}
	return view(c, d, s), nil
}

func view(c *op.Call, d *path.Deal, s *drip.Schedule) DailyOut {
	out := DailyOut{ScheduleLine: *deals.LineOf(s), DealID: d.ID, Handle: s.Handle, AgentNo: deals.CardNo(s), Timezone: cmp.Or(s.Zone, "UTC"), Channels: chosen(s.Channels),
		TextOffered: c.Texts, FiledAt: record.Time(s.FiledAt), ApprovedAt: record.At(s.ApprovedAt), EndedAt: record.At(s.EndedAt), Stale: s.Stale,
		Days: []DayLine{}, Controls: []string{}}
	dates := s.Plan()
	for i, h := range s.Pieces {
		l := DayLine{Ordinal: i + 1, Title: h.Title, Video: deals.Given(h.Video)}
		if !dates[i].IsZero() {
			l.Date = deals.Given(dates[i].String())
		}
		if i < len(s.Released) {
			r := s.Released[i]
			l.Released, l.ReleasedAt, l.Late, l.SharedAt = true, record.At(r.ReleasedAt), r.Late, record.At(r.SharedAt)
		}
		out.Days = append(out.Days, l)
	}
	switch s.Status {
	case drip.Delivering:
		out.Controls = []string{"channels", "pause", "stop"}
	case drip.Paused:
		out.Controls = []string{"channels", "resume", "stop"}
	}
	return out
}

// change settles a timed delivery, does something to it and stages what follows.
func change(c *op.Call, in OfDaily, do func(*drip.Schedule) error) (DailyOut, error) {
	d, err := deals.Seen(c, in.DealID)
	if err != nil {
		return DailyOut{}, err
	}
	ended := d.Pending() // unseen so far: a commit that ends a deal has room for little else
	if err := deals.Settled(c, d); err != nil {
		return DailyOut{}, err
	}
	of := deals.Packaged(d)
	if of == "" {
		return DailyOut{}, fault.BareNotFound
	}
	if err := c.Fetch(drip.Key(of)); err != nil {
		return DailyOut{}, err
	}
	s, found, err := drip.Load(c, of)
	if err != nil {
		return DailyOut{}, err
	}
	if !found {
		return DailyOut{}, fault.BareNotFound
	}
	p, _, err := op.Load[account.Person](c, account.PersonKey(d.PersonID))
	if err != nil {
		return DailyOut{}, err
	}
	if ended {
		deals.Settle(&s, &p, c.Now)
	} else if err := fallen(c, &s, &p); err != nil {
		return DailyOut{}, err
	}
	if err := do(&s); err != nil {
		return DailyOut{}, err
	}
	saved(c, &s)
	return view(c, d, &s), nil
}

// Pause holds the days back until they are resumed.
var Pause = op.Declare(meta("pause", "Hold the coming days back.", "schedule_not_delivering"), pause)

func pause(c *op.Call, in OfDaily) (DailyOut, error) {
	return change(c, in, (*drip.Schedule).Pause)
}

// Resume goes on with the first morning from now.
var Resume = op.Declare(meta("resume", "Go on with the next morning.", "schedule_not_paused"), resume)

func resume(c *op.Call, in OfDaily) (DailyOut, error) {
	return change(c, in, func(s *drip.Schedule) error { return s.Resume(c.Now) })
}

// Stop ends the delivery for good; what landed stays readable.
var Stop = op.Declare(meta("stop", "End the delivery; days that have not landed never will.", "schedule_not_delivering"), stop)

func stop(c *op.Call, in OfDaily) (DailyOut, error) {
	return change(c, in, func(s *drip.Schedule) error { return s.Stop(c.Now) })
}

// ChannelsIn chooses where the coming days are announced.
type ChannelsIn struct {
	OfDaily
	Channels []string `json:"channels" rule:"required,max=2" doc:"email, text, both or none; your feed always has the day."`
}

// Validate implements op.Validator.
func (in ChannelsIn) Validate() error { return deals.CheckChannels(in.Channels) }

// SetChannels chooses where the coming days are announced.
var SetChannels = op.Declare(meta("channels", "Choose where the coming days are announced.", "schedule_not_delivering", "phone_required"), setChannels)

func setChannels(c *op.Call, in ChannelsIn) (DailyOut, error) {
	if err := deals.Reachable(c, c.Caller.ID, in.Channels); err != nil {
		return DailyOut{}, err
	}
	return change(c, in.OfDaily, func(s *drip.Schedule) error { return s.Announce(chosen(in.Channels)) })
}

// OfDay is the path of a call on one day.
type OfDay struct {
	OfDaily
	Ordinal string `path:"ordinal" doc:"Number of the day, from 1."`
}

// number is the day's ordinal, 0 for what is no number of a day.
func (in OfDay) number() int {
	n, err := strconv.Atoi(in.Ordinal)
	if err != nil || strconv.Itoa(n) != in.Ordinal || n < 1 || n > drip.MaxPieces {
		return 0
	}
	return n
}

// DayOut is a day with its document.
type DayOut struct {
	DealID   string          `json:"deal_id"`
	Card     *deals.DayCard  `json:"card" doc:"null while the day has not landed."`
	Ordinal  int             `json:"ordinal"`
	Title    string          `json:"title"`
	Document *deals.Document `json:"document"`
}

// ReadDay shows a day that has landed; before the approval, any day, for it is what the
// person approves.
var ReadDay = op.Declare(op.Meta{
	ID: "person.schedule.read-day", Method: "GET", Path: "/api/person/deals/{deal_id}/schedule/days/{ordinal}", Auth: op.Person,
	Summary: "Read one day.", Faults: []string{"not_released"}, Contract: "bench.md 14",
}, readDay)

func readDay(c *op.Call, in OfDay) (DayOut, error) {
	n := in.number()
	d, s, err := load(c, in.DealID, n)
	if err != nil {
		return DayOut{}, err
	}
	switch {
	case n < 1 || n > len(s.Pieces):
		return DayOut{}, fault.BareNotFound
	case n > len(s.Released) && s.Status != drip.Filed:
		return DayOut{}, drip.NotReleased
	}
	p, found, err := drip.LoadPiece(c, s.ID, n)
	if err != nil || !found {
		return DayOut{}, err
	}
	out := DayOut{DealID: d.ID, Ordinal: n, Title: p.Title}
	if n <= len(s.Released) {
		card := deals.CardOf(s, n)
		out.Card = &card
	}
	if err := json.Unmarshal(p.Document, &out.Document); err != nil {
		return DayOut{}, err
	}
	out.Document.ShowImages(d.ID)
	return out, nil
}
