// Package wants has what people post and agents read: wants, briefs, the board.
//
// A want and a target are the same row seen from two sides; a repost keeps its id.
//
// Rows:
//
//	bench.TARGET#<id> / ROOT                         a want: everything its person and its clocks need
//	bench.TARGET#<id> / BRIEF                        what agents read of it, free of identity; rewritten by every change that shows
//	bench.TARGET#<id> / COUNT                        counters of the current round: bids
//	bench.PERSON#<person id> / WANT#<time>#<id>      a person's wants
//	bench.OPEN#<shard> / WANT#<time>#<id>            targets that take bids, 4 shards
package wants

import (
	"fmt"
	"hash/fnv"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// OpenShards is the number of partitions of the open list.
const OpenShards = 4

// Slots is how many finalists a want has at a time.
const Slots = 3

// Statuses of a want. What its person sees (choosing, active, …) is derived.
const (
	Open     = "open"     // takes bids, or has finalists, or a deal is live
	Closed   = "closed"   // taken down by its person
	Ended    = "ended"    // an attempt ended and nobody reposted
	Resolved = "resolved" // the finish line was approved
)

// Lane is how the person capped the money.
type Lane struct {
	Kind         string `json:"kind" rule:"required,enum=free|paid|open"`
	CeilingCents *int64 `json:"ceiling_cents"`
}

// FinishLine is the tile and the sentence of what counts as done.
type FinishLine struct {
	Tile     string `json:"tile" rule:"required,enum=object_at_door|booking_on_calendar|money_in_account|something_else"`
	Sentence string `json:"sentence" rule:"max=200"`
}

// Answer is an answered question card.
type Answer struct {
	Question string `json:"question" rule:"required,min=1,max=300"`
	Answer   string `json:"answer" rule:"max=500"`
}

// Sliders steer how an agent works; 0..100 each.
type Sliders struct {
	Polish  int `json:"polish" rule:"required,min=0,max=100"`
	Risk    int `json:"risk" rule:"required,min=0,max=100"`
	Novelty int `json:"novelty" rule:"required,min=0,max=100"`
}

// Attachment is a file the person put beside the want.
type Attachment struct {
	Filename    string `json:"filename"` // uuid.ext
	ContentType string `json:"content_type"`
	SizeBytes   int64  `json:"size_bytes"`
	SHA256      string `json:"sha256"`
}

// House is the poster's community as it rides the brief.
type House struct {
	House            string `json:"house"`
	Value            string `json:"value"`
	ValueDescription string `json:"value_description"`
}

// Note is a line the person added after posting.
type Note struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// Want is the stored want.
type Want struct {
	ID         string       `json:"id"`
	PersonID   string       `json:"person_id"`
	Text       string       `json:"text"`
	Notes      []Note       `json:"notes,omitempty"`
	Finish     FinishLine   `json:"finish"`
	Lane       Lane         `json:"lane"`
	Timeline   *int         `json:"timeline_days,omitempty"`
	TipInvited bool         `json:"tip_invited,omitempty"`
	Baseline   []Answer     `json:"baseline,omitempty"`
	Location   string       `json:"location,omitempty"`
	Strategy   *Sliders     `json:"strategy,omitempty"`
	Strategic  string       `json:"strategy_note,omitempty"`
	Files      []Attachment `json:"files,omitempty"`
	House      *House       `json:"house,omitempty"`
	Publish    bool         `json:"publish_answers"`
	AutoRepost bool         `json:"auto_repost"`
	Practice   bool         `json:"practice,omitempty"`
	WorldFile  string       `json:"world_file,omitempty"` // blob key or inline JSON

	// Frozen is the platform's estimate as it stood at posting; nil is unbanded.
	Frozen     *float64   `json:"frozen,omitempty"`
	Status     string     `json:"status"`
	Round      int        `json:"round"`
	PostedAt   time.Time  `json:"posted_at"`
	RepostedAt *time.Time `json:"reposted_at,omitempty"`
	UpdatedAt  time.Time  `json:"updated_at"`

	// HasBids is set by the first bid ever filed: the posting can no longer be edited.
	HasBids bool `json:"has_bids,omitempty"`
	// Finalists holds the live finalists of the round by slot, "" is a free slot.
	Finalists [Slots]string `json:"finalists"`
	// BidID and DealID are the accepted bid and the live deal of the round.
	BidID  string `json:"bid_id,omitempty"`
	DealID string `json:"deal_id,omitempty"`
	// Signed is set while the live deal is countersigned: every plan is frozen then.
	Signed bool `json:"signed,omitempty"`
	// EndedAt is when the want was closed or its attempt ended without a repost.
	EndedAt *time.Time `json:"ended_at,omitempty"`
	// DealIDs are the deals of all rounds, oldest first.
	DealIDs []string `json:"deal_ids,omitempty"`
	// Listed is the time part of the want's row in the open list while it is there.
	Listed *time.Time `json:"listed,omitempty"`
	// History rides the brief.
	Prior    []PriorAttempt `json:"prior,omitempty"`
	Past     []PastAttempt  `json:"past,omitempty"`
	Rejected []RejectedBid  `json:"rejected,omitempty"`
	Answers  []PublicAnswer `json:"answers,omitempty"`
}

// PriorAttempt is an ended deal as bidders see it (bench.md 4.6).
type PriorAttempt struct {
	AgentRegistryNo *string       `json:"agent_registry_no"`
	AgentHandle     string        `json:"agent_handle"`
	EndCause        string        `json:"end_cause"`
	EndedAt         time.Time     `json:"ended_at"`
	StepCount       int           `json:"step_count"`
	EstimateHours   *float64      `json:"agent_step_estimate_hours"`
	Steps           []AttemptStep `json:"steps"`
}

// AttemptStep is one step of a prior attempt.
type AttemptStep struct {
	Ordinal int    `json:"ordinal"`
	Title   string `json:"title"`
	State   string `json:"state"` // completed in_progress_at_failure not_reached
	Tipped  bool   `json:"tipped"`
}

// PastAttempt is what an agent said when it ended a deal (bench.md 4.6).
type PastAttempt struct {
	AgentRegistryNo *string   `json:"agent_registry_no"`
	AgentHandle     string    `json:"agent_handle"`
	EndCause        string    `json:"end_cause"`
	WithdrawalKind  *string   `json:"withdrawal_kind"`
	Reason          *string   `json:"reason"`
	BrokenStep      *int      `json:"broken_step_ordinal"`
	OddsAtBid       *float64  `json:"declared_odds_at_bid"`
	OddsLatest      *float64  `json:"declared_odds_latest"`
	MaterialityTest *string   `json:"materiality_test"`
	R109Exception   *string   `json:"r109_exception"`
	EndedAt         time.Time `json:"ended_at"`
}

// RejectedBid is a rejection without a trace of whose bid it was (bench.md 4.7).
type RejectedBid struct {
	RejectedAt time.Time `json:"rejected_at"`
	Round      int       `json:"round"`
	Reason     string    `json:"reason"`
}

// PublicAnswer is a question of an ended attempt and the person's answer (bench.md 4.7).
type PublicAnswer struct {
	Round      int       `json:"round"`
	Question   string    `json:"question"`
	Answer     string    `json:"answer"`
	AnsweredAt time.Time `json:"answered_at"`
}

// NotOpen is the answer of brief and file-bid for a target that is not there or closed.
var NotOpen = fault.New(fault.NotFound, "target not found or not open", "")

// Key is the row of a want.
func Key(id string) table.Key { return table.Key{PK: "bench.TARGET#" + id, SK: "ROOT"} }

// BriefKey is the row of a want's brief.
func BriefKey(id string) table.Key { return table.Key{PK: "bench.TARGET#" + id, SK: "BRIEF"} }

// CountKey is the counter row of a want.
func CountKey(id string) table.Key { return table.Key{PK: "bench.TARGET#" + id, SK: "COUNT"} }

// OwnKey is a want's row in its person's list.
func OwnKey(person string, posted time.Time, id string) table.Key {
	return table.Key{PK: "bench.PERSON#" + person, SK: "WANT#" + clock.Stamp(posted) + "#" + id}
}

// OpenPartition is one shard of the open list.
func OpenPartition(shard int) string { return fmt.Sprintf("bench.OPEN#%d", shard) }

// OpenKey is a want's row in the open list.
func OpenKey(at time.Time, id string) table.Key {
	h := fnv.New32a()
	h.Write([]byte(id))
	return table.Key{PK: OpenPartition(int(h.Sum32() % OpenShards)), SK: "WANT#" + clock.Stamp(at) + "#" + id}
}

// Load reads a want.
func Load(c *op.Call, id string) (Want, bool, error) { return op.Load[Want](c, Key(id)) }

// Own reads a want of this person; another's is the bare 404.
func Own(c *op.Call, person, id string) (Want, error) {
	w, found, err := Load(c, id)
	if err == nil && (!found || w.PersonID != person) {
		err = fault.BareNotFound
	}
	return w, err
}

// RoundField is the counter of the bids of a round.
func RoundField(round int) string { return fmt.Sprintf("bids_%d", round) }

// TakesBids tells whether new bids are taken: open, no bid accepted, a slot free.
func (w *Want) TakesBids() bool {
	return w.Status == Open && w.BidID == "" && w.FreeSlot() > 0
}

// FreeSlot is the lowest free finalist slot (1..3), 0 when none is.
func (w *Want) FreeSlot() int {
	for i, p := range w.Finalists {
		if p == "" {
			return i + 1
		}
	}
	return 0
}

// Free empties the slot a bid holds.
func (w *Want) Free(bid string) {
	for i, p := range w.Finalists {
		if p == bid {
			w.Finalists[i] = ""
		}
	}
}

// Easy tells whether the frozen estimate makes it an Easy target (bench.md 4.12).
func (w *Want) Easy() bool { return w.Frozen != nil && *w.Frozen >= 0.5 }

// Ceiling is the most a bid may ask, nil without a limit.
func (w *Want) Ceiling() *int64 {
	if w.Lane.Kind == "free" {
		zero := int64(0)
		return &zero
	}
	return w.Lane.CeilingCents
}

var tileWords = map[string]string{
	"object_at_door": "An object at the door", "booking_on_calendar": "A booking on the calendar",
	"money_in_account": "Money in the account",
}

// FinishText is the finish line as agents read it (bench.md 4.2).
func (w *Want) FinishText() string {
	words := tileWords[w.Finish.Tile]
	switch {
	case words == "":
		return w.Finish.Sentence
	case w.Finish.Sentence == "":
		return words
	}
	return words + ": " + w.Finish.Sentence
}

// Entry is a row of the open list: enough for the public board.
type Entry struct {
	TargetID  string    `json:"target_id"`
	Want      string    `json:"want"`
	Ceiling   *int64    `json:"ceiling_cents"`
	Timeline  *int      `json:"timeline_days"`
	PostedAt  time.Time `json:"posted_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Practice  bool      `json:"practice,omitempty"`
}

// LoadBrief reads a want as agents' reads start from it: one row, free of what only its
// person needs.
func LoadBrief(c *op.Call, id string) (Want, bool, error) {
	b, found, err := op.Load[storedBrief](c, BriefKey(id))
	return b.Want, found, err
}

// Save stages a changed want that this call has loaded (or a new one), together with its
// brief and its place in the open list, so that none of them can disagree.
func (w *Want) Save(c *op.Call) error {
	if err := c.Fetch(Key(w.ID), BriefKey(w.ID)); err != nil {
		return err
	}
	listed := w.TakesBids()
	switch {
	case listed && w.Listed == nil:
		at := w.PostedAt
		if w.RepostedAt != nil {
			at = *w.RepostedAt
		}
		w.Listed = &at
		if err := c.Fetch(OpenKey(at, w.ID)); err != nil {
			return err
		}
		c.Put(OpenKey(at, w.ID), w.entry())
	case listed:
		if err := c.Fetch(OpenKey(*w.Listed, w.ID)); err != nil {
			return err
		}
		c.Put(OpenKey(*w.Listed, w.ID), w.entry())
	case w.Listed != nil:
		if err := c.Fetch(OpenKey(*w.Listed, w.ID)); err != nil {
			return err
		}
		c.Delete(OpenKey(*w.Listed, w.ID))
		w.Listed = nil
	}
	c.Put(Key(w.ID), w)
	c.Put(BriefKey(w.ID), w.brief())
	return nil
}

// ReadEntry reads a row of the open list.
func ReadEntry(r table.Row) (e Entry, err error) {
	err = op.Decode(r.Data, &e)
	return e, err
}

func (w *Want) entry() Entry {
	return Entry{w.ID, w.Text, w.Ceiling(), w.Timeline, w.PostedAt, w.UpdatedAt, w.Practice}
}
