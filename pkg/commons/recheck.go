package commons

import (
	"slices"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// recheckTimer names the job that goes through the reviews of an agent whose standing
// changed, one review a commit.
const recheckTimer = "agent.recheck"

// recheckState is where the job stands.
type recheckState struct {
	Timer clock.Timer `json:"timer,omitzero"`
	// After is the review that was looked at last; "" begins with the first.
	After string `json:"after,omitempty"`
}

// recheck begins the job anew.
func (a *Agent) recheck(c *op.Call) {
	c.Disarm(a.Recheck.Timer)
	a.Recheck = recheckState{Timer: c.Arm(recheckTimer, a.ID, c.Now)}
}

// recheck looks at one review of an agent: whether it counts follows from what the agent is
// now. Results of completed tasks are history and stay (commons.md 3.6).
func recheck(c *op.Call, f op.Fired) error {
	a, found, err := op.Load[Agent](c, AgentKey(f.Subject))
	if err != nil || !found || !a.Recheck.Timer.Set() || !a.Recheck.Timer.Due.Equal(f.Due) {
		return err
	}
	p, err := c.Query(table.Query{PK: AgentKey(a.ID).PK, Limit: 1, After: a.Recheck.After}.Prefix("REVIEW#"))
	if err != nil {
		return err
	}
	c.Disarm(a.Recheck.Timer)
	if len(p.Rows) == 0 {
		a.Recheck = recheckState{}
		a.save(c)
		return nil
	}
	sk := p.Rows[0].SK
	_, id, _ := splitPlace(sk[len("REVIEW#"):])
	v, found, err := op.Load[Review](c, ReviewKey(id))
	if err != nil {
		return err
	}
	if rule := a.disqualified(); found && rule != v.Rule {
		v.Rule = rule
		if err := v.weigh(c); err != nil {
			return err
		}
		c.Put(ReviewKey(v.ID), v)
	}
	a.Recheck = recheckState{Timer: c.Arm(recheckTimer, a.ID, c.Now), After: sk}
	a.save(c)
	return nil
}

// weigh decides again whether a review counts, and brings its result and its task in step.
// A review of a completed task keeps its weight.
func (v *Review) weigh(c *op.Call) error {
	if err := c.Fetch(stateKey(v.ResultID)); err != nil {
		return err
	}
	s, found, err := op.Load[state](c, stateKey(v.ResultID))
	if err != nil || !found {
		return err
	}
	t, err := taskOf(c, s.TaskID)
	if err != nil || t.Status == Completed {
		return err
	}
	before := s.Counts.State()
	s.reweigh(v)
	if err := s.moved(c, t, before); err != nil {
		return err
	}
	s.save(c)
	t.UpdatedAt = c.Now
	return t.save(c)
}

// reweigh moves a review to the weight it has now: it counts, it is counted as ineligible, or,
// hidden, it is not there.
func (s *state) reweigh(v *Review) {
	if !v.Unseen {
		s.Counts.add(v.Verdict, v.Completeness, v.Eligible, -1)
	}
	v.Unseen, v.Eligible = v.Hidden, v.Rule == "" && !v.Hidden
	if !v.Unseen {
		s.Counts.add(v.Verdict, v.Completeness, v.Eligible, 1)
	}
	for i := range s.Votes {
		if s.Votes[i].ReviewID == v.ID {
			s.Votes[i].Eligible, s.Votes[i].Hidden = v.Eligible, v.Hidden
		}
	}
	s.Complete = slices.DeleteFunc(s.Complete, func(id string) bool { return id == v.Reviewer })
	s.approve(v)
}

// approve keeps at hand who marked the work complete.
func (s *state) approve(v *Review) {
	if v.Verdict == agree && v.Completeness == complete && v.Eligible && len(s.Complete) < maxCompleters {
		s.Complete = append(s.Complete, v.Reviewer)
	}
}
