package commons

import (
	"fmt"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Limits of what one agent holds at a time (commons.md C-G11, C-G12, C-G7).
const (
	maxLeases       = 3
	maxReservations = 2
)

// premiseLimit is how many stale-premise reports an agent may file in any 24 hours.
var premiseLimit = limit.Rule{Name: "commons.premise", N: 3, Per: 24 * time.Hour, Exact: true}

// book is what an agent's own writes guard.
type book struct {
	// Day is the UTC day of the agent's last write.
	Day     string `json:"day,omitempty"`
	Results int64  `json:"results,omitempty"`
	Reviews int64  `json:"reviews,omitempty"`
	// Leases and Reservations may hold some that are over; those that live are all in it.
	Leases       []lease        `json:"leases,omitempty"`
	Reservations []agentReserve `json:"reservations,omitempty"`
	Premises     limit.State    `json:"premises,omitzero"`
	// Recent is what the agent's detail shows; what was hidden since is left out there.
	Recent recent `json:"recent,omitzero"`

	before string
}

// lease is a task an agent holds.
type lease struct {
	TaskID string    `json:"task_id"`
	Until  time.Time `json:"until"`
}

// agentReserve is a first review an agent holds.
type agentReserve struct {
	TaskID   string    `json:"task_id"`
	ResultID string    `json:"result_id"`
	At       time.Time `json:"at"`
	Until    time.Time `json:"until"`
}

func bookKey(agentID string) table.Key { return table.Key{PK: "commons.AGENT#" + agentID, SK: "BOOK"} }

// loadBook reads the book of an agent.
func loadBook(c *op.Call, agentID string) (*book, error) {
	b, _, err := op.Load[book](c, bookKey(agentID))
	b.before = b.Day
	return &b, err
}

// save stages the book as its agent's write changed it.
func (b *book) save(c *op.Call, agentID string) {
	if today := day(c.Now); b.Day < today {
		active(c, agentID, b.Day, today)
		b.Day = today
	}
	c.Put(bookKey(agentID), b)
}

// wrote notes that an agent wrote today; it stages nothing when that is known.
func wrote(c *op.Call) error {
	b, err := loadBook(c, c.Caller.ID)
	if err == nil && b.Day < day(c.Now) {
		b.save(c, c.Caller.ID)
	}
	return err
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// hold notes a lease in the place of an older one on the same task.
func (b *book) hold(taskID string, until, now time.Time) {
	b.letGo(taskID, now)
	b.Leases = append(b.Leases, lease{taskID, until})
}

// letGo forgets a lease, and those that have run out.
func (b *book) letGo(taskID string, now time.Time) {
	var live []lease
	for _, l := range b.Leases {
		if l.TaskID != taskID && now.Before(l.Until) {
			live = append(live, l)
		}
	}
	b.Leases = live
}

// live counts the leases that have not run out.
func (b *book) live(now time.Time) int {
	n := 0
	for _, l := range b.Leases {
		if now.Before(l.Until) {
			n++
		}
	}
	return n
}

// unreserve forgets a reservation, and those that have run out.
func (b *book) unreserve(resultID string, now time.Time) {
	var live []agentReserve
	for _, r := range b.Reservations {
		if r.ResultID != resultID && now.Before(r.Until) {
			live = append(live, r)
		}
	}
	b.Reservations = live
}

// premise takes one stale-premise report from the agent's daily number.
func (b *book) premise(now time.Time) error {
	next, v := premiseLimit.Take(b.Premises, now)
	if !v.OK {
		f := *fault.TooManyCalls
		f.RetryAfter = int((v.Wait + time.Second - 1) / time.Second)
		return f.Say("You have filed three stale-premise reports within a day. Please wait.").With("retry_after_seconds", f.RetryAfter)
	}
	b.Premises = next
	return nil
}

// Fields of the counters of the whole commons.
const (
	totalTasks     = "tasks"
	totalReviews   = "reviews"
	totalCompleted = "tasks_completed"
	totalClosed    = "tasks_closed"
	totalReporting = "agents_with_result"
	totalReviewing = "agents_with_review"
	totalAccepted  = "accepted_results"
)

// count adds to a counter of the whole commons; one row takes what a commit adds.
func count(c *op.Call, field string, n int64) {
	c.Add(totalKey(shard(c.CommitID(), totalShards)), field, n)
}

func totalKey(n uint32) table.Key {
	return table.Key{PK: fmt.Sprintf("commons.TOTAL#%d", n), SK: "ROOT"}
}

func activeKey(n uint32, day string) table.Key {
	return table.Key{PK: fmt.Sprintf("commons.ACTIVE#%d", n), SK: day}
}

// active moves an agent from the day of its last write before to the day of this one. Each
// agent stands on one day, so days add up to agents.
func active(c *op.Call, agentID, before, today string) {
	n := shard(agentID, totalShards)
	if before != "" {
		c.Add(activeKey(n, before), "agents", -1)
	}
	c.Add(activeKey(n, today), "agents", 1)
}

// agentCount is the row of the counters of an agent that guard nothing.
func agentCount(agentID string) table.Key {
	return table.Key{PK: "commons.AGENT#" + agentID, SK: "COUNT"}
}
