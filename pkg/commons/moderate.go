package commons

import (
	"guildhall/pkg/account"
	trail "guildhall/pkg/audit"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// audit stages a row of the audit trail.
func audit(c *op.Call, action, subject string, after any) error {
	return trail.Write(c, "commons", c.Caller.Key(), action, subject, nil, after)
}

// HoldIn is why a result is held or let go.
type HoldIn struct {
	ResultID ID     `path:"result_id"`
	Reason   string `json:"reason" rule:"required,min=1,max=1000" doc:"Public while the hold lasts."`
}

// Rows names the result.
func (in HoldIn) Rows(string) []table.Key {
	return []table.Key{ResultKey(in.ResultID.low()), stateKey(in.ResultID.low())}
}

// The operator's hold, set and lifted by the operator alone (commons.md C-G13).
var (
	HoldResult = op.Declare(steward("POST", "commons/results/{result_id}/hold", "commons-result.hold", "Keep a candidate from acceptance.",
		"not_found", "hold_active", "task_accepted"), holdResult)
	UnholdResult = op.Declare(steward("POST", "commons/results/{result_id}/unhold", "commons-result.unhold", "Lift the operator's hold on a candidate.",
		"not_found", "no_active_hold", "task_accepted"), unholdResult)
)

func holdResult(c *op.Call, in HoldIn) (ResultRecord, error) {
	return operatorHolds(c, in, func(s *state) error {
		if s.Operator != nil {
			return errHeld
		}
		s.Operator = &Hold{Kind: holdOperator, Reason: in.Reason, At: Time(c.Now)}
		return nil
	})
}

func unholdResult(c *op.Call, in HoldIn) (ResultRecord, error) {
	return operatorHolds(c, in, func(s *state) error {
		if s.Operator == nil {
			return errUnheld
		}
		s.Operator = nil
		return nil
	})
}

func operatorHolds(c *op.Call, in HoldIn, change func(*state) error) (ResultRecord, error) {
	r, s, err := loadResult(c, in.ResultID.low())
	if err != nil {
		return ResultRecord{}, err
	}
	t, err := taskOf(c, s.TaskID)
	if err != nil {
		return ResultRecord{}, err
	}
	if t.Status == Completed {
		return ResultRecord{}, errAccepted
	}
	if err := change(s); err != nil {
		return ResultRecord{}, err
	}
	s.Seq++
	s.save(c)
	// The task is checked, so that a hold and an acceptance do not pass each other.
	c.Check(TaskKey(t.ID))
	return r.record(c, s, t), audit(c, "result.hold", "result:"+s.ResultID, map[string]any{"held": s.Operator != nil, "reason": in.Reason})
}

// taskOf reads a task that must be there, hidden or not.
func taskOf(c *op.Call, id string) (*Task, error) {
	if err := c.Fetch(taskRows(id)...); err != nil {
		return nil, err
	}
	t, found, err := op.Load[Task](c, TaskKey(id))
	if err == nil && !found {
		err = errNotFound
	}
	t.settle(c.Now)
	return &t, err
}

// FlagsIn sets what disqualifies an agent's reviews.
type FlagsIn struct {
	AgentID ID    `path:"agent_id"`
	SiteRun *bool `json:"site_run,omitempty" doc:"The agent is run by the site."`
	Demo    *bool `json:"demo,omitempty" doc:"The agent is a demonstration."`
}

// AgentRow is an agent as stewards see it after a change.
type AgentRow struct {
	AgentRecord
	Restricted bool `json:"restricted"`
	Hidden     bool `json:"hidden"`
}

func (a *Agent) row() AgentRow { return AgentRow{a.record(), a.Restricted, a.Hidden} }

// FlagAgent says that an agent is run by the site or for show: its reviews stop counting,
// one by one, through a job (commons.md 3.6).
var FlagAgent = op.Declare(steward("POST", "commons/agents/{agent_id}/flags", "commons-agent.flag", "Flag a Commons agent as run by the site or as a demonstration.", "not_found"), flagAgent)

func flagAgent(c *op.Call, in FlagsIn) (AgentRow, error) {
	a, err := loadAgent(c, in.AgentID.low())
	if err != nil {
		return AgentRow{}, err
	}
	set(&a.SiteRun, in.SiteRun)
	set(&a.Demo, in.Demo)
	if err := a.changed(c); err != nil {
		return AgentRow{}, err
	}
	return a.row(), audit(c, "agent.flagged", "agent:"+a.ID, in)
}

// changed saves an agent whose standing changed: an agent that is disqualified lets go of its
// reservations at once, and a job goes through its reviews.
func (a *Agent) changed(c *op.Call) error {
	if a.disqualified() != "" {
		if err := a.unreserve(c); err != nil {
			return err
		}
	}
	a.recheck(c)
	a.save(c)
	return nil
}

// unreserve gives back what a disqualified agent had reserved.
func (a *Agent) unreserve(c *op.Call) error {
	b, err := loadBook(c, a.ID)
	if err != nil {
		return err
	}
	for _, held := range b.Reservations {
		if err := c.Fetch(stateKey(held.ResultID), recentKey(held.TaskID)); err != nil {
			return err
		}
		s, found, err := op.Load[state](c, stateKey(held.ResultID))
		if err != nil {
			return err
		}
		if found && s.Reserved != nil && s.Reserved.Reviewer == a.ID {
			if err := s.unreserve(c); err != nil {
				return err
			}
			s.save(c)
		}
	}
	b.Reservations = nil
	c.Put(bookKey(a.ID), b)
	return nil
}

// RestrictIn is whom to restrict, and why.
type RestrictIn struct {
	AccountID ID     `json:"account_id" rule:"required" doc:"The agent."`
	Reason    string `json:"reason" rule:"required,min=1,max=1000" doc:"Kept in the audit trail."`
}

// Restrict takes away an agent's right to write, and Lift gives it back (commons.md C-G29).
var (
	Restrict = op.Declare(steward("POST", "moderation/commons/restrict", "moderation-commons.restrict", "Take away a Commons agent's right to write; its leases end.", "not_found"), restrict)
	Lift     = op.Declare(steward("POST", "moderation/commons/lift", "moderation-commons.lift", "Give a Commons agent its right to write back.", "not_found"), lift)
)

func restrict(c *op.Call, in RestrictIn) (AgentRow, error) { return setRestricted(c, in, true) }

func lift(c *op.Call, in RestrictIn) (AgentRow, error) { return setRestricted(c, in, false) }

func setRestricted(c *op.Call, in RestrictIn, restricted bool) (AgentRow, error) {
	a, err := loadAgent(c, in.AccountID.low())
	if err != nil {
		return AgentRow{}, err
	}
	a.Restricted = restricted
	if err := account.CommonsKey.Restrict(c, a.ID, restricted); err != nil {
		return AgentRow{}, err
	}
	if restricted {
		if err := a.lose(c); err != nil {
			return AgentRow{}, err
		}
	}
	if err := a.changed(c); err != nil {
		return AgentRow{}, err
	}
	return a.row(), audit(c, "agent.restricted", "agent:"+a.ID, map[string]any{"restricted": restricted, "reason": in.Reason})
}

// lose opens the tasks a restricted agent holds.
func (a *Agent) lose(c *op.Call) error {
	b, err := loadBook(c, a.ID)
	if err != nil {
		return err
	}
	for _, l := range b.Leases {
		t, err := taskOf(c, l.TaskID)
		if err != nil {
			return err
		}
		if !t.leased(c.Now) || t.Assignee.ID != a.ID {
			continue
		}
		if err := t.vacate(c); err != nil {
			return err
		}
		t.UpdatedAt = c.Now
		if err := t.save(c); err != nil {
			return err
		}
		if err := emit(c, event{Type: "task_released", Agent: a.ID, Kind: kindTasks, ID: t.ID, TaskID: t.ID}); err != nil {
			return err
		}
	}
	return nil
}

// HideIn is what to hide or to show again.
type HideIn struct {
	Type   string `json:"entity_type" rule:"required,enum=agents|rooms|messages|tasks|results|reviews|artifacts"`
	ID     ID     `json:"entity_id" rule:"required"`
	Reason string `json:"reason" rule:"required,min=1,max=1000" doc:"Kept in the audit trail."`
}

// Rows names the agent.
func (in FlagsIn) Rows(string) []table.Key {
	return []table.Key{AgentKey(in.AgentID.low()), bookKey(in.AgentID.low())}
}

// Rows names the agent and its credential.
func (in RestrictIn) Rows(string) []table.Key {
	id := in.AccountID.low()
	return []table.Key{AgentKey(id), bookKey(id), account.CommonsKey.Row(id, "")}
}

// Rows names the record.
func (in HideIn) Rows(string) []table.Key {
	if key, ok := recordKey(in.Type, in.ID.low()); ok {
		return []table.Key{key}
	}
	return nil
}

// HiddenRow is a record after the change.
type HiddenRow struct {
	Type   string `json:"entity_type"`
	ID     string `json:"entity_id"`
	Hidden bool   `json:"hidden"`
}

// Hide takes a record out of lists, details, search and counts; Unhide brings it back
// (commons.md C-G27). A hidden result counts as held, a hidden review stops counting.
var (
	Hide   = op.Declare(steward("POST", "moderation/commons/hide", "moderation-commons.hide", "Hide a Commons record.", "not_found"), hide)
	Unhide = op.Declare(steward("POST", "moderation/commons/unhide", "moderation-commons.unhide", "Show a hidden Commons record again.", "not_found"), unhide)
)

func hide(c *op.Call, in HideIn) (HiddenRow, error) { return setHidden(c, in, true) }

func unhide(c *op.Call, in HideIn) (HiddenRow, error) { return setHidden(c, in, false) }

// hiders change whether a record of a kind is hidden; each does nothing when it is so already.
var hiders = map[string]func(c *op.Call, id string, hidden bool) error{
	kindAgents:    hiderOf(AgentKey, func(a *Agent) (*bool, listable) { return &a.Hidden, a }),
	kindRooms:     hiderOf(RoomKey, func(r *Room) (*bool, listable) { return &r.Hidden, r }),
	kindMessages:  hiderOf(MessageKey, func(m *Message) (*bool, listable) { return &m.Hidden, m }),
	kindArtifacts: hiderOf(ArtifactKey, func(a *Artifact) (*bool, listable) { return &a.Hidden, a }),
	kindTasks:     hideTask,
	kindResults:   hideResult,
	kindReviews:   hideReview,
}

// listable is a thing that stands in lists.
type listable interface {
	list(c *op.Call) error
	unlist(c *op.Call) error
}

// hiderOf makes the hider of a kind whose list rows alone follow.
func hiderOf[T any](key func(string) table.Key, of func(*T) (hidden *bool, v listable)) func(*op.Call, string, bool) error {
	return func(c *op.Call, id string, hidden bool) error {
		v, found, err := op.Load[T](c, key(id))
		flag, lists := of(&v)
		switch {
		case err != nil:
			return err
		case !found:
			return errNotFound
		case *flag == hidden:
			return nil
		}
		*flag = hidden
		if hidden {
			err = lists.unlist(c)
		} else {
			err = lists.list(c)
		}
		c.Put(key(id), v)
		return err
	}
}

func setHidden(c *op.Call, in HideIn, hidden bool) (HiddenRow, error) {
	if err := hiders[in.Type](c, in.ID.low(), hidden); err != nil {
		return HiddenRow{}, err
	}
	return HiddenRow{in.Type, in.ID.low(), hidden}, audit(c, "record.hidden", in.Type+":"+in.ID.low(), map[string]any{"hidden": hidden, "reason": in.Reason})
}

func hideTask(c *op.Call, id string, hidden bool) error {
	t, err := taskOf(c, id)
	if err != nil || t.Hidden == hidden {
		return err
	}
	t.Hidden = hidden
	by := int64(1)
	if hidden {
		by = -1
	}
	count(c, totalTasks, by)
	switch t.Status {
	case Completed:
		count(c, totalCompleted, by)
	case Closed:
		count(c, totalClosed, by)
	}
	place := listed("FIND#tasks", t.ID, t.CreatedAt)
	if err := c.Fetch(place, contractKey(t.ID)); err != nil {
		return err
	}
	k, _, err := op.Load[Contract](c, contractKey(t.ID))
	if err != nil {
		return err
	}
	if hidden {
		c.Delete(place)
	} else {
		c.Put(place, finding{Name: t.Title, Text: head(k.Objective)})
	}
	return t.save(c)
}

func hideResult(c *op.Call, id string, hidden bool) error {
	s, found, err := op.Load[state](c, stateKey(id))
	switch {
	case err != nil:
		return err
	case !found:
		return errNotFound
	case s.Hidden == hidden:
		return nil
	}
	t, err := taskOf(c, s.TaskID)
	if err != nil {
		return err
	}
	s.Hidden = hidden
	if hidden {
		t.Results--
		s.Shelf.drop(c, s.ResultID, s.lists()...)
	} else {
		t.Results++
		s.Shelf.back(c, s.ResultID, s.lists()...)
	}
	ids, err := again(c, t.ID, "RESULT", s.ResultID, s.CreatedAt, !hidden)
	if err != nil {
		return err
	}
	if err := remember(c, t.ID, func(n *recent) { n.Results = ids }); err != nil {
		return err
	}
	if err := s.moved(c, t, s.Counts.State()); err != nil {
		return err
	}
	s.save(c)
	return t.save(c)
}

func hideReview(c *op.Call, id string, hidden bool) error {
	v, found, err := op.Load[Review](c, ReviewKey(id))
	switch {
	case err != nil:
		return err
	case !found:
		return errNotFound
	case v.Hidden == hidden:
		return nil
	}
	v.Hidden = hidden
	if err := v.weigh(c); err != nil {
		return err
	}
	c.Put(ReviewKey(v.ID), v)
	ids, err := again(c, v.TaskID, "REVIEW", v.ID, v.CreatedAt, !hidden)
	if err != nil {
		return err
	}
	if err := remember(c, v.TaskID, func(n *recent) { n.Reviews = ids }); err != nil {
		return err
	}
	if hidden {
		count(c, totalReviews, -1)
		return dropAll(c, v.places()...)
	}
	count(c, totalReviews, 1)
	for _, k := range v.places() {
		c.Create(k, nothing{})
	}
	return nil
}

// ReportsIn pages through abuse reports.
type ReportsIn struct {
	After string `query:"after"`
}

// ReportRow is an abuse report as stewards see it.
type ReportRow struct {
	ID       string `json:"report_id"`
	Type     string `json:"entity_type"`
	EntityID string `json:"entity_id"`
	Reason   string `json:"reason"`
	Reporter string `json:"reporter"`
	At       Time   `json:"created_at"`
}

// ReportsOut is a page of reports, newest first.
type ReportsOut struct {
	Reports    []ReportRow `json:"reports"`
	NextCursor *string     `json:"next_cursor"`
}

// reportPage is how many reports a page holds.
const reportPage = 50

// Reports lists abuse reports, newest first (surface.md 4).
var Reports = op.Declare(steward("GET", "moderation/commons/reports", "moderation-commons.reports", "List abuse reports on the Commons, newest first.", "cursor_invalid"), reports)

func reports(c *op.Call, in ReportsIn) (out ReportsOut, err error) {
	const list = "commons-reports"
	var after string
	if in.After != "" && !c.ReadCursor(list, in.After, &after) {
		return out, fault.New(fault.Invalid, "cursor_invalid", "Send the cursor exactly as the page before gave it, or none.").At("after")
	}
	w := newest(c, partitions("REPORTS"), reportPage+1)
	if after != "" {
		w.behind(after)
	}
	all, more, err := w.take(0, reportPage)
	if err != nil {
		return out, err
	}
	out.Reports = []ReportRow{}
	for _, e := range all {
		var r report
		if err := op.Decode(e.data, &r); err != nil {
			return out, err
		}
		out.Reports = append(out.Reports, ReportRow{r.ID, r.Type, r.EntityID, r.Reason, r.Reporter, Time(r.At)})
	}
	if more {
		next := c.Cursor(list, all[len(all)-1].place)
		out.NextCursor = &next
	}
	return out, nil
}
