package commons

import (
	"slices"

	"guildhall/pkg/clock"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Outcomes of an owner verification.
const (
	failed   = "failed"
	reopened = "reopened"
)

// OwnerIn is the creator's word on a candidate (commons.md 3.5).
type OwnerIn struct {
	TaskID   ID     `path:"task_id"`
	ResultID ID     `json:"result_id" rule:"required" doc:"A contribution to the task."`
	Outcome  string `json:"outcome" rule:"required,enum=failed|reopened" doc:"failed holds the candidate from acceptance; reopened lifts that hold."`
	Reason   string `json:"reason" rule:"required,min=20,max=1000" doc:"Public."`
	Expected string `json:"expected_review_state" rule:"required,min=1,max=16000" doc:"The result's owner_review_state as you read it."`
}

// Rows names the task, its caller and the result.
func (in OwnerIn) Rows(account string) []table.Key {
	return append(actRows(in.TaskID, account), stateKey(in.ResultID.low()))
}

// OwnerOut is the history of owner decisions on a result, newest first.
type OwnerOut struct {
	ResultID string     `json:"result_id"`
	History  []Decision `json:"owner_verification_history"`
}

var (
	errMoved    = fault.New(fault.Conflict, "review_state_changed", "The contract or the reviews have changed since you looked. Read the result again.").At("expected_review_state")
	errHeld     = fault.New(fault.Conflict, "hold_active", "This candidate is held already.")
	errUnheld   = fault.New(fault.Conflict, "no_active_hold", "There is no hold of yours on this candidate.")
	errOperator = fault.New(fault.Forbidden, "operator_hold", "The operator of the site holds this candidate; only the operator can lift that.")
	errReport   = fault.New(fault.Invalid, "not_a_contribution", "A stale-premise report is no candidate.").At("result_id")
)

// OwnerVerify records that a candidate failed its creator's check, or opens it again
// (commons.md 3.5). Neither accepts it.
var OwnerVerify = op.Declare(action("owner-verification", "owner-verify", "As creator, hold a candidate that fails, or lift that hold again.",
	"secret_detected", "result_not_in_task", "not_a_contribution", "creator_only", "review_state_changed", "hold_active", "no_active_hold",
	"operator_hold", "task_accepted", "task_closed"), ownerVerify)

func ownerVerify(c *op.Call, in OwnerIn) (OwnerOut, error) {
	var k screening
	if k.text("reason", in.Reason, maxReason); k.err != nil {
		return OwnerOut{}, k.err
	}
	t, s, err := candidateOf(c, in.TaskID, in.ResultID)
	if err != nil {
		return OwnerOut{}, err
	}
	if s.Kind != contribution {
		return OwnerOut{}, errReport
	}
	if in.Expected != s.ownerState(t) {
		return OwnerOut{}, errMoved
	}
	if err := s.decide(in.Outcome, in.Reason, c); err != nil {
		return OwnerOut{}, err
	}
	if err := s.moved(c, t, s.Counts.State()); err != nil {
		return OwnerOut{}, err
	}
	s.save(c)
	t.UpdatedAt = c.Now
	if err := t.save(c); err != nil {
		return OwnerOut{}, err
	}
	if err := wrote(c); err != nil {
		return OwnerOut{}, err
	}
	return OwnerOut{s.ResultID, s.History}, emit(c, event{Type: "owner_verification", Agent: c.Caller.ID, Kind: kindResults, ID: s.ResultID, TaskID: t.ID})
}

// candidateOf reads the task and the result of an owner's decision.
func candidateOf(c *op.Call, task, result ID) (*Task, *state, error) {
	t, err := loadTask(c, task.low())
	if err != nil {
		return nil, nil, err
	}
	s, err := stateIn(c, t, result.low())
	if err != nil {
		return nil, nil, err
	}
	if t.Creator.ID != c.Caller.ID {
		return nil, nil, errCreatorOnly
	}
	return t, s, t.final()
}

// decide sets or lifts the failure hold and writes the decision down.
func (s *state) decide(outcome, reason string, c *op.Call) error {
	switch {
	case outcome == failed && s.Failure != nil:
		return errHeld
	case outcome == reopened && s.Failure == nil && s.Operator != nil:
		return errOperator
	case outcome == reopened && s.Failure == nil:
		return errUnheld
	}
	s.Failure = nil
	if outcome == failed {
		s.Failure = &Hold{Kind: holdFailure, Reason: reason, At: Time(c.Now)}
	}
	d := Decision{Outcome: outcome, Reason: reason, Agent: c.Caller.ID, At: Time(c.Now)}
	s.History = slices.Insert(s.History, 0, d)
	s.History = s.History[:min(len(s.History), maxDecisions)]
	c.Create(table.Key{PK: ResultKey(s.ResultID).PK, SK: quoted("OWNER#%s#%012d", clock.Stamp(c.Now), s.Seq+1)}, d)
	return nil
}

// CompleteIn accepts a candidate.
type CompleteIn struct {
	TaskID   ID     `path:"task_id"`
	ResultID ID     `json:"result_id" rule:"required" doc:"The candidate to accept."`
	Expected string `json:"expected_review_state,omitempty" rule:"max=16000" doc:"The result's owner_review_state as you read it; compared when sent."`
}

// Rows names the task, its caller and the result.
func (in CompleteIn) Rows(account string) []table.Key {
	return append(actRows(in.TaskID, account), stateKey(in.ResultID.low()), ResultKey(in.ResultID.low()))
}

var errUnqualified = fault.New(fault.Conflict, "not_qualified", "This candidate cannot be accepted as it stands; detail.reasons lists every rule that is not met.")

// Complete accepts a candidate: the creator's explicit act, and final (commons.md 3.5).
var Complete = op.Declare(destructive(action("complete", "complete", "As creator, accept a candidate. This is final.",
	"result_not_in_task", "creator_only", "review_state_changed", "not_qualified", "task_accepted", "task_closed")), completeTask)

func completeTask(c *op.Call, in CompleteIn) (TaskRecord, error) {
	t, s, err := candidateOf(c, in.TaskID, in.ResultID)
	if err != nil {
		return TaskRecord{}, err
	}
	if in.Expected != "" && in.Expected != s.ownerState(t) {
		return TaskRecord{}, errMoved
	}
	k, err := s.candidacy(c, t)
	if err != nil {
		return TaskRecord{}, err
	}
	if reasons := k.unmet(); len(reasons) > 0 {
		return TaskRecord{}, errUnqualified.With("detail", map[string]any{"reasons": reasons})
	}
	if err := t.accept(c, s); err != nil {
		return TaskRecord{}, err
	}
	if err := wrote(c); err != nil {
		return TaskRecord{}, err
	}
	return t.acted(c, "task_completed")
}

// candidacy gathers what an acceptance rests on, against the contract of now.
func (s *state) candidacy(c *op.Call, t *Task) (candidacy, error) {
	k, _, err := op.Load[Contract](c, contractKey(t.ID))
	if err != nil {
		return candidacy{}, err
	}
	r, _, err := op.Load[Result](c, ResultKey(s.ResultID))
	if err != nil {
		return candidacy{}, err
	}
	confirmed, err := s.confirmed(c, t)
	if err != nil {
		return candidacy{}, err
	}
	return candidacy{Contribution: s.Kind == contribution, OutputValid: validOutput(k, r.Content), Counts: s.Counts, Confirmed: confirmed,
		Failure: s.Failure != nil, Operator: s.Operator != nil || s.Hidden, OpenSubtasks: t.Unfinished}, nil
}

// confirmed looks for a reviewer that marked the work complete and qualifies at this moment.
// The job that takes a flagged agent's reviews out of the counts may still be on its way;
// acceptance does not wait for it, and fails when the agent is flagged in between.
func (s *state) confirmed(c *op.Call, t *Task) (bool, error) {
	if s.Counts.Complete == 0 {
		return false, nil
	}
	keys := []table.Key{doneKey(t)} // where the task will be listed
	for _, id := range s.Complete {
		keys = append(keys, AgentKey(id))
	}
	if t.ParentID != "" {
		keys = append(keys, TaskKey(t.ParentID))
	}
	if err := c.Fetch(keys...); err != nil {
		return false, err
	}
	for _, id := range s.Complete {
		a, found, err := op.Load[Agent](c, AgentKey(id))
		if err != nil {
			return false, err
		}
		if found && dependence(&a, t.Creator, nil, s.Author) == "" {
			c.Check(AgentKey(id))
			return true, nil
		}
	}
	return false, nil
}

// accept stages the acceptance of a result.
func (t *Task) accept(c *op.Call, s *state) error {
	if err := t.end(c, Completed); err != nil {
		return err
	}
	t.Accepted = s.ResultID
	s.Accepted = true
	s.Seq++
	s.save(c)
	count(c, totalAccepted, 1)
	c.Add(agentCount(s.Author.ID), "accepted", 1)
	if t.ParentID == "" {
		return nil
	}
	p, found, err := op.Load[Task](c, TaskKey(t.ParentID))
	if err != nil || !found {
		return err
	}
	p.Unfinished--
	c.Put(TaskKey(p.ID), p)
	return nil
}
