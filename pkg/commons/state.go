package commons

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/roll"
	"guildhall/pkg/table"
)

// Vote is a review as consensus shows it.
type Vote struct {
	ReviewID     string `json:"review_id"`
	Reviewer     string `json:"reviewer"`
	Verdict      string `json:"verdict"`
	Completeness string `json:"completeness"`
	Eligible     bool   `json:"eligible"`
	Hidden       bool   `json:"hidden,omitempty"` // kept, and shown to nobody
}

// Limits of what a result's state keeps at hand; the rest stands in rows of its own.
const (
	maxVotes      = 100
	maxDecisions  = 20
	maxCompleters = 100
)

// Decision is an owner decision (commons.md 3.5).
type Decision struct {
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
	Agent   string `json:"agent_id"`
	At      Time   `json:"created_at"`
}

// Hold keeps a candidate from acceptance: the creator's "failure" or the "operator"'s.
type Hold struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
	At     Time   `json:"created_at"`
}

// Kinds of holds.
const (
	holdFailure  = "failure"
	holdOperator = "operator"
)

// state is what changes about a result.
type state struct {
	ResultID  string     `json:"result_id"`
	TaskID    string     `json:"task_id"`
	Author    Party      `json:"author"`
	Kind      string     `json:"kind"`
	SHA256    string     `json:"sha256"`
	CreatedAt time.Time  `json:"created_at"`
	Bytes     int        `json:"bytes,omitempty"`
	Counts    Counts     `json:"counts"`
	Votes     []Vote     `json:"votes,omitempty"` // newest first
	Complete  []string   `json:"complete,omitempty"`
	Failure   *Hold      `json:"failure,omitempty"`
	Operator  *Hold      `json:"operator,omitempty"`
	History   []Decision `json:"history,omitempty"` // newest first
	Hidden    bool       `json:"hidden,omitempty"`
	Accepted  bool       `json:"accepted,omitempty"`
	// Since is when the consensus came to its present state.
	Since time.Time `json:"since"`
	// Seq is raised by everything an owner decision rests on.
	Seq int64 `json:"seq"`
	// Reserved is the reservation of the first review, which may be over.
	Reserved *reservation `json:"reserved,omitempty"`
	// Waits tells that the result has a NEED row: a candidate nobody eligible has looked at.
	Waits bool  `json:"waits,omitempty"`
	Shelf shelf `json:"shelf"`
}

// reservation is a first review that is reserved.
type reservation struct {
	Reviewer string    `json:"reviewer"`
	At       time.Time `json:"at"`
	Until    time.Time `json:"until"`
	// Ends is how often the task had ended when the reservation was made.
	Ends int `json:"ends,omitempty"`
}

func stateKey(id string) table.Key { return table.Key{PK: ResultKey(id).PK, SK: "STATE"} }

func needKey(taskID string, at time.Time, id string) table.Key {
	return below(TaskKey(taskID), "NEED", id, at)
}

func (s *state) lists() []roll.Roll { return []roll.Roll{allResults, resultsOf(s.TaskID)} }

// wait puts a candidate among those that need their first review.
func (s *state) wait(c *op.Call, t *Task) {
	c.Create(needKey(t.ID, s.CreatedAt, s.ResultID), nothing{})
	s.Waits = true
	t.Needs++
	n := need{s.ResultID, s.CreatedAt}
	t.Oldest = append(t.Oldest, n)
	slices.SortFunc(t.Oldest, func(a, b need) int {
		if a.After(b) {
			return 1
		}
		return -1
	})
	t.Oldest = t.Oldest[:min(len(t.Oldest), maxInline)]
}

// After orders needs by time, ties by id.
func (n need) After(o need) bool { return place(n.At, n.ID) > place(o.At, o.ID) }

// served takes a candidate from those that need their first review.
func (s *state) served(c *op.Call, t *Task) error {
	if !s.Waits {
		return nil
	}
	key := needKey(t.ID, s.CreatedAt, s.ResultID)
	// The first rows hold this one as a rule, and what the list names next.
	p, err := c.Query(table.Query{PK: key.PK, Limit: maxInline + 2}.Prefix("NEED#"))
	if err != nil {
		return err
	}
	if err := c.Fetch(key); err != nil {
		return err
	}
	c.Delete(key)
	s.Waits = false
	t.Needs--
	t.Oldest = nil
	for _, r := range p.Rows {
		at, id, ok := splitPlace(strings.TrimPrefix(r.SK, "NEED#"))
		if ok && id != s.ResultID && len(t.Oldest) < maxInline {
			t.Oldest = append(t.Oldest, need{id, at})
		}
	}
	return nil
}

// splitPlace takes a place apart.
func splitPlace(s string) (at time.Time, id string, ok bool) {
	stamp, id, ok := strings.Cut(s, "#")
	at, err := time.Parse(time.RFC3339, stamp)
	return at, id, ok && err == nil
}

// ownerState ties an owner decision to the contract and all that was seen of a result
// (commons.md 4.14).
func (s *state) ownerState(t *Task) string {
	b, _ := json.Marshal([]any{t.ID, t.Revision, s.ResultID, s.SHA256, s.Seq})
	sum := sha256.Sum256(b)
	return "ors1." + base64.RawURLEncoding.EncodeToString(sum[:])
}

// reservedAt is the reservation that holds at now, nil for none: it ends by its time, by the
// first eligible review and with the task.
func (s *state) reservedAt(t *Task, now time.Time) *reservation {
	r := s.Reserved
	if r == nil || !now.Before(r.Until) || s.Counts.Eligible > 0 || r.Ends != t.Ends || ended(t.Status) {
		return nil
	}
	return r
}

// reviewStatus says whether a first review is free (commons.md 4.2).
func (s *state) reviewStatus(t *Task, now time.Time) string {
	switch {
	case s.Counts.Eligible > 0:
		return "reviewed"
	case s.reservedAt(t, now) != nil:
		return "reserved"
	}
	return "available"
}
