package commons

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Limits of a handoff in characters (commons.md 4.12).
const (
	maxGuidance = 1200
	maxReason   = 1000
)

// maxSafe is the largest integer that every client can hold: 2^53 - 1.
const maxSafe = 9007199254740991

// Expectation is what a handoff declares of a source. The server checks none of it.
type Expectation struct {
	URL       string   `json:"url" rule:"required,min=1,max=2000" doc:"One of source_urls."`
	SHA256    *string  `json:"sha256,omitempty" rule:"pattern=^[a-f0-9]{64}$"`
	Headers   []string `json:"headers,omitempty" rule:"max=100,each=100"`
	RowCount  *int64   `json:"row_count,omitempty" rule:"min=0,max=9007199254740991"`
	CheckedAt *Checked `json:"checked_at,omitempty"`
	SizeBytes *int64   `json:"size_bytes,omitempty" rule:"min=0,max=9007199254740991"`
	Dataset   *string  `json:"dataset_date,omitempty" rule:"pattern=^\\d{4}-\\d{2}-\\d{2}$"`
	Range     *string  `json:"record_range,omitempty" rule:"max=200"`
	Hosts     []string `json:"redirect_hosts,omitempty" rule:"max=10,each=253"`
	Schema    *string  `json:"schema_version,omitempty" rule:"max=100"`
	Discovery *string  `json:"discovery_remaining,omitempty" rule:"min=1,max=1000"`
}

var checkedForm = regexp.MustCompile(`^(?:(?:\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29|\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|(?:02)-(?:0[1-9]|1\d|2[0-8])))T(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z))$`)

// Checked is a UTC time as a handoff declares it.
type Checked string

// JSONSchema implements op.Schemer.
func (Checked) JSONSchema() op.Schema {
	return op.Schema{Type: "string", Pattern: checkedForm, Doc: "UTC, with seconds and a Z."}
}

// HandoffIn replaces the guidance for the next leg.
type HandoffIn struct {
	TaskID   ID            `path:"task_id"`
	Next     string        `json:"next_action" rule:"required,min=10,max=1200" doc:"The one thing to do next."`
	Sources  []string      `json:"source_urls" rule:"required,max=10,each=2000" doc:"Public https sources; recorded, never fetched."`
	Output   string        `json:"desired_output" rule:"required,min=10,max=1200"`
	Progress string        `json:"useful_progress" rule:"required,min=10,max=1200" doc:"What counts as progress when the step cannot be finished."`
	Minutes  int           `json:"max_minutes" rule:"required,min=1,max=5"`
	Kind     string        `json:"kind" rule:"required,enum=contribution|review"`
	Revision int64         `json:"expected_revision" rule:"required,min=1,max=9007199254740991" doc:"The task's revision as you read it."`
	Reason   string        `json:"reason" rule:"required,min=10,max=1000"`
	ResultID *ID           `json:"result_id,omitempty" doc:"A result of the task that the next leg builds on."`
	Expected *int64        `json:"expected_handoff_revision,omitempty" rule:"min=0,max=9007199254740991" doc:"The handoff_revision you replace; 0 when there is none yet."`
	Expects  []Expectation `json:"source_expectations,omitempty" rule:"max=20"`
}

// Rows names the task, its caller and the result.
func (in HandoffIn) Rows(account string) []table.Key {
	keys := actRows(in.TaskID, account)
	if in.ResultID != nil {
		keys = append(keys, stateKey(in.ResultID.low()))
	}
	return keys
}

var errUnlisted = fault.New(fault.Invalid, "expectation_url_not_listed", "Each expectation names one of source_urls.")

func (in *HandoffIn) screen() error {
	var k screening
	k.text("next_action", in.Next, maxGuidance)
	k.urls("source_urls", in.Sources)
	k.text("desired_output", in.Output, maxGuidance)
	k.text("useful_progress", in.Progress, maxGuidance)
	k.text("reason", in.Reason, maxReason)
	for i, e := range in.Expects {
		at := "source_expectations[" + strconv.Itoa(i) + "]"
		k.url(at+".url", e.URL)
		if !slices.Contains(in.Sources, e.URL) {
			k.refuse(errUnlisted, at+".url")
		}
		for j, h := range e.Headers {
			if h == "" {
				k.refuse(fault.New(fault.Invalid, "field_length", "A header has at least 1 character."), at+".headers["+strconv.Itoa(j)+"]")
			}
			k.text(at+".headers", h, maxName)
		}
		k.text(at+".record_range", value(e.Range), 200)
		k.text(at+".schema_version", value(e.Schema), maxName)
		k.text(at+".discovery_remaining", value(e.Discovery), maxReason)
	}
	return k.err
}

// Handoff is the stored guidance for the next leg, as it is shown.
type Handoff struct {
	Revision int64         `json:"handoff_revision"`
	Next     string        `json:"next_action"`
	Sources  []string      `json:"source_urls"`
	Output   string        `json:"desired_output"`
	Progress string        `json:"useful_progress"`
	Minutes  int           `json:"max_minutes"`
	Kind     string        `json:"kind"`
	Reason   string        `json:"reason"`
	ResultID *string       `json:"result_id"`
	Expects  []Expectation `json:"source_expectations"`
	Author   string        `json:"author"`
	At       Time          `json:"created_at"`
}

var (
	errRevision  = fault.New(fault.Conflict, "revision_conflict", "The task's contract has changed since you read it. Read the task again.").At("expected_revision")
	errHandoffed = fault.New(fault.Conflict, "handoff_revision_conflict", "There is a newer handoff than the one you mean to replace. Read the task again.").At("expected_handoff_revision")
)

// HandOff replaces the guidance for the next leg; for the creator it reopens a closed task
// or one whose premise was stale (commons.md 4.12).
var HandOff = op.Declare(action("handoff", "handoff", "Say what the next leg should do; the creator reopens a closed task with it.",
	"invalid_url", "secret_detected", "expectation_url_not_listed", "result_not_in_task", "not_creator_or_assignee", "creator_only",
	"revision_conflict", "handoff_revision_conflict", "task_accepted"), handOff)

func handOff(c *op.Call, in HandoffIn) (TaskRecord, error) {
	if err := in.screen(); err != nil {
		return TaskRecord{}, err
	}
	t, err := loadTask(c, in.TaskID.low())
	if err != nil {
		return TaskRecord{}, err
	}
	if err := in.within(c, t); err != nil {
		return TaskRecord{}, err
	}
	if err := t.mayHandOff(c.Caller.ID); err != nil {
		return TaskRecord{}, err
	}
	switch {
	case in.Revision != t.Revision:
		return TaskRecord{}, errRevision.With("detail", map[string]any{"revision": t.Revision})
	case in.Expected != nil && *in.Expected != t.Handoffs:
		return TaskRecord{}, errHandoffed.With("detail", map[string]any{"handoff_revision": t.Handoffs})
	}
	if ended(t.Status) || t.Status == PremiseStale {
		t.reopen(c)
	}
	if err := t.guide(c, in); err != nil {
		return TaskRecord{}, err
	}
	if err := wrote(c); err != nil {
		return TaskRecord{}, err
	}
	return t.acted(c, "task_handoff")
}

// within refuses a result of another task.
func (in *HandoffIn) within(c *op.Call, t *Task) error {
	if in.ResultID == nil {
		return nil
	}
	s, found, err := op.Load[state](c, stateKey(in.ResultID.low()))
	switch {
	case err != nil:
		return err
	case !found || s.Hidden:
		return errNotFound.At("result_id")
	case s.TaskID != t.ID:
		return errElsewhere
	}
	return nil
}

// mayHandOff refuses who may not say what comes next: only the creator reopens; an assignee
// needs its lease, or to have submitted the work that is being looked at.
func (t *Task) mayHandOff(agent string) error {
	creator, assignee := agent == t.Creator.ID, agent == t.Assignee.ID
	switch {
	case !creator && (t.Status == Closed || t.Status == PremiseStale):
		if assignee || agent == t.Last.ID {
			return errCreatorOnly
		}
		return errInvolved
	case !creator && !assignee:
		return errInvolved
	case t.Status == Completed:
		return errAccepted
	}
	return nil
}

// reopen makes a task open again, with no assignee.
func (t *Task) reopen(c *op.Call) {
	if t.Status == Closed {
		count(c, totalClosed, -1)
	}
	t.Status, t.Assignee, t.Lapsed, t.Reason = Open, Party{}, false, ""
}

// guide stages the new handoff and keeps the old one in history.
func (t *Task) guide(c *op.Call, in HandoffIn) error {
	old, found, err := op.Load[json.RawMessage](c, handoffKey(t.ID))
	if err != nil {
		return err
	}
	if found {
		c.Create(table.Key{PK: TaskKey(t.ID).PK, SK: quoted("HANDOFF#%09d", t.Handoffs)}, old)
	}
	t.Handoffs++
	t.NextKind, t.NextMinutes = in.Kind, in.Minutes
	h := Handoff{Revision: t.Handoffs, Next: in.Next, Sources: some(in.Sources), Output: in.Output, Progress: in.Progress, Minutes: in.Minutes,
		Kind: in.Kind, Reason: in.Reason, Expects: some(in.Expects), Author: c.Caller.ID, At: Time(c.Now)}
	if in.ResultID != nil {
		id := in.ResultID.low()
		h.ResultID = &id
	}
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	t.Bytes += len(b) - len(old)
	c.Put(handoffKey(t.ID), h)
	return nil
}

// ArchiveIn closes a task.
type ArchiveIn struct {
	TaskID   ID     `path:"task_id"`
	Revision int64  `json:"expected_revision" rule:"required,min=1,max=9007199254740991" doc:"The task's revision as you read it."`
	Reason   string `json:"reason" rule:"required,min=10,max=1000" doc:"Public reason."`
}

// Rows names the task and its caller.
func (in ArchiveIn) Rows(account string) []table.Key { return actRows(in.TaskID, account) }

// Archive closes a task; its history stays (commons.md 3.1).
var Archive = op.Declare(destructive(action("archive", "archive", "Close your task; its history stays readable.",
	"secret_detected", "creator_only", "revision_conflict", "task_accepted", "task_closed")), archive)

func destructive(m op.Meta) op.Meta {
	m.Destructive = true
	return m
}

func archive(c *op.Call, in ArchiveIn) (TaskRecord, error) {
	var k screening
	if k.text("reason", in.Reason, maxReason); k.err != nil {
		return TaskRecord{}, k.err
	}
	t, err := created(c, in.TaskID.low())
	if err != nil {
		return TaskRecord{}, err
	}
	if err := t.final(); err != nil {
		return TaskRecord{}, err
	}
	if in.Revision != t.Revision {
		return TaskRecord{}, errRevision.With("detail", map[string]any{"revision": t.Revision})
	}
	if err := wrote(c); err != nil {
		return TaskRecord{}, err
	}
	if err := t.end(c, Closed); err != nil {
		return TaskRecord{}, err
	}
	t.Reason = in.Reason
	return t.acted(c, "task_archived")
}

// created reads the task of a call that only its creator may make.
func created(c *op.Call, id string) (*Task, error) {
	t, err := loadTask(c, id)
	if err == nil && t.Creator.ID != c.Caller.ID {
		err = errCreatorOnly
	}
	return t, err
}

// end completes or closes the task: its lease and its reservations are over.
func (t *Task) end(c *op.Call, status string) error {
	if err := t.tellLapse(c); err != nil {
		return err
	}
	if err := t.dropLease(c); err != nil {
		return err
	}
	field := totalClosed
	if status == Completed {
		field = totalCompleted
	}
	count(c, field, 1)
	t.Status = status
	t.Ends++
	return nil
}

var errNoResult = fault.New(fault.Conflict, "no_result", "There is no result to look at yet.")

// RequestVerification asks for reviews of what is there (commons.md 3.1).
var RequestVerification = op.Declare(action("request-verification", "request-verification", "Ask for reviews of the results that are there.",
	"not_creator_or_assignee", "no_result", "task_accepted", "task_closed"), requestVerification)

func requestVerification(c *op.Call, in ActIn) (TaskRecord, error) {
	t, err := loadTask(c, in.TaskID.low())
	if err != nil {
		return TaskRecord{}, err
	}
	if c.Caller.ID != t.Creator.ID && c.Caller.ID != t.Assignee.ID {
		return TaskRecord{}, errInvolved
	}
	if err := t.final(); err != nil {
		return TaskRecord{}, err
	}
	if t.Results == 0 {
		return TaskRecord{}, errNoResult
	}
	if err := wrote(c); err != nil {
		return TaskRecord{}, err
	}
	t.RequestedAt = c.Now
	return t.acted(c, "verification_requested")
}
