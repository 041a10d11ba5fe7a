package wants

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// MaxReposts bounds how many beginnings of rounds a want remembers.
const MaxReposts = 100

// Entry is a row of the open list: enough for the public board. PersonID is for the facts
// beside a brief and is never shown.
type Entry struct {
	TargetID  string    `json:"target_id"`
	PersonID  string    `json:"person_id"`
	Want      string    `json:"want"`
	Ceiling   *int64    `json:"ceiling_cents"`
	Timeline  *int      `json:"timeline_days"`
	PostedAt  time.Time `json:"posted_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Practice  bool      `json:"practice,omitempty"`
}

// ReadEntry reads a row of the open list.
func ReadEntry(r table.Row) (e Entry, err error) {
	err = op.Decode(r.Data, &e)
	return e, err
}

func (w *Want) entry() Entry {
	return Entry{w.ID, w.PersonID, w.words(), w.Ceiling(), w.Timeline, w.PostedAt, w.UpdatedAt, w.Practice}
}

// storedBrief is the row agents' reads start from: everything a brief needs in one read.
type storedBrief struct {
	Want Want `json:"want"`
}

// brief leaves out what no agent's read needs, so that the row is rewritten only when
// something of it changes.
func (w *Want) brief() storedBrief {
	b := *w
	b.DealIDs, b.Next, b.HasBids = nil, nil, false
	b.kept = kept{Over: w.Over, OverBefore: w.OverBefore, Reposts: w.Reposts, Known: w.Known}
	return storedBrief{Want: b}
}

// LoadBrief reads a want as agents' reads start from it: one row, without what only its
// person and its commits need.
func LoadBrief(c *op.Call, id string) (Want, bool, error) {
	b, found, err := op.Load[storedBrief](c, BriefKey(id))
	return b.Want, found, err
}

// Save stages a changed want that this call has loaded (or a new one), together with its
// brief, its place in the open list and the end of a round's bids, so that none of them
// can disagree. The brief and the list are touched only when something of them changed.
func (w *Want) Save(c *op.Call) error {
	w.keepRounds(c)
	w.bound()
	brief := w.brief()
	sum, err := digest(brief)
	if err != nil {
		return err
	}
	shows := sum != w.Shown
	was := w.Listed != nil
	from, to := w.moves()
	var keys []table.Key
	for _, k := range []*table.Key{from, to} {
		if k != nil {
			keys = append(keys, *k)
		}
	}
	if shows {
		keys = append(keys, BriefKey(w.ID))
	}
	if !w.fresh && len(keys) > 0 {
		if err := c.Fetch(append(keys, Key(w.ID))...); err != nil {
			return err
		}
	}
	put := c.Put
	if w.fresh {
		put = c.Create
	}
	if from != nil {
		c.Delete(*from)
	}
	if to != nil {
		put(*to, w.entry())
	}
	if now := w.Listed != nil; now != was {
		n := int64(1)
		if was {
			n = -1
		}
		c.Add(openCountKey(shard(w.ID, openCounters)), openField, n)
	}
	if shows {
		put(BriefKey(w.ID), brief)
	}
	w.Shown = sum
	put(Key(w.ID), w)
	w.fresh = false
	return nil
}

// moves decides the want's place in the open list: the row to remove and the row to write,
// nil where there is nothing to do. It notes the new place in the want.
func (w *Want) moves() (from, to *table.Key) {
	listed := w.TakesBids()
	at := w.listTime()
	same := w.Listed != nil && listed && w.Listed.Equal(at)
	if w.Listed != nil && !same {
		k := OpenKey(*w.Listed, w.ID)
		from, w.Listed, w.ListedAs = &k, nil, time.Time{}
	}
	if listed && !(same && w.ListedAs.Equal(w.UpdatedAt)) {
		k := OpenKey(at, w.ID)
		to, w.Listed, w.ListedAs = &k, &at, w.UpdatedAt
	}
	return from, to
}

// listTime is the time by which the want stands in the open list: its last repost, or its
// posting.
func (w *Want) listTime() time.Time {
	if w.RepostedAt != nil {
		return *w.RepostedAt
	}
	return w.PostedAt
}

// ListTime is the time part of the want's place in the open list, whether or not it is
// listed now.
func (w *Want) ListTime() time.Time { return w.listTime() }

// digest is a hash over a value's stored form.
func digest(v any) (string, error) {
	b, err := op.Encode(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12]), nil
}

// keepRounds notes a round that began since the want was stored, and the end of a round's
// bids. The bids are told by a timer: there is no bound to how many there are.
func (w *Want) keepRounds(c *op.Call) {
	w.Known = max(w.Known, 1)
	if w.Round > w.Known {
		w.beginRound(c)
	}
	if w.Over != nil || w.Status == Open && !w.Signed {
		return
	}
	at, why := w.UpdatedAt, RoundSigned
	if w.Status == Closed {
		why = RoundClosed
	}
	w.Over = &at
	w.tellBids(c, w.Round, why)
}

func (w *Want) beginRound(c *op.Call) {
	began, why := w.listTime(), RoundAuto
	if w.cause == ByPerson {
		why = RoundReposted
	}
	if w.Over == nil {
		w.Over = &began
		w.tellBids(c, w.Round-1, RoundClosed)
	}
	w.OverBefore, w.Over, w.Known, w.cause = w.Over, nil, w.Round, ""
	w.Reposts = last(append(w.Reposts, began), MaxReposts)
	w.tellBids(c, w.Round-1, why)
}

// OverAt is when the bids of a round ended; ok is false while they live. A round whose end
// is no longer known ended before time itself.
func (w *Want) OverAt(round int) (at time.Time, ok bool) {
	over := w.Over
	switch {
	case round < w.Round-1:
		return time.Time{}, true
	case round < w.Round:
		over = w.OverBefore
	}
	if over != nil {
		return *over, true
	}
	// Not noted yet: decided on the want as it is in memory.
	if round < w.Round {
		return w.listTime(), true
	}
	return w.UpdatedAt, w.Status != Open || w.Signed
}

// SupersededAt is when a later round put the bids of a round aside, nil while the round is
// the current one.
func (w *Want) SupersededAt(round int) *time.Time {
	if round >= w.Round {
		return nil
	}
	i := len(w.Reposts) - (w.Round - round)
	switch {
	case len(w.Reposts) == 0:
		return w.RepostedAt
	case i < 0:
		return &w.Reposts[0]
	}
	return &w.Reposts[i]
}

// TimerBids tells the bids of a round what became of them, a few at a time. Package bids
// fires it: wants knows no bid.
const TimerBids = "bids.told"

// RoundOver says that the bids of a round ended, or that a new round began. After is where
// the telling has come to in the list of the round's bids.
type RoundOver struct {
	TargetID string
	Round    int
	Why      string // RoundClosed, RoundSigned, RoundReposted
	After    string
}

// What a round's bids are told.
const (
	RoundClosed   = "closed"   // the person closed the want, or opened another round over live bids
	RoundSigned   = "signed"   // another bid was signed
	RoundReposted = "reposted" // a new round began
	RoundAuto     = "auto"     // the same, by itself: the agent of the ended deal knows
)

// Subject is the subject of the timer; ReadRoundOver reads it.
func (r RoundOver) Subject() string {
	return strings.Join([]string{r.TargetID, strconv.Itoa(r.Round), r.Why, r.After}, "|")
}

// ReadRoundOver reads a timer's subject.
func ReadRoundOver(subject string) (r RoundOver, ok bool) {
	p := strings.SplitN(subject, "|", 4)
	if len(p) != 4 {
		return r, false
	}
	n, err := strconv.Atoi(p[1])
	return RoundOver{p[0], n, p[2], p[3]}, err == nil
}

func (w *Want) tellBids(c *op.Call, round int, why string) {
	if w.HasBids {
		c.Arm(TimerBids, RoundOver{w.ID, round, why, ""}.Subject(), c.Now)
	}
}
