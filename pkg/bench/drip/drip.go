// Package drip is a timed delivery: pieces that were approved as a whole and reach the person
// one local morning at a time (bench.md 14). It decides purely; the calendar is package
// morning. It imports no other package of the bench.
//
// Rows:
//
//	bench.DRIP#<schedule id> / ROOT                        a timed delivery: its titles, its state, what was released
//	bench.DRIP#<schedule id> / PIECE#<nn>                  a piece, sealed when it was filed
//	bench.DRIP#<schedule id> / FAULT#<time>#<id>           a fault of the platform that stewards recorded
//	bench.PERSON#<person id> / DRIP#<schedule id>          a timed delivery that a person still receives
package drip

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/clock"
	"guildhall/pkg/clock/morning"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Limits of a timed delivery (bench.md 14).
const (
	MaxPieces = 60
	MaxAhead  = 365 // days from the filing to the first piece
	MaxLive   = 20  // timed deliveries of a person that one look times anew or stops
	MaxAtOnce = 20  // released pieces that one commit tells of, after a long outage
)

// States of a timed delivery.
const (
	Filed      = "filed"      // waits for the person's answer
	Delivering = "delivering" // a piece each morning
	Paused     = "paused"     // by the person
	Stopped    = "stopped"    // by the person, for good
	Completed  = "completed"  // the last piece has landed
	Voided     = "voided"     // the person asked for changes: the agent files another
)

// Channels a released piece can be announced on, beside the feed.
const (
	Email = "email"
	Text  = "text"
)

// Channels lists them.
var Channels = []string{Email, Text}

// Timer is the kind of the clock that releases the next piece. Its subject names the timed
// delivery and its person, so that a sweep reads the rows of many in one batch.
const Timer = "drip.release"

// Piece is a stored piece.
type Piece struct {
	Title    string          `json:"title"`
	Document json.RawMessage `json:"document"`
}

// Heading is what is known of a piece without reading it.
type Heading struct {
	Title string `json:"title"`
	Video string `json:"video,omitempty"` // the YouTube id of its first video
}

// Day is a released piece: its local date, when it fell due and when it was released.
type Day struct {
	morning.Release
	ReleasedAt time.Time `json:"released_at"`
	Late       bool      `json:"late,omitempty"`
	SharedAt   time.Time `json:"shared_at,omitzero"`
	SharedIn   string    `json:"shared_in,omitempty"` // the House as it was named then
}

// Schedule is a stored timed delivery.
type Schedule struct {
	ID       string `json:"id"`
	DealID   string `json:"deal_id"`
	TargetID string `json:"target_id"`
	AgentID  string `json:"agent_id"`
	PersonID string `json:"person_id"`
	Receipt  string `json:"receipt_id"`
	Handle   string `json:"handle"`
	AgentNo  int    `json:"agent_no"`
	Practice bool   `json:"practice,omitempty"`

	Pieces   []Heading    `json:"pieces"`
	StartsOn morning.Date `json:"starts_on,omitzero"`
	Status   string       `json:"status"`
	Stale    bool         `json:"stale,omitempty"` // approved by silence
	Channels []string     `json:"channels,omitempty"`

	FiledAt    time.Time `json:"filed_at"`
	ApprovedAt time.Time `json:"approved_at,omitzero"`
	EndedAt    time.Time `json:"ended_at,omitzero"`

	// Zone is the zone the mornings are those of, and Stay its number among the person's; From
	// is the first date that may have a morning, NotBefore the moment of the approval, the
	// resumption or the change of zone.
	Zone      string       `json:"zone,omitempty"`
	Stay      int          `json:"stay,omitempty"`
	From      morning.Date `json:"from,omitzero"`
	NotBefore time.Time    `json:"not_before,omitzero"`
	Released  []Day        `json:"released,omitempty"`
	// Behind is how many of the released days have not come into the person's feed yet: after
	// a long outage more are released than one commit can tell of.
	Behind int `json:"behind,omitempty"`

	Timer clock.Timer `json:"timer,omitzero"`
	// Listed is the commit that wrote its row in the person's list, "" when it stands in none.
	Listed string `json:"listed,omitempty"`
}

// Refusals of the person's calls.
var (
	NotDelivering = fault.New(fault.Conflict, "schedule_not_delivering", "Nothing is being delivered day by day here.")
	NotPaused     = fault.New(fault.Conflict, "schedule_not_paused", "This delivery is not paused.")
	NoHouse       = fault.New(fault.Invalid, "no_house", "You belong to no House yet: name yours in your profile first.").FixedBy("PATCH /api/person/me")
	NotReleased   = fault.New(fault.Conflict, "not_released", "This day has not been released yet.")
)

// Live tells whether pieces are still to come.
func (s *Schedule) Live() bool { return s.Status == Delivering || s.Status == Paused }

// Approve starts the delivery: day 1 falls on the later of starts_on and the local date after
// the approval, where the person was then.
func (s *Schedule) Approve(at time.Time, stays []account.Stay, channels []string, stale bool) {
	s.Status, s.ApprovedAt, s.NotBefore, s.Stale, s.Channels = Delivering, at, at, stale, channels
	for i, stay := range stays {
		if i == 0 || !stay.Since.After(at) {
			s.Zone, s.Stay = stay.Zone, stay.Number
		}
	}
	s.From = morning.Tomorrow(morning.Zone(s.Zone), at)
	if s.StartsOn.After(s.From) {
		s.From = s.StartsOn
	}
}

// Settle releases what has fallen due up to now, oldest first, and returns the ordinals, from
// 1. stays are the person's zones, oldest first: what fell due in one is due by it, what comes
// later by the next. Reads and sweeps call it alike, so that a late sweep shows nothing wrong.
func (s *Schedule) Settle(now time.Time, stays []account.Stay) (released []int) {
	from := len(s.Released)
	for _, stay := range stays {
		if stay.Number > s.Stay && !s.ApprovedAt.IsZero() {
			s.move(stay, now)
		}
	}
	s.upTo(now, now)
	for n := from; n < len(s.Released); n++ {
		released = append(released, n+1)
	}
	return released
}

// move releases what fell due before a change of zone, and goes on in the new one.
func (s *Schedule) move(to account.Stay, now time.Time) {
	at := to.Since
	if at.After(now) {
		at = now
	}
	s.upTo(at, now)
	s.Zone, s.Stay = to.Zone, to.Number
	if s.NotBefore.Before(at) {
		s.NotBefore = at
	}
}

// Tell takes the released days that come into the person's feed next, oldest first, at most
// MaxAtOnce: a commit has a size. While any are left, the timer goes off at once.
func (s *Schedule) Tell() (ordinals []int) {
	for s.Behind > 0 && len(ordinals) < MaxAtOnce {
		ordinals = append(ordinals, len(s.Released)-s.Behind+1)
		s.Behind--
	}
	return ordinals
}

// Together is how many days were released at once with the newest one.
func (s *Schedule) Together() (n int) {
	for i := len(s.Released) - 1; i >= 0 && s.Released[i].ReleasedAt.Equal(s.Released[len(s.Released)-1].ReleasedAt); i-- {
		n++
	}
	return n
}

// upTo releases what fell due until a moment.
func (s *Schedule) upTo(until, now time.Time) {
	if s.Status != Delivering {
		return
	}
	n := len(s.Pieces) - len(s.Released)
	for _, r := range morning.Due(morning.Zone(s.Zone), s.last(), s.NotBefore, s.From, until, n) {
		s.Released = append(s.Released, Day{Release: r, ReleasedAt: now, Late: morning.Late(r.At, now)})
		s.Behind++
	}
	if len(s.Released) == len(s.Pieces) {
		s.Status, s.EndedAt = Completed, s.last().At
	}
}

func (s *Schedule) last() *morning.Release {
	if len(s.Released) == 0 {
		return nil
	}
	return &s.Released[len(s.Released)-1].Release
}

// Next is when the next piece falls due; ok is false while none will.
func (s *Schedule) Next() (d morning.Date, at time.Time, ok bool) {
	if s.Status != Delivering {
		return d, at, false
	}
	d, at = morning.Next(morning.Zone(s.Zone), s.last(), s.NotBefore, s.From)
	return d, at, true
}

// Plan is the date each piece is to land on as things stand, released ones included; those of
// a paused delivery are unknown.
func (s *Schedule) Plan() []morning.Date {
	out := make([]morning.Date, len(s.Pieces))
	for i, d := range s.Released {
		out[i] = d.Date
	}
	last := s.last()
	for i := len(s.Released); i < len(s.Pieces) && s.Status == Delivering; i++ {
		d, at := morning.Next(morning.Zone(s.Zone), last, s.NotBefore, s.From)
		out[i], last = d, &morning.Release{Date: d, At: at}
	}
	return out
}

// Pause holds the pieces back. A paused delivery stays paused.
func (s *Schedule) Pause() error {
	if !s.Live() {
		return NotDelivering
	}
	s.Status = Paused
	return nil
}

// Resume goes on: the next piece waits for the first morning after now.
func (s *Schedule) Resume(now time.Time) error {
	switch s.Status {
	case Delivering:
		return nil
	case Paused:
		s.Status, s.NotBefore = Delivering, now
		return nil
	}
	return NotPaused
}

// Stop ends the delivery; what was not released never is.
func (s *Schedule) Stop(now time.Time) error {
	switch {
	case s.Status == Stopped:
		return nil
	case !s.Live():
		return NotDelivering
	}
	s.Status, s.EndedAt = Stopped, now
	return nil
}

// Announce sets the channels of the pieces to come.
func (s *Schedule) Announce(channels []string) error {
	if !s.Live() {
		return NotDelivering
	}
	s.Channels = channels
	return nil
}

// Share marks a released day as shared into a House; first is false when it was before, into
// that one or another. Without a House ("") only a day that was shared before is shared.
func (s *Schedule) Share(ordinal int, house string, now time.Time) (first bool, err error) {
	switch {
	case ordinal < 1 || ordinal > len(s.Pieces):
		return false, fault.BareNotFound
	case ordinal > len(s.Released):
		return false, NotReleased
	}
	d := &s.Released[ordinal-1]
	switch {
	case !d.SharedAt.IsZero():
		return false, nil
	case house == "":
		return false, NoHouse
	}
	d.SharedAt, d.SharedIn = now, house
	return true, nil
}

// On tells whether pieces are announced on a channel.
func (s *Schedule) On(channel string) bool { return slices.Contains(s.Channels, channel) }

// Key is the row of a timed delivery.
func Key(schedule string) table.Key { return table.Key{PK: "bench.DRIP#" + schedule, SK: "ROOT"} }

// PieceKey is the row of a piece; ordinals count from 1.
func PieceKey(schedule string, ordinal int) table.Key {
	return table.Key{PK: Key(schedule).PK, SK: fmt.Sprintf("PIECE#%02d", ordinal)}
}

// LiveKey is the row that says that a person still receives a timed delivery.
func LiveKey(person, schedule string) table.Key {
	return table.Key{PK: "bench.PERSON#" + person, SK: "DRIP#" + schedule}
}

// Load reads a timed delivery.
func Load(c *op.Call, schedule string) (s Schedule, found bool, err error) {
	if !id.Valid(schedule) {
		return s, false, nil
	}
	return op.Load[Schedule](c, Key(schedule))
}

// LiveOf reads which timed deliveries a person still receives, at most MaxLive behind one of
// them ("" for the first); more tells that others follow.
func LiveOf(c *op.Call, person, after string) (ids []string, more bool, err error) {
	q := table.Query{PK: LiveKey(person, "").PK, Limit: MaxLive}.Prefix("DRIP#")
	if after != "" {
		q.After = LiveKey(person, after).SK
	}
	p, err := c.Query(q)
	if err != nil {
		return nil, false, err
	}
	for _, r := range p.Rows {
		ids = append(ids, strings.TrimPrefix(r.SK, "DRIP#"))
	}
	return ids, p.More, nil
}

// LoadPiece reads a piece.
func LoadPiece(c *op.Call, schedule string, ordinal int) (p Piece, found bool, err error) {
	return op.Load[Piece](c, PieceKey(schedule, ordinal))
}

// Create stages a filed timed delivery with its pieces.
func (s *Schedule) Create(c *op.Call, pieces []Piece) {
	c.Create(Key(s.ID), s)
	for i, p := range pieces {
		c.Create(PieceKey(s.ID, i+1), p)
	}
}

// Save stages a changed timed delivery that was loaded by this call, with its one timer: at
// the next piece, at once while the feed is behind, or gone.
func (s *Schedule) Save(c *op.Call) {
	_, at, ok := s.Next()
	if s.Behind > 0 {
		at, ok = c.Now, true
	}
	if t := s.Timer; !ok || !t.Set() || !t.Due.Equal(clock.Cut(at)) {
		c.Disarm(t)
		s.Timer = clock.Timer{}
		if ok {
			s.Timer = c.Arm(Timer, Subject(s.ID, s.PersonID), at)
		}
	}
	c.Put(Key(s.ID), s)
}

// Wake stages a look at a timed delivery at once. Its row is written even where no look is
// needed, since nothing is to come or its clock goes off by itself: whoever decides about it at
// this moment may have read what is out of date by now, and has to decide again.
func (s *Schedule) Wake(c *op.Call) {
	if _, _, ok := s.Next(); ok && (!s.Timer.Set() || s.Timer.Due.After(c.Now)) {
		c.Disarm(s.Timer)
		s.Timer = c.Arm(Timer, Subject(s.ID, s.PersonID), c.Now)
	}
	c.Put(Key(s.ID), s)
}

// Subject is the subject of a timed delivery's clock.
func Subject(schedule, person string) string { return schedule + "." + person }

// Names takes a subject apart.
func Names(subject string) (schedule, person string) {
	schedule, person, _ = strings.Cut(subject, ".")
	return schedule, person
}
