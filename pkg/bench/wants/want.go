// Package wants has what people post and agents read: wants, briefs, the board.
//
// A want and a target are the same row seen from two sides; a repost keeps its id.
//
// Rows:
//
//	bench.TARGET#<id> / ROOT                         a want: everything its person and its clocks need
//	bench.TARGET#<id> / BUDGET                       what the files of a want and of its deals weigh together
//	bench.TARGET#<id> / BRIEF                        what agents' reads start from, rewritten by every change that shows
//	bench.TARGET#<id> / COUNT                        counters: the bids of each round
//	bench.TARGET#<id> / NEWS                         whether its person waits to be told of bids
//	bench.TARGET#<id> / WORLD                        the world file of a practice target
//	bench.PERSON#<person id> / WANT#<time>#<id>      a person's wants
//	bench.PERSON#<person id> / DIGEST                the wants whose new bids the next mail tells of
//	bench.PERSON#<person id> / FILE#<time>#<id>      a person's uploads
//	bench.PERSON#<person id> / FEED#<time>#<event>#<turn>#<id>  a notice to a person
//	bench.OPEN#<shard> / WANT#<time>#<id>            targets that take bids, 4 shards
//	bench.OPENCOUNT#<shard> / ROOT                   counter of the targets that take bids, 8 shards
//	bench.ODDS / CLASS#<tile>#<lane>                 the steward's estimate for a finish-line tile and a lane
//	bench.FILE#<id> / ROOT                           an upload of a person, whether it is still there
//	bench.UPLOAD#<id> / ROOT                         an announced upload, until its bytes are claimed
package wants

import (
	"fmt"
	"hash/fnv"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
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
	// WorldFile is the hash of the world file of a practice target, "" without one.
	WorldFile string `json:"world_file,omitempty"`

	// Frozen is the platform's estimate as it stood at posting; nil is unbanded.
	Frozen *float64 `json:"frozen,omitempty"`
	// Next is what a steward set for the next freeze; it never touches the value in force.
	Next       *Odds      `json:"next,omitempty"`
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
	// DealIDs are the deals of all rounds, oldest first; the last MaxDeals of them.
	DealIDs []string `json:"deal_ids,omitempty"`
	// History rides the brief.
	Prior    []PriorAttempt `json:"prior,omitempty"`
	Past     []PastAttempt  `json:"past,omitempty"`
	Rejected []RejectedBid  `json:"rejected,omitempty"`
	Answers  []PublicAnswer `json:"answers,omitempty"`

	kept
}

// kept is what Save keeps in step by itself.
type kept struct {
	// Over is when the bids of this round ended: the want was closed or a deal signed.
	// OverBefore is that of the round before.
	Over       *time.Time `json:"over,omitempty"`
	OverBefore *time.Time `json:"over_before,omitempty"`
	// Reposts are when the later rounds began, oldest first; the last MaxReposts of them.
	Reposts []time.Time `json:"reposts,omitempty"`
	// Known is the newest round that Reposts and Over speak of.
	Known int `json:"known,omitempty"`
	// Listed is the time part of the want's row in the open list while it is there, and
	// ListedAs the UpdatedAt that row was written with.
	Listed   *time.Time `json:"listed,omitempty"`
	ListedAs time.Time  `json:"listed_as,omitzero"`
	// Shown is the hash of the brief as it was last written.
	Shown string `json:"shown,omitempty"`

	fresh bool   // not stored yet
	cause string // of the round NextRound began
}

// NotOpen is the answer of brief and file-bid for a target that is not there or closed.
var NotOpen = fault.New(fault.NotFound, "target not found or not open", "")

// Partition is the partition of a want's rows. A string that is no id, whatever a stranger
// put in its place, stands for a want that never exists.
func Partition(target string) string {
	if !id.Valid(target) {
		target = "none"
	}
	return "bench.TARGET#" + target
}

// Key is the row of a want.
func Key(id string) table.Key { return table.Key{PK: Partition(id), SK: "ROOT"} }

// BriefKey is the row of a want's brief.
func BriefKey(id string) table.Key { return table.Key{PK: Partition(id), SK: "BRIEF"} }

// CountKey is the counter row of a want.
func CountKey(id string) table.Key { return table.Key{PK: Partition(id), SK: "COUNT"} }

// OwnKey is a want's row in its person's list.
func OwnKey(person string, posted time.Time, id string) table.Key {
	return table.Key{PK: "bench.PERSON#" + person, SK: "WANT#" + clock.Stamp(posted) + "#" + id}
}

// OpenPartition is one shard of the open list.
func OpenPartition(shard int) string { return fmt.Sprintf("bench.OPEN#%d", shard) }

// OpenKey is a want's row in the open list.
func OpenKey(at time.Time, id string) table.Key {
	return table.Key{PK: OpenPartition(shard(id, OpenShards)), SK: "WANT#" + clock.Stamp(at) + "#" + id}
}

func shard(id string, n uint32) int {
	h := fnv.New32a()
	h.Write([]byte(id))
	return int(h.Sum32() % n)
}

// openCounters is the number of counters that the open targets are counted on.
const openCounters = 8

const openField = "open"

func openCountKey(n int) table.Key {
	return table.Key{PK: fmt.Sprintf("bench.OPENCOUNT#%d", n), SK: "ROOT"}
}

// OpenCounts are the rows that count the open targets.
func OpenCounts() []table.Key {
	keys := make([]table.Key, openCounters)
	for n := range keys {
		keys[n] = openCountKey(n)
	}
	return keys
}

// CountOpen is the number of targets that take bids.
func CountOpen(c *op.Call) (int, error) {
	total := int64(0)
	if err := c.Fetch(OpenCounts()...); err != nil {
		return 0, err
	}
	for _, k := range OpenCounts() {
		r, err := c.Get(k)
		if err != nil {
			return 0, err
		}
		total += r.Counters[openField]
	}
	return int(total), nil
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

// free counts the free slots.
func (w *Want) free() int {
	n := 0
	for _, p := range w.Finalists {
		if p == "" {
			n++
		}
	}
	return n
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
