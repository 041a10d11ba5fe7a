package commons

import (
	"encoding/json"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Statuses of a task (commons.md 3.1).
const (
	Open         = "open"
	Claimed      = "claimed"
	InProgress   = "in_progress"
	Submitted    = "submitted"
	Verified     = "verified"
	DisputedTask = "disputed"
	Completed    = "completed"
	Closed       = "closed"
	PremiseStale = "premise_stale"
)

// Statuses lists them in the order of the contract.
var Statuses = []string{Open, Claimed, InProgress, Submitted, Verified, DisputedTask, Completed, Closed, PremiseStale}

// Kinds of legs and results.
const (
	contribution  = "contribution"
	premiseResult = "premise_stale"
	reviewLeg     = "review"
)

// maxContributionLeg is the budget of a contribution leg in minutes.
const maxContributionLeg = 5

// maxInline is how many of its oldest unreviewed candidates a task's list row names.
const maxInline = 4

// Task is the stored state of a task. Its texts stand in rows of their own.
type Task struct {
	ID         string    `json:"id"`
	Title      string    `json:"title"`
	Status     string    `json:"status"`
	Approved   bool      `json:"approved"`
	Risk       string    `json:"risk"`
	Category   string    `json:"category,omitempty"`
	Difficulty string    `json:"difficulty,omitempty"`
	Capability string    `json:"capability,omitempty"`
	MaxMinutes int       `json:"max_minutes"`
	MaxLeg     int       `json:"max_leg_minutes"`
	Featured   bool      `json:"featured,omitempty"`
	ParentID   string    `json:"parent_id,omitempty"`
	RoomID     string    `json:"room_id,omitempty"`
	Creator    Party     `json:"creator"`
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`
	ExpiresAt  time.Time `json:"expires_at"`
	Hidden     bool      `json:"hidden,omitempty"`

	// Assignee is the recorded one, Last whoever claimed last: it stays when the task is open
	// again. Lapsed tells that its lease ran out.
	Assignee   Party       `json:"assignee,omitzero"`
	Last       Party       `json:"last,omitzero"`
	Lapsed     bool        `json:"lapsed,omitempty"`
	LeaseUntil time.Time   `json:"lease_until,omitzero"`
	Timer      clock.Timer `json:"timer,omitzero"`

	Revision int64 `json:"revision"`
	Handoffs int64 `json:"handoff_revision,omitempty"`
	// NextKind and NextMinutes are those of the handoff in force.
	NextKind    string `json:"next_kind,omitempty"`
	NextMinutes int    `json:"next_minutes,omitempty"`
	// Bytes is the size of the contract and the handoff.
	Bytes int `json:"bytes,omitempty"`

	Results     int       `json:"results,omitempty"` // that everybody sees
	Latest      candidate `json:"latest,omitzero"`
	Needs       int       `json:"needs,omitempty"`  // candidates without an eligible review
	Oldest      []need    `json:"oldest,omitempty"` // the first of them, at most maxInline
	RequestedAt time.Time `json:"requested_at,omitzero"`
	Accepted    string    `json:"accepted_result_id,omitempty"`
	Reason      string    `json:"close_reason,omitempty"`
	// Ends counts how often the task was completed or closed: reservations made before are over.
	Ends int `json:"ends,omitempty"`
	// Unfinished counts the subtasks that are not completed.
	Unfinished int `json:"unfinished,omitempty"`

	lapsedAt time.Time // when settle found the lease over
}

// candidate is what a task knows of its latest contribution.
type candidate struct {
	ID    string    `json:"id"`
	At    time.Time `json:"at"`
	State string    `json:"state"`
	// Since is when the state began to need somebody.
	Since  time.Time `json:"since"`
	Hidden bool      `json:"hidden,omitempty"`
}

// need is a candidate that waits for its first eligible review.
type need struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
}

// Contract is what a task asks for.
type Contract struct {
	Objective string   `json:"objective"`
	Criteria  string   `json:"acceptance_criteria"`
	Format    string   `json:"output_format"`
	Keys      []string `json:"required_output_keys,omitempty"`
}

// TaskKey is the row of a task.
func TaskKey(id string) table.Key { return root("TASK", id) }

func contractKey(id string) table.Key { return table.Key{PK: TaskKey(id).PK, SK: "TEXT"} }

func handoffKey(id string) table.Key { return table.Key{PK: TaskKey(id).PK, SK: "HANDOFF"} }

func standingPK(n uint32) string { return quoted("commons.STANDING#%d", n) }

// standingKey is the list row of a task that is neither completed nor closed.
func standingKey(id string) table.Key {
	return table.Key{PK: standingPK(shard(id, taskShards)), SK: id}
}

func donePK(n uint32) string { return quoted("commons.DONE#%d", n) }

// doneKey is the list row of a completed or closed task.
func doneKey(t *Task) table.Key {
	return table.Key{PK: donePK(shard(t.ID, taskShards)), SK: place(t.CreatedAt, t.ID)}
}

// ended tells whether a status is the end of the work.
func ended(status string) bool { return status == Completed || status == Closed }

// leased tells whether the task is held at now.
func (t *Task) leased(now time.Time) bool {
	return (t.Status == Claimed || t.Status == InProgress) && now.Before(t.LeaseUntil)
}

// settle brings the task to now: a lease that has run out is over, the task open again.
func (t *Task) settle(now time.Time) {
	if (t.Status == Claimed || t.Status == InProgress) && !now.Before(t.LeaseUntil) {
		t.lapsedAt = t.LeaseUntil
		t.Status, t.Assignee, t.Lapsed, t.UpdatedAt, t.LeaseUntil = Open, Party{}, true, t.LeaseUntil, time.Time{}
	}
}

// expired tells whether the task's own time is over at now.
func (t *Task) expired(now time.Time) bool { return !now.Before(t.ExpiresAt) }

// assignees are the present and the last recorded one.
func (t *Task) assignees() []Party {
	var all []Party
	for _, p := range []Party{t.Assignee, t.Last} {
		if p.ID != "" {
			all = append(all, p)
		}
	}
	return all
}

// nextLeg is the kind and the minutes of the next leg: the handoff's word, else what the
// status asks for.
func nextLeg(status, kind string, minutes, maxLeg int) (string, int) {
	if kind != "" {
		return kind, minutes
	}
	switch status {
	case Submitted, Verified, DisputedTask:
		return reviewLeg, maxLeg
	}
	return contribution, min(maxLeg, maxContributionLeg)
}

// loadTask reads a task as it is at now; one that is missing or hidden is not found.
func loadTask(c *op.Call, id string) (*Task, error) {
	t, found, err := op.Load[Task](c, TaskKey(id))
	if err != nil {
		return nil, err
	}
	if !found || t.Hidden {
		return nil, errNotFound.At("task_id")
	}
	t.settle(c.Now)
	return &t, nil
}

// taskRows are the rows of every call on a task.
func taskRows(id string) []table.Key {
	return []table.Key{TaskKey(id), contractKey(id), handoffKey(id), standingKey(id)}
}

// save stages the task with its list row and the event of a lease that ran out before.
func (t *Task) save(c *op.Call) error {
	if err := t.tellLapse(c); err != nil {
		return err
	}
	c.Put(TaskKey(t.ID), t)
	return t.relist(c)
}

// tellLapse stages what follows from a lease that settle found to be over. It comes before
// anything changes the timer or the last claimer.
func (t *Task) tellLapse(c *op.Call) error {
	if t.lapsedAt.IsZero() {
		return nil
	}
	c.Disarm(t.Timer)
	e := event{Type: "lease_expired", Agent: t.Last.ID, Kind: kindTasks, ID: t.ID, TaskID: t.ID, At: t.lapsedAt}
	t.Timer, t.lapsedAt = clock.Timer{}, time.Time{}
	return emit(c, e)
}

// relist stages the list row of a task where it belongs now.
func (t *Task) relist(c *op.Call) error {
	standing, done := standingKey(t.ID), doneKey(t)
	keep, drop := standing, done
	if ended(t.Status) {
		keep, drop = done, standing
	}
	old, err := c.Get(standing)
	if err != nil {
		return err
	}
	// A task moves rarely, so the other row is looked at only when it can be there.
	if moves := old.Found() != !ended(t.Status) || t.Hidden; moves || ended(t.Status) {
		if err := c.Fetch(keep, drop); err != nil {
			return err
		}
		c.Delete(drop)
	}
	if t.Hidden {
		c.Delete(keep)
		return nil
	}
	c.Put(keep, t.line())
	return nil
}

// clearLease ends the lease and keeps the assignee on record.
func (t *Task) clearLease(c *op.Call) {
	c.Disarm(t.Timer)
	t.Timer, t.LeaseUntil = clock.Timer{}, time.Time{}
}

// Refusals by the state of a task.
var (
	errAccepted    = fault.New(fault.Conflict, "task_accepted", "A result of this task is accepted. Its history does not change any more.")
	errClosed      = fault.New(fault.Conflict, "task_closed", "This task is closed. Only its creator can reopen it, with a handoff.")
	errState       = fault.New(fault.Conflict, "task_state", "The task is not in a state in which this can be done.")
	errNotApproved = fault.New(fault.Conflict, "task_not_approved", "The operator has not cleared this task.")
	errExpired     = fault.New(fault.Conflict, "task_expired", "The task's time is over.")
	errNotAssignee = fault.New(fault.Forbidden, "not_assignee", "Only the agent that holds the task can do this.")
	errLease       = fault.New(fault.Conflict, "lease_expired", "Your lease has run out. Claim the task again if it is still open.")
	errCreatorOnly = fault.New(fault.Forbidden, "creator_only", "Only the task's creator can do this.")
	errInvolved    = fault.New(fault.Forbidden, "not_creator_or_assignee", "Only the task's creator or its assignee can do this.")
	errElsewhere   = fault.New(fault.Invalid, "result_not_in_task", "That result belongs to another task.").At("result_id")
)

// final refuses what no ended task takes.
func (t *Task) final() error {
	switch t.Status {
	case Completed:
		return errAccepted
	case Closed:
		return errClosed
	}
	return nil
}

// TaskRecord is a task as lists show it (commons.md 4.2).
type TaskRecord struct {
	ID          string  `json:"id"`
	Title       string  `json:"title"`
	Status      string  `json:"status"`
	Expired     bool    `json:"expired"`
	Approved    bool    `json:"approved"`
	Risk        string  `json:"risk"`
	Category    *string `json:"category"`
	Difficulty  *string `json:"difficulty"`
	Capability  *string `json:"capability"`
	MaxMinutes  int     `json:"max_minutes"`
	MaxLeg      int     `json:"max_leg_minutes"`
	Featured    bool    `json:"featured"`
	Creator     string  `json:"creator"`
	Assignee    *string `json:"assignee"`
	LeaseUntil  *Time   `json:"lease_expires_at"`
	ExpiresAt   Time    `json:"expires_at"`
	Revision    int64   `json:"revision"`
	Handoffs    int64   `json:"handoff_revision"`
	ParentID    *string `json:"parent_id"`
	RoomID      *string `json:"room_id"`
	Accepted    *string `json:"accepted_result_id"`
	RequestedAt *Time   `json:"verification_requested_at"`
	CreatedAt   Time    `json:"created_at"`
	UpdatedAt   Time    `json:"updated_at"`
	ResultCount int     `json:"result_count"`

	*TaskTexts
}

// TaskTexts are what the full view adds.
type TaskTexts struct {
	Objective string          `json:"objective,omitempty"`
	Criteria  string          `json:"acceptance_criteria,omitempty"`
	Format    string          `json:"output_format,omitempty"`
	Keys      []string        `json:"required_output_keys,omitzero"`
	Handoff   json.RawMessage `json:"handoff,omitempty"`
	// Reason is null while the task was not closed.
	Reason op.Field[string] `json:"close_reason,omitzero"`
}

// summary is the task as a list shows it at now.
func (t *Task) summary(now time.Time) TaskRecord {
	return TaskRecord{ID: t.ID, Title: t.Title, Status: t.Status, Expired: t.expired(now), Approved: t.Approved, Risk: t.Risk,
		Category: text(t.Category), Difficulty: text(t.Difficulty), Capability: text(t.Capability), MaxMinutes: t.MaxMinutes, MaxLeg: t.MaxLeg,
		Featured: t.Featured, Creator: t.Creator.ID, Assignee: text(t.Assignee.ID), LeaseUntil: orNull(t.LeaseUntil), ExpiresAt: Time(t.ExpiresAt),
		Revision: t.Revision, Handoffs: t.Handoffs, ParentID: text(t.ParentID), RoomID: text(t.RoomID), Accepted: text(t.Accepted),
		RequestedAt: orNull(t.RequestedAt), CreatedAt: Time(t.CreatedAt), UpdatedAt: Time(t.UpdatedAt), ResultCount: t.Results}
}

// full is the task with its texts.
func (t *Task) full(now time.Time, k Contract, handoff json.RawMessage) TaskRecord {
	r := t.summary(now)
	if len(handoff) == 0 {
		handoff = json.RawMessage("null")
	}
	r.TaskTexts = &TaskTexts{k.Objective, k.Criteria, k.Format, some(k.Keys), handoff, op.Field[string]{Sent: true, Value: text(t.Reason)}}
	return r
}

// answer is the task as the actions return it, after what this call staged.
func (t *Task) answer(c *op.Call) (TaskRecord, error) {
	k, _, err := op.Load[Contract](c, contractKey(t.ID))
	if err != nil {
		return TaskRecord{}, err
	}
	h, _, err := op.Load[json.RawMessage](c, handoffKey(t.ID))
	if err != nil {
		return TaskRecord{}, err
	}
	return t.full(c.Now, k, h), nil
}
