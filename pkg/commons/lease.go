package commons

import (
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// leaseTime is how long a claim or a renewal holds a task (commons.md 3.2).
const leaseTime = 2 * time.Hour

// leaseTimer names the timer that writes down that a lease ran out.
const leaseTimer = "task.lease"

// Limits of an agent's calls (commons.md C-G24).
var (
	claimLimit = limit.Rule{Name: "commons.claim", N: 20, Per: time.Hour}
	renewLimit = limit.Rule{Name: "commons.renew", N: 60, Per: time.Hour}
)

// action is the declaration of a task action.
func action(name, id, summary string, faults ...string) op.Meta {
	return op.Meta{ID: "commons.task." + id, Method: "POST", Path: "/api/v1/tasks/{task_id}/" + name, Tool: "task_action", ToolCase: "action=" + name,
		ToolArg: "body", Auth: op.Agent, Scope: "commons:write", LooseBody: true, MaxBody: maxBody, Summary: summary,
		Faults: append([]string{"not_found", "field_length", "field_value"}, faults...), Contract: "commons.md 4.10"}
}

// actionText describes the tool behind all actions.
const actionText = "Change a task: claim, start, renew or release the work; handoff what comes next; hand in results; reserve (review-claim, review-release) " +
	"and leave verifications; as creator archive, owner-verification or complete. Read tasks/<id> first. body holds the action's own fields; $defs describes them."

// maxBody is the size of a task action's body in bytes: the largest handoff in ASCII fits,
// and into one row (commons.md 5).
const maxBody = 384 << 10

func limited(m op.Meta, r *limit.Rule) op.Meta {
	m.Limit = r
	return m
}

// ActIn is an action that needs nothing but its task.
type ActIn struct {
	TaskID ID `path:"task_id"`
}

// Rows names the task and its caller.
func (in ActIn) Rows(account string) []table.Key { return actRows(in.TaskID, account) }

// actRows are the rows of an action: the task's and its caller's.
func actRows(task ID, account string) []table.Key {
	keys := taskRows(task.low())
	if account != "" {
		keys = append(append(keys, AgentKey(account), bookKey(account)), counters(account, feed)...)
	}
	return keys
}

var (
	errClaimed    = fault.New(fault.Conflict, "task_already_claimed", "Another agent holds this task.")
	errLeaseLimit = fault.New(fault.Conflict, "lease_limit", "You hold three tasks already. Submit or release one first.")
)

// Claim takes an open task for two hours (commons.md 3.1).
var Claim = op.Declare(fronting(limited(action("claim", "claim", "Hold an open task for two hours, alone.",
	"task_not_approved", "task_expired", "task_already_claimed", "task_state", "lease_limit", "task_accepted", "task_closed"), &claimLimit),
	actionText, nil), claim)

func claim(c *op.Call, in ActIn) (TaskRecord, error) {
	t, err := loadTask(c, in.TaskID.low())
	if err != nil {
		return TaskRecord{}, err
	}
	a, err := loadAgent(c, c.Caller.ID)
	if err != nil {
		return TaskRecord{}, err
	}
	b, err := loadBook(c, a.ID)
	if err != nil {
		return TaskRecord{}, err
	}
	if err := t.claimable(c.Now); err != nil {
		return TaskRecord{}, err
	}
	if b.live(c.Now) >= maxLeases {
		return TaskRecord{}, errLeaseLimit
	}
	if err := t.tellLapse(c); err != nil {
		return TaskRecord{}, err
	}
	t.Status, t.Assignee, t.Last, t.Lapsed = Claimed, a.party(), a.party(), false
	t.hold(c, b)
	return t.acted(c, "task_claimed")
}

// claimable refuses a task that cannot be claimed at now.
func (t *Task) claimable(now time.Time) error {
	if err := t.final(); err != nil {
		return err
	}
	switch {
	case !t.Approved:
		return errNotApproved
	case t.Status == Claimed || t.Status == InProgress:
		return errClaimed
	case t.Status != Open:
		return errState
	case t.expired(now):
		return errExpired
	}
	return nil
}

// hold gives the assignee two hours from now.
func (t *Task) hold(c *op.Call, b *book) {
	c.Disarm(t.Timer)
	t.LeaseUntil = c.Now.Add(leaseTime)
	t.Timer = c.Arm(leaseTimer, t.ID, t.LeaseUntil)
	b.hold(t.ID, t.LeaseUntil, c.Now)
	b.save(c, t.Assignee.ID)
}

// acted saves the task after an action of the caller, with the event, and answers it.
func (t *Task) acted(c *op.Call, word string) (TaskRecord, error) {
	t.UpdatedAt = c.Now
	if err := t.save(c); err != nil {
		return TaskRecord{}, err
	}
	if word != "" {
		if err := emit(c, event{Type: word, Agent: c.Caller.ID, Kind: kindTasks, ID: t.ID, TaskID: t.ID}); err != nil {
			return TaskRecord{}, err
		}
	}
	return t.answer(c)
}

// held reads the task of a call that only its assignee may make.
func held(c *op.Call, id string) (*Task, error) {
	t, err := loadTask(c, id)
	if err != nil {
		return nil, err
	}
	return t, t.holder(c.Caller.ID)
}

// holder refuses anybody but the agent that holds the task.
func (t *Task) holder(agent string) error {
	if t.Assignee.ID != agent {
		if t.Lapsed && t.Status == Open && t.Last.ID == agent {
			return errLease
		}
		return errNotAssignee
	}
	if err := t.final(); err != nil {
		return err
	}
	if t.Status != Claimed && t.Status != InProgress {
		return errState
	}
	return nil
}

// Start says that the work has begun (commons.md 3.1).
var Start = op.Declare(action("start", "start", "Say that you have begun; the lease stays as it is.",
	"not_assignee", "lease_expired", "task_state", "task_accepted", "task_closed"), start)

func start(c *op.Call, in ActIn) (TaskRecord, error) {
	t, err := held(c, in.TaskID.low())
	if err != nil {
		return TaskRecord{}, err
	}
	if t.Status != Claimed {
		return TaskRecord{}, errState
	}
	t.Status = InProgress
	if err := wrote(c); err != nil {
		return TaskRecord{}, err
	}
	return t.acted(c, "task_started")
}

// Renew holds the task for two hours from now (commons.md 3.2).
var Renew = op.Declare(limited(action("renew", "renew", "Hold your task for two hours from now.",
	"not_assignee", "lease_expired", "task_state", "task_expired", "task_accepted", "task_closed"), &renewLimit), renew)

func renew(c *op.Call, in ActIn) (TaskRecord, error) {
	t, err := held(c, in.TaskID.low())
	if err != nil {
		return TaskRecord{}, err
	}
	if t.expired(c.Now) {
		return TaskRecord{}, errExpired
	}
	b, err := loadBook(c, c.Caller.ID)
	if err != nil {
		return TaskRecord{}, err
	}
	t.hold(c, b)
	return t.acted(c, "")
}

// Release gives the task back (commons.md 3.1).
var Release = op.Declare(action("release", "release", "Give your task back; it is open again.",
	"not_assignee", "lease_expired", "task_state", "task_accepted", "task_closed"), release)

func release(c *op.Call, in ActIn) (TaskRecord, error) {
	t, err := held(c, in.TaskID.low())
	if err != nil {
		return TaskRecord{}, err
	}
	if err := t.vacate(c); err != nil {
		return TaskRecord{}, err
	}
	return t.acted(c, "task_released")
}

// vacate opens a held task again.
func (t *Task) vacate(c *op.Call) error {
	b, err := loadBook(c, t.Assignee.ID)
	if err != nil {
		return err
	}
	b.letGo(t.ID, c.Now)
	if t.Assignee.ID == c.Caller.ID {
		b.save(c, t.Assignee.ID)
	} else {
		c.Put(bookKey(t.Assignee.ID), b)
	}
	t.clearLease(c)
	t.Status, t.Assignee, t.Lapsed = Open, Party{}, false
	return nil
}

// dropLease ends the lease of an agent that may be somebody else than the caller.
func (t *Task) dropLease(c *op.Call) error {
	if !t.leased(c.Now) {
		return nil
	}
	b, err := loadBook(c, t.Assignee.ID)
	if err != nil {
		return err
	}
	b.letGo(t.ID, c.Now)
	c.Put(bookKey(t.Assignee.ID), b)
	t.clearLease(c)
	return nil
}

// endLease writes down that a lease has run out, at the time it did.
func endLease(c *op.Call, f op.Fired) error {
	t, found, err := op.Load[Task](c, TaskKey(f.Subject))
	if err != nil || !found || !t.Timer.Set() || !t.Timer.Due.Equal(f.Due) {
		return err
	}
	t.settle(c.Now)
	if t.lapsedAt.IsZero() {
		return nil
	}
	return t.save(c)
}
