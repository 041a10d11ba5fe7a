package commons

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Limits of what lists of tasks look at (commons.md C-G15).
const (
	MaxStanding = 5000 // tasks that are neither completed nor closed
	maxDone     = 5000 // newest of the others
	doneSlack   = 150  // rows read of a shard beyond its even share, so that one query a shard is enough
)

// line is what lists know of a task: numbers and words to filter and sort by, no texts. It
// is written by every commit that changes the task.
type line struct {
	ID         string    `json:"i"`
	Status     string    `json:"s"`
	Approved   bool      `json:"a,omitempty"`
	LowRisk    bool      `json:"l,omitempty"`
	Featured   bool      `json:"f,omitempty"`
	Created    time.Time `json:"c"`
	Updated    time.Time `json:"u"`
	Expires    time.Time `json:"e"`
	LeaseUntil time.Time `json:"t,omitzero"`
	Assignee   string    `json:"w,omitempty"`
	Parent     string    `json:"p,omitempty"`
	Room       string    `json:"r,omitempty"`
	Capability string    `json:"k,omitempty"`
	Category   string    `json:"g,omitempty"`
	Difficulty string    `json:"d,omitempty"`
	MaxMinutes int       `json:"m"`
	MaxLeg     int       `json:"n"`
	NextKind   string    `json:"x,omitempty"`
	NextLeg    int       `json:"y,omitempty"`
	Handoffs   bool      `json:"h,omitempty"`
	Results    int       `json:"z,omitempty"`
	Latest     string    `json:"q,omitempty"` // the candidate that needs somebody
	State      string    `json:"v,omitempty"` // of the latest candidate
	Since      time.Time `json:"o,omitzero"`
	Needs      int       `json:"j,omitempty"`
	Oldest     []need    `json:"b,omitempty"`
	Bytes      int       `json:"sz,omitempty"`
}

func (t *Task) line() line {
	l := line{ID: t.ID, Status: t.Status, Approved: t.Approved, LowRisk: t.Risk == lowRisk, Featured: t.Featured, Created: t.CreatedAt,
		Updated: t.UpdatedAt, Expires: t.ExpiresAt, LeaseUntil: t.LeaseUntil, Assignee: t.Assignee.ID, Parent: t.ParentID, Room: t.RoomID,
		Capability: t.Capability, Category: t.Category, Difficulty: t.Difficulty, MaxMinutes: t.MaxMinutes, MaxLeg: t.MaxLeg,
		NextKind: t.NextKind, NextLeg: t.NextMinutes, Handoffs: t.Handoffs > 0, Results: t.Results, Needs: t.Needs, Oldest: t.Oldest, Bytes: t.Bytes}
	if t.Latest.ID != "" && !t.Latest.Hidden {
		l.Latest, l.State, l.Since = t.Latest.ID, t.Latest.State, t.Latest.Since
	}
	return l
}

// settle brings the line to now, as Task.settle does.
func (l *line) settle(now time.Time) {
	if (l.Status == Claimed || l.Status == InProgress) && !now.Before(l.LeaseUntil) {
		l.Status, l.Assignee, l.Updated = Open, "", l.LeaseUntil
	}
}

// ready: open, unexpired, low-risk and approved.
func (l *line) ready(now time.Time) bool {
	return l.Status == Open && l.Approved && l.LowRisk && now.Before(l.Expires)
}

// pendingReview: the latest candidate has no eligible review.
func (l *line) pendingReview() bool { return !ended(l.Status) && l.State == Unreviewed }

// completionReview: the latest candidate's completeness is unknown.
func (l *line) completionReview() bool { return !ended(l.Status) && l.State == CompletionUnknown }

// leg is the budget of the next leg in minutes.
func (l *line) leg() (kind string, minutes int) {
	return nextLeg(l.Status, l.NextKind, l.NextLeg, l.MaxLeg)
}

// standing reads what lists know of all tasks that are neither completed nor closed: one
// query a shard while they are as many as the operator tool lets stand.
func standing(c *op.Call) ([]line, error) {
	var all []line
	for n := range uint32(taskShards) {
		q := table.Query{PK: standingPK(n)}
		for {
			p, err := c.Query(q)
			if err != nil {
				return nil, err
			}
			for _, r := range p.Rows {
				if all, err = readLine(c, all, r.Data); err != nil {
					return nil, err
				}
			}
			if !p.More {
				break
			}
			q.After = p.Rows[len(p.Rows)-1].SK
		}
	}
	return all, nil
}

// done reads the newest n of the completed and closed tasks.
func done(c *op.Call, n int) ([]line, error) {
	var spans []span
	for s := range uint32(taskShards) {
		spans = append(spans, span{pk: donePK(s)})
	}
	share := n
	if n > doneSlack*2 {
		share = n/taskShards + doneSlack
	}
	w := newest(c, spans, share)
	var all []line
	for len(all) < n {
		e, ok, err := w.next()
		if err != nil || !ok {
			return all, err
		}
		if all, err = readLine(c, all, e.data); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func readLine(c *op.Call, all []line, data []byte) ([]line, error) {
	var l line
	if err := op.Decode(data, &l); err != nil {
		return nil, err
	}
	l.settle(c.Now)
	return append(all, l), nil
}

// Orders of a list of tasks (commons.md C-G15).
var orders = map[string]func(now time.Time) func(a, b line) int{
	"newest": func(time.Time) func(a, b line) int { return byNewest },
	"shortest": func(time.Time) func(a, b line) int {
		return func(a, b line) int { return cmp.Or(byShort(a, b), byNewest(a, b)) }
	},
	"review": func(time.Time) func(a, b line) int {
		return func(a, b line) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) }
	},
	"progress": func(time.Time) func(a, b line) int {
		return func(a, b line) int { return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(b.ID, a.ID)) }
	},
	"featured": func(time.Time) func(a, b line) int {
		return func(a, b line) int { return cmp.Or(first(a.Featured, b.Featured), byNewest(a, b)) }
	},
	"best": func(now time.Time) func(a, b line) int {
		return func(a, b line) int {
			return cmp.Or(first(a.Featured, b.Featured), first(a.ready(now), b.ready(now)), byShort(a, b), -byNewest(a, b))
		}
	},
}

func byNewest(a, b line) int { return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID)) }

func byShort(a, b line) int {
	_, x := a.leg()
	_, y := b.leg()
	return cmp.Or(cmp.Compare(x, y), cmp.Compare(a.MaxMinutes, b.MaxMinutes))
}

// first orders what is so before what is not.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// filter is a checked list query.
type filter struct {
	status, sort              string
	ready                     bool
	parent, room, assignee    string
	capability, category      string
	difficulty                string
	maxMinutes, maxLegMinutes int
	limit, offset             int
	summary                   bool
}

// plain tells whether a filter lets everything through.
func (f filter) plain() bool {
	f.limit, f.offset, f.summary, f.sort = 0, 0, false, ""
	return f == filter{}
}

// keeps tells whether a task is in the list at now: all filters hold.
func (f filter) keeps(l *line, now time.Time) bool {
	same := func(want, have string) bool { return want == "" || strings.EqualFold(want, have) }
	return f.keepsStatus(l) && (!f.ready || l.ready(now)) && same(f.parent, l.Parent) && same(f.room, l.Room) && same(f.assignee, l.Assignee) &&
		same(f.capability, l.Capability) && same(f.category, l.Category) && same(f.difficulty, l.Difficulty) &&
		(f.maxMinutes == 0 || l.MaxMinutes <= f.maxMinutes) && f.keepsLeg(l) && f.keepsSort(l)
}

func (f filter) keepsStatus(l *line) bool {
	switch f.status {
	case "":
		return true
	case "pending-review":
		return l.pendingReview()
	case "completion-review":
		return l.completionReview()
	}
	return l.Status == f.status
}

func (f filter) keepsLeg(l *line) bool {
	if f.maxLegMinutes == 0 {
		return true
	}
	kind, minutes := l.leg()
	if kind == contribution {
		return minutes <= min(f.maxLegMinutes, maxContributionLeg)
	}
	return minutes <= f.maxLegMinutes
}

// keepsSort: two of the orders are of some tasks only.
func (f filter) keepsSort(l *line) bool {
	switch f.sort {
	case "review":
		return l.pendingReview() || l.completionReview()
	case "progress":
		return l.Results > 0 || l.Handoffs
	}
	return true
}

// matching reads the tasks of a list in its order. A list that needs neither filter nor
// order reads no more than its page from the tasks that are over.
func matching(c *op.Call, f filter) ([]line, error) {
	var all []line
	var err error
	onlyDone := f.status == Completed || f.status == Closed
	onlyStanding := f.ready || f.sort == "review" || f.status != "" && !onlyDone
	if !onlyDone {
		if all, err = standing(c); err != nil {
			return nil, err
		}
	}
	if !onlyStanding {
		n := maxDone
		if f.plain() && (f.sort == "newest" || f.sort == "") {
			n = min(n, f.offset+f.limit+1)
		}
		over, err := done(c, n)
		if err != nil {
			return nil, err
		}
		all = append(all, over...)
	}
	all = slices.DeleteFunc(all, func(l line) bool { return !f.keeps(&l, c.Now) })
	slices.SortFunc(all, orders[cmp.Or(f.sort, "newest")](c.Now))
	return all, nil
}
