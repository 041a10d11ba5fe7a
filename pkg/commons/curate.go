package commons

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// lowRisk is the risk of tasks that are offered as ready.
const lowRisk = "low"

// Spec is a task as its operator describes it (commons.md C-G4). In a change, what is left
// out stays.
type Spec struct {
	Title      *string      `json:"title,omitempty" rule:"min=3,max=200"`
	Objective  *string      `json:"objective,omitempty" rule:"min=1,max=8000"`
	Criteria   *string      `json:"acceptance_criteria,omitempty" rule:"min=1,max=8000"`
	Format     *string      `json:"output_format,omitempty" rule:"enum=text|markdown|json"`
	Keys       *[]string    `json:"required_output_keys,omitempty" rule:"max=50,each=100" doc:"For json tasks."`
	Risk       *string      `json:"risk,omitempty" rule:"enum=low|medium|high"`
	Category   *string      `json:"category,omitempty" rule:"min=1,max=64"`
	Difficulty *string      `json:"difficulty,omitempty" rule:"min=1,max=64"`
	Capability *string      `json:"capability,omitempty" rule:"min=1,max=64"`
	MaxMinutes *int         `json:"max_minutes,omitempty" rule:"min=1,max=480"`
	MaxLeg     *int         `json:"max_leg_minutes,omitempty" rule:"min=1,max=15"`
	Creator    *ID          `json:"creator,omitempty" doc:"The agent that decides on the task."`
	ExpiresAt  *Time        `json:"expires_at,omitempty"`
	Featured   *bool        `json:"featured,omitempty"`
	ParentID   *ID          `json:"parent_id,omitempty" doc:"The task this one is a historical part of."`
	RoomID     op.Field[ID] `json:"room_id,omitzero"`
	Approved   *bool        `json:"approved,omitempty" doc:"false keeps the task from being claimed."`
}

// taskTitle is the length of a title in characters, of a label and of an output key.
const (
	maxTitle     = 200
	maxOutputKey = 100
)

// ParseSpec reads a task from a file or a local control, with the checks of an operation.
func ParseSpec(body []byte) (Spec, error) {
	var in StewardCreateIn
	tree, err := op.ParseStrict(body)
	if err != nil {
		return in.Spec, fault.BadJSON
	}
	if p := StewardCreate.Body().Unknown(tree, ""); p != nil {
		return in.Spec, word(*p)
	}
	if p := StewardCreate.Body().Check(tree, ""); p != nil {
		return in.Spec, word(*p)
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return in.Spec, fault.BadJSON.Say("A field has a value this object does not take: " + err.Error())
	}
	return in.Spec, nil
}

func (in *Spec) screen() error {
	var k screening
	for _, f := range []struct {
		name  string
		value *string
		limit int
	}{{"title", in.Title, maxTitle}, {"objective", in.Objective, maxText}, {"acceptance_criteria", in.Criteria, maxText},
		{"category", in.Category, maxLabel}, {"difficulty", in.Difficulty, maxLabel}, {"capability", in.Capability, maxLabel}} {
		k.text(f.name, value(f.value), f.limit)
	}
	if in.Keys != nil {
		for i, key := range *in.Keys {
			at := "required_output_keys[" + strconv.Itoa(i) + "]"
			if strings.TrimSpace(key) == "" {
				k.refuse(fault.New(fault.Invalid, "field_length", "A key has at least 1 character."), at)
			}
			k.text(at, key, maxOutputKey)
		}
	}
	return k.err
}

// missing is the first field a new task cannot do without.
func (in *Spec) missing() string {
	for _, f := range []struct {
		name string
		sent bool
	}{{"title", in.Title != nil}, {"objective", in.Objective != nil}, {"acceptance_criteria", in.Criteria != nil},
		{"output_format", in.Format != nil}, {"risk", in.Risk != nil}, {"max_minutes", in.MaxMinutes != nil},
		{"max_leg_minutes", in.MaxLeg != nil}, {"creator", in.Creator != nil}, {"expires_at", in.ExpiresAt != nil}} {
		if !f.sent {
			return f.name
		}
	}
	return ""
}

var (
	errFull    = fault.New(fault.Conflict, "too_many_tasks", "5000 tasks stand that are neither completed nor closed. Archive some first.")
	errCreator = fault.New(fault.Invalid, "creator_unknown", "There is no such agent.").At("creator")
	errNoRoom  = fault.New(fault.Invalid, "room_unknown", "There is no such room.").At("room_id")
	errNoTask  = fault.New(fault.Invalid, "parent_unknown", "There is no such task, or it is completed already.").At("parent_id")
	errKeys    = fault.New(fault.Invalid, "field_value", "Only a json task has required_output_keys.").At("required_output_keys")
	errPast    = fault.New(fault.Invalid, "field_value", "expires_at lies in the past.").At("expires_at")
)

// CreateTask stages a new task and returns its id. It is the operator's: agents have no call
// for it (commons.md C-G4). It is approved unless the spec says otherwise.
func CreateTask(c *op.Call, in Spec) (string, error) {
	if f := in.missing(); f != "" {
		return "", word(op.Problem{Field: f, Keyword: "missing"})
	}
	if err := in.screen(); err != nil {
		return "", err
	}
	if !c.Now.Before(time.Time(*in.ExpiresAt)) {
		return "", errPast
	}
	if err := vacancy(c); err != nil {
		return "", err
	}
	t := Task{ID: c.NewID(), Status: Open, Approved: true, CreatedAt: c.Now, UpdatedAt: c.Now, Revision: 1}
	var k Contract
	if _, err := in.apply(c, &t, &k); err != nil {
		return "", err
	}
	if in.ParentID != nil {
		if err := t.under(c, in.ParentID.low()); err != nil {
			return "", err
		}
	}
	c.Create(TaskKey(t.ID), t)
	c.Create(contractKey(t.ID), k)
	c.Create(standingKey(t.ID), t.line())
	c.Create(listed("FIND#tasks", t.ID, t.CreatedAt), finding{Name: t.Title, Text: head(k.Objective)})
	count(c, totalTasks, 1)
	return t.ID, nil
}

// curation is a row that every creation rewrites, so that no two count at the same time.
type curation struct {
	Created int64 `json:"created"`
}

var curationKey = table.Key{PK: "commons.CURATION", SK: "ROOT"}

// vacancy refuses a task when as many stand as lists look through.
func vacancy(c *op.Call) error {
	made, _, err := op.Load[curation](c, curationKey)
	if err != nil {
		return err
	}
	n := 0
	for s := range uint32(taskShards) {
		q := table.Query{PK: standingPK(s), KeysOnly: true}
		for {
			p, err := c.Query(q)
			if err != nil {
				return err
			}
			if n += len(p.Rows); !p.More {
				break
			}
			q.After = p.Rows[len(p.Rows)-1].SK
		}
	}
	if n >= MaxStanding {
		return errFull
	}
	made.Created++
	c.Put(curationKey, made)
	return nil
}

// under makes a new task a part of another one.
func (t *Task) under(c *op.Call, parent string) error {
	p, found, err := op.Load[Task](c, TaskKey(parent))
	if err != nil {
		return err
	}
	if !found || p.Status == Completed {
		return errNoTask
	}
	p.Unfinished++
	t.ParentID = p.ID
	c.Put(TaskKey(p.ID), p)
	c.Create(below(TaskKey(p.ID), "SUBTASK", t.ID, t.CreatedAt), nothing{})
	return remember(c, p.ID, func(n *recent) { n.Subtasks = newer(n.Subtasks, t.ID) })
}

// apply changes the task and its contract by what was sent, and tells whether the contract
// changed.
func (in *Spec) apply(c *op.Call, t *Task, k *Contract) (changed bool, err error) {
	before := *k
	minutes, leg := t.MaxMinutes, t.MaxLeg
	set(&t.Title, in.Title)
	set(&k.Objective, in.Objective)
	set(&k.Criteria, in.Criteria)
	set(&k.Format, in.Format)
	set(&k.Keys, in.Keys)
	set(&t.Risk, in.Risk)
	set(&t.Category, in.Category)
	set(&t.Difficulty, in.Difficulty)
	set(&t.Capability, in.Capability)
	set(&t.MaxMinutes, in.MaxMinutes)
	set(&t.MaxLeg, in.MaxLeg)
	set(&t.Featured, in.Featured)
	set(&t.Approved, in.Approved)
	if in.ExpiresAt != nil {
		t.ExpiresAt = time.Time(*in.ExpiresAt)
	}
	if len(k.Keys) > 0 && k.Format != formatJSON {
		return false, errKeys
	}
	if err := in.name(c, t); err != nil {
		return false, err
	}
	changed = !sameJSON(before, *k) || minutes != t.MaxMinutes || leg != t.MaxLeg
	t.Bytes += textBytes(*k) - textBytes(before)
	return changed, nil
}

// name resolves the agent and the room that were sent.
func (in *Spec) name(c *op.Call, t *Task) error {
	if in.Creator != nil {
		a, found, err := op.Load[Agent](c, AgentKey(in.Creator.low()))
		if err != nil {
			return err
		}
		if !found {
			return errCreator
		}
		t.Creator = a.party()
	}
	if in.RoomID.Sent && in.RoomID.Value == nil {
		t.RoomID = ""
	}
	if in.RoomID.Value != nil {
		r, found, err := op.Load[Room](c, RoomKey(in.RoomID.Value.low()))
		if err != nil {
			return err
		}
		if !found || r.Hidden {
			return errNoRoom
		}
		t.RoomID = r.ID
	}
	return nil
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

func textBytes(k Contract) int {
	n := len(k.Objective) + len(k.Criteria)
	for _, key := range k.Keys {
		n += len(key) + 3
	}
	return n
}

// StewardCreateIn is a new task.
type StewardCreateIn struct{ Spec }

// Rows names whom and what the task names, and what every creation rewrites.
func (in StewardCreateIn) Rows(string) []table.Key {
	keys := []table.Key{curationKey}
	if in.Creator != nil {
		keys = append(keys, AgentKey(in.Creator.low()))
	}
	if in.RoomID.Value != nil {
		keys = append(keys, RoomKey(in.RoomID.Value.low()))
	}
	if in.ParentID != nil {
		keys = append(keys, TaskKey(in.ParentID.low()), recentKey(in.ParentID.low()))
	}
	return keys
}

// steward is the declaration of a steward's call on the commons.
func steward(method, path, id, summary string, faults ...string) op.Meta {
	m := op.Meta{ID: "steward." + id, Method: method, Path: "/api/steward/" + path, Auth: op.Steward, Idempotent: op.KeyRequired, Summary: summary,
		Faults: faults, Contract: "surface.md 4, commons.md C-G4"}
	if method == "GET" {
		m.Idempotent = op.KeyIgnored
	}
	return m
}

// StewardCreate makes a task, cleared for work (commons.md C-G4).
var StewardCreate = op.Declare(steward("POST", "commons/tasks", "commons-task.create", "Create a Commons task, cleared for work.",
	"secret_detected", "creator_unknown", "room_unknown", "parent_unknown", "too_many_tasks", "field_required", "field_length", "field_value"), stewardCreate)

func stewardCreate(c *op.Call, in StewardCreateIn) (TaskRecord, error) {
	id, err := CreateTask(c, in.Spec)
	if err != nil {
		return TaskRecord{}, err
	}
	t, _, err := op.Load[Task](c, TaskKey(id))
	if err != nil {
		return TaskRecord{}, err
	}
	if err := audit(c, "task.created", "task:"+id, nil); err != nil {
		return TaskRecord{}, err
	}
	k, _, err := op.Load[Contract](c, contractKey(id))
	return t.full(c.Now, k, nil), err
}

// StewardEditIn changes a task.
type StewardEditIn struct {
	TaskID ID `path:"task_id"`
	Spec
}

// Rows names the task.
func (in StewardEditIn) Rows(string) []table.Key { return taskRows(in.TaskID.low()) }

// StewardEdit changes a task. A change of its contract raises the revision, and with it every
// owner_review_state (commons.md C-G9).
var StewardEdit = op.Declare(steward("PATCH", "commons/tasks/{task_id}", "commons-task.edit", "Change, approve, feature or hand over a Commons task.",
	"secret_detected", "creator_unknown", "room_unknown", "parent_unknown", "not_found", "task_accepted", "field_length", "field_value"), stewardEdit)

func stewardEdit(c *op.Call, in StewardEditIn) (TaskRecord, error) {
	if err := in.screen(); err != nil {
		return TaskRecord{}, err
	}
	if in.ParentID != nil {
		return TaskRecord{}, errNoTask.Say("A task's place in its history does not change.")
	}
	t, found, err := op.Load[Task](c, TaskKey(in.TaskID.low()))
	if err != nil {
		return TaskRecord{}, err
	}
	if !found {
		return TaskRecord{}, errNotFound.At("task_id")
	}
	t.settle(c.Now)
	if t.Status == Completed {
		return TaskRecord{}, errAccepted
	}
	k, _, err := op.Load[Contract](c, contractKey(t.ID))
	if err != nil {
		return TaskRecord{}, err
	}
	changed, err := in.apply(c, &t, &k)
	if err != nil {
		return TaskRecord{}, err
	}
	if changed {
		t.Revision++
	}
	t.UpdatedAt = c.Now
	c.Put(contractKey(t.ID), k)
	if err := t.save(c); err != nil {
		return TaskRecord{}, err
	}
	if found := listed("FIND#tasks", t.ID, t.CreatedAt); !t.Hidden {
		if err := c.Fetch(found); err != nil {
			return TaskRecord{}, err
		}
		c.Put(found, finding{Name: t.Title, Text: head(k.Objective)})
	}
	if err := audit(c, "task.edited", "task:"+t.ID, in.Spec); err != nil {
		return TaskRecord{}, err
	}
	return t.answer(c)
}
