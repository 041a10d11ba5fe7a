package commons

import (
	"encoding/json"
	"slices"
	"strings"

	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// TasksIn filters and orders the tasks; all filters hold together (commons.md 4.2).
type TasksIn struct {
	Pager
	Status     string `query:"status" doc:"A status, or pending-review, or completion-review."`
	Ready      string `query:"ready" doc:"true: open, unexpired, low-risk, approved."`
	View       string `query:"view" doc:"summary or full (default)."`
	Sort       string `query:"sort" doc:"best, review, newest (default), shortest, progress or featured."`
	ParentID   string `query:"parent_id"`
	RoomID     string `query:"room_id"`
	Assignee   string `query:"assignee"`
	Capability string `query:"capability"`
	Category   string `query:"category"`
	Difficulty string `query:"difficulty"`
	MaxMinutes string `query:"max_minutes" doc:"1 to 480: the whole budget."`
	MaxLeg     string `query:"max_leg_minutes" doc:"1 to 15: the next leg; above 5 has no effect on contributions."`
}

// Limits of the minutes in filters.
const (
	maxTaskMinutes = 480
	maxLegMinutes  = 15
)

// filter checks the query.
func (in *TasksIn) filter() (f filter, err error) {
	if f.limit, f.offset, err = in.window(); err != nil {
		return f, err
	}
	if f.maxMinutes, err = number("max_minutes", in.MaxMinutes, 1, maxTaskMinutes, 0); err != nil {
		return f, err
	}
	if f.maxLegMinutes, err = number("max_leg_minutes", in.MaxLeg, 1, maxLegMinutes, 0); err != nil {
		return f, err
	}
	words := []struct {
		name, value string
		allowed     []string
	}{
		{"status", in.Status, append([]string{"pending-review", "completion-review"}, Statuses...)},
		{"ready", in.Ready, []string{"true"}},
		{"view", in.View, []string{"summary", "full"}},
		{"sort", in.Sort, []string{"best", "review", "newest", "shortest", "progress", "featured"}},
	}
	for _, w := range words {
		if w.value != "" && !slices.Contains(w.allowed, w.value) {
			return f, errQuery.Say(w.name + " is one of " + strings.Join(w.allowed, ", ") + ".").At(w.name)
		}
	}
	for _, v := range [][2]string{{"parent_id", in.ParentID}, {"room_id", in.RoomID}, {"assignee", in.Assignee}} {
		if _, err := queryID(v[0], v[1]); err != nil {
			return f, err
		}
	}
	f.status, f.sort, f.ready, f.summary = in.Status, in.Sort, in.Ready == "true", in.View == "summary"
	f.parent, f.room, f.assignee = strings.ToLower(in.ParentID), strings.ToLower(in.RoomID), strings.ToLower(in.Assignee)
	f.capability, f.category, f.difficulty = strings.TrimSpace(in.Capability), strings.TrimSpace(in.Category), strings.TrimSpace(in.Difficulty)
	return f, nil
}

// ListTasks lists tasks (commons.md 4.2, 7).
var ListTasks = op.Declare(read("tasks", "task.list", "List tasks by status, room, budget and more, in an order of choice.", "invalid_query"), listTasks)

func listTasks(c *op.Call, in TasksIn) (PageOf[TaskRecord], error) {
	f, err := in.filter()
	if err != nil {
		return PageOf[TaskRecord]{}, err
	}
	all, err := matching(c, f)
	if err != nil {
		return PageOf[TaskRecord]{}, err
	}
	shown := all[min(f.offset, len(all)):]
	shown = shown[:fitting(shown, f.limit, maxPageBytes, func(l line) int {
		if f.summary {
			return taskBytes
		}
		return taskBytes + l.Bytes
	})]
	items, err := tasksOf(c, shown, !f.summary)
	return pageOf(items, f.offset, f.offset+len(shown) < len(all)), err
}

// taskBytes is about what a task takes on a page without its texts.
const taskBytes = 1500

// fitting is how many rows make a page: at most limit, of at most so many bytes, one at least.
func fitting[T any](rows []T, limit, most int, bytes func(T) int) int {
	total := 0
	for i, r := range rows[:min(limit, len(rows))] {
		if total += bytes(r); i > 0 && total > most {
			return i
		}
	}
	return min(limit, len(rows))
}

// tasksOf reads the tasks of lines.
func tasksOf(c *op.Call, lines []line, texts bool) ([]TaskRecord, error) {
	ids := make([]string, len(lines))
	for i, l := range lines {
		ids[i] = l.ID
	}
	return tasksByID(c, ids, texts)
}

// tasksByID reads tasks as lists show them. A row that is gone is left out.
func tasksByID(c *op.Call, ids []string, texts bool) ([]TaskRecord, error) {
	var keys []table.Key
	for _, id := range ids {
		keys = append(keys, TaskKey(id))
	}
	if texts {
		for _, id := range ids {
			keys = append(keys, contractKey(id), handoffKey(id))
		}
	}
	rows, err := scan(c, keys)
	if err != nil {
		return nil, err
	}
	out := make([]TaskRecord, 0, len(ids))
	for i := range ids {
		t, found, err := decode[Task](rows[i])
		if err != nil {
			return nil, err
		}
		if !found || t.Hidden {
			continue
		}
		t.settle(c.Now)
		if !texts {
			out = append(out, t.summary(c.Now))
			continue
		}
		at := len(ids) + 2*i
		k, _, err := decode[Contract](rows[at])
		if err != nil {
			return nil, err
		}
		h, _, err := decode[json.RawMessage](rows[at+1])
		if err != nil {
			return nil, err
		}
		out = append(out, t.full(c.Now, k, h))
	}
	return out, nil
}

// TaskDetail is a task with what belongs to it.
type TaskDetail struct {
	TaskRecord
	Results          []ResultRecord      `json:"results"`
	ResultsMore      bool                `json:"results_more,omitempty"`
	Reviews          []ReviewRecord      `json:"reviews"`
	ReviewsMore      bool                `json:"reviews_more,omitempty"`
	Subtasks         []TaskRecord        `json:"subtasks"`
	SubtasksMore     bool                `json:"subtasks_more,omitempty"`
	Artifacts        []ArtifactRecord    `json:"artifacts"`
	ArtifactsMore    bool                `json:"artifacts_more,omitempty"`
	Reservations     []ReservationRecord `json:"review_reservations"`
	ReservationsMore bool                `json:"review_reservations_more,omitempty"`
}

// TaskIn names a task by its path.
type TaskIn struct {
	TaskID string `path:"task_id"`
}

// Rows names the task's rows.
func (in TaskIn) Rows(string) []table.Key {
	id := strings.ToLower(in.TaskID)
	return []table.Key{TaskKey(id), contractKey(id), handoffKey(id), recentKey(id)}
}

// ReadTask reads a task with its newest results, reviews, subtasks and artifacts.
var ReadTask = op.Declare(read("tasks/{task_id}", "task.read", "Read a task: its criteria, handoff, results, reviews and more.", "invalid_path", "not_found"), readTask)

func readTask(c *op.Call, in TaskIn) (d TaskDetail, err error) {
	id, err := pathID(in.TaskID)
	if err != nil {
		return d, err
	}
	t, err := loadTask(c, id)
	if err != nil {
		return d, err
	}
	if d.TaskRecord, err = t.answer(c); err != nil {
		return d, err
	}
	r, _, err := op.Load[recent](c, recentKey(id))
	if err != nil {
		return d, err
	}
	if err := c.Fetch(r.rows()...); err != nil {
		return d, err
	}
	if d.Results, d.ResultsMore, err = embed(r.Results, resultsShown(c)); err != nil {
		return d, err
	}
	if d.Reviews, d.ReviewsMore, err = embed(r.Reviews, reviewsShown(c)); err != nil {
		return d, err
	}
	if d.Artifacts, d.ArtifactsMore, err = embed(r.Artifacts, artifactsShown(c)); err != nil {
		return d, err
	}
	d.Reservations, d.ReservationsMore = r.reservations(t, c.Now)
	d.Subtasks, d.SubtasksMore, err = embed(r.Subtasks, func(ids []string) ([]TaskRecord, error) { return tasksByID(c, ids, false) })
	return d, err
}
