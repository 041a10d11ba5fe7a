package deals

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/drip"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// KindSchedule is the outcome that hands a timed delivery over.
const KindSchedule = "schedule"

// ScheduleLine is a timed delivery in few words (bench.md 14).
type ScheduleLine struct {
	ScheduleID string       `json:"schedule_id"`
	Status     string       `json:"status"`
	Badge      *string      `json:"badge" doc:"What the card of the deal wears while pieces are still to come."`
	Pieces     int          `json:"pieces_count"`
	Released   int          `json:"released_count"`
	StartsOn   *string      `json:"starts_on"`
	NextOn     *string      `json:"next_on" doc:"Local date of the next piece, null while none is coming."`
	NextAt     *record.Time `json:"next_at" doc:"For the person alone: to the agent it is null, for it would tell the time zone."`
}

// DayCard is the card of a released day: it credits the agent by name and links its Passport
// (bench.md 14). One with a video plays it.
type DayCard struct {
	ScheduleID string  `json:"schedule_id"`
	Ordinal    int     `json:"ordinal"`
	Of         int     `json:"of"`
	Title      string  `json:"title"`
	Date       string  `json:"date"`
	AgentNo    string  `json:"agent_registry_no"`
	Handle     string  `json:"agent_handle"`
	Passport   string  `json:"passport_url"`
	Video      *string `json:"youtube_id"`
	Late       bool    `json:"late"`
}

// CardOf is the card of a released day, counted from 1.
func CardOf(s *drip.Schedule, ordinal int) DayCard {
	h, d, no := s.Pieces[ordinal-1], s.Released[ordinal-1], registry.Number(s.AgentNo)
	return DayCard{ScheduleID: s.ID, Ordinal: ordinal, Of: len(s.Pieces), Title: h.Title, Date: d.Date.String(), AgentNo: no, Handle: s.Handle,
		Passport: "/api/bench/agents/" + no, Video: Given(h.Video), Late: d.Late}
}

// CardNo is the agent's number as it is printed.
func CardNo(s *drip.Schedule) string { return registry.Number(s.AgentNo) }

// Badge is what the card of a deal wears while its timed delivery goes on.
const Badge = "Delivering - time-based schedule"

// LineOf words a timed delivery that was settled before.
func LineOf(s *drip.Schedule) *ScheduleLine {
	out := &ScheduleLine{ScheduleID: s.ID, Status: s.Status, Pieces: len(s.Pieces), Released: len(s.Released)}
	if !s.StartsOn.IsZero() {
		out.StartsOn = Given(s.StartsOn.String())
	}
	if d, at, ok := s.Next(); ok {
		out.NextOn, out.NextAt = Given(d.String()), record.At(at)
	}
	if s.Live() {
		out.Badge = Given(Badge)
	}
	return out
}

// Packaged is the id of the timed delivery the deal was handed over as, "" when it was not.
func Packaged(d *path.Deal) string {
	for _, s := range d.Steps {
		if s.Schedule != "" {
			return s.Schedule
		}
	}
	return ""
}

// scheduleRows are the rows by which a deal's timed delivery is read; none when it has none.
func scheduleRows(d *path.Deal) []table.Key {
	of := Packaged(d)
	if of == "" {
		return nil
	}
	return []table.Key{drip.Key(of), account.PersonKey(d.PersonID)}
}

// Schedule reads the timed delivery of a deal as it is now; nil when there is none. What is
// due by now shows as released, whether a sweep was there or not. more are rows to read along.
func Schedule(c *op.Call, d *path.Deal, more ...table.Key) (*drip.Schedule, error) {
	of := Packaged(d)
	if of == "" {
		return nil, nil
	}
	if err := c.Fetch(append(scheduleRows(d), more...)...); err != nil {
		return nil, err
	}
	s, found, err := drip.Load(c, of)
	if err != nil || !found {
		return nil, err
	}
	p, _, err := op.Load[account.Person](c, account.PersonKey(d.PersonID))
	if err != nil {
		return nil, err
	}
	if s.Status == drip.Filed && d.Status == path.Ended {
		overtaken(d, &s, &p)
	}
	if s.Status == drip.Filed {
		s.Zone = p.Timezone // the one to come, for showing
	}
	Settle(&s, &p, c.Now)
	return &s, nil
}

// Settle makes true of a timed delivery what fell due up to now for its person. For who
// closed the account nothing falls due any more.
func Settle(s *drip.Schedule, p *account.Person, now time.Time) {
	if p.ClosedAt.IsZero() {
		s.Settle(now, p.Stays())
		return
	}
	s.Settle(p.ClosedAt, p.Stays())
	if s.Live() {
		_ = s.Stop(p.ClosedAt) // refused only for what is not live
	}
}

// overtaken makes true of a filed timed delivery what the end of its deal means, before it is
// written: it was approved, if only by silence that no sweep has seen yet, or it is void.
func overtaken(d *path.Deal, s *drip.Schedule, p *account.Person) {
	for _, step := range d.Steps {
		if step.Schedule == s.ID && step.State == path.Approved {
			s.Approve(step.ApprovedAt, p.Stays(), nil, step.Cause == path.ByStale)
			return
		}
	}
	s.Status = drip.Voided
}

// Settled stages what fell due on a deal that was loaded and that nobody has written yet.
func Settled(c *op.Call, d *path.Deal) error {
	if !d.Pending() {
		return nil
	}
	return Commit(c, d, nil)
}

// scheduleLine is the timed delivery of a deal for an answer, nil when there is none.
func scheduleLine(c *op.Call, d *path.Deal) (*ScheduleLine, error) {
	s, err := Schedule(c, d)
	if err != nil || s == nil {
		return nil, err
	}
	return LineOf(s), nil
}

// scheduled follows what happens to a timed delivery on the Path: its approval starts it, a
// request for changes makes it void.
func (x *change) scheduled(e *path.Event) error {
	if err := x.c.Fetch(drip.Key(e.Schedule), account.PersonKey(x.d.PersonID)); err != nil {
		return err
	}
	s, found, err := drip.Load(x.c, e.Schedule)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("deals: the timed delivery %s of deal %s is missing", e.Schedule, x.d.ID)
	}
	if e.Word == record.AskChangesRequested {
		s.Status = drip.Voided
		s.Save(x.c)
		return nil
	}
	p, err := x.thePerson()
	if err != nil {
		return err
	}
	s.Approve(e.At, p.Stays(), x.channels, e.Cause == path.ByStale)
	x.c.Create(drip.LiveKey(s.PersonID, s.ID), struct{}{})
	s.Listed = x.c.CommitID()
	s.Save(x.c)
	return nil
}

// asks tells whether an outcome is the timed delivery that waits for the person's answer.
func (v *view) asks(o *Outcome) bool {
	return o.Schedule != "" && v.s.State == path.Waiting && o.Schedule == v.s.Schedule
}

// pieces are the rows of the timed delivery it hands over.
func (o *Outcome) pieces() []table.Key {
	keys := make([]table.Key, o.Pieces)
	for i := range keys {
		keys[i] = drip.PieceKey(o.Schedule, i+1)
	}
	return keys
}

// packageDocument is a timed delivery as one document: a divider before each day.
func packageDocument(c *op.Call, deal *path.Deal, o *Outcome) (*Document, error) {
	out := &Document{Blocks: []Block{}}
	for n := 1; n <= o.Pieces; n++ {
		p, found, err := drip.LoadPiece(c, o.Schedule, n)
		if err == nil && !found {
			err = fmt.Errorf("deals: piece %d of %s is missing", n, o.Schedule)
		}
		if err != nil {
			return nil, err
		}
		out.Blocks = append(out.Blocks, Block{Type: "day", Ordinal: n, Title: p.Title})
		var d Document
		if err := json.Unmarshal(p.Document, &d); err != nil {
			return nil, err
		}
		if title := strings.TrimSpace(d.Title); title != "" {
			out.Blocks = append(out.Blocks, Block{Type: "heading", Text: title})
		}
		out.Blocks = append(out.Blocks, d.Blocks...)
	}
	out.ShowImages(deal.ID)
	return out, nil
}
