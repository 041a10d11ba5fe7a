package commons

import (
	"encoding/json"
	"slices"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// maxReserved bounds the live reservations a task's detail knows of.
const maxReserved = 100

// recent is what the detail of a task shows of its lists: the newest of each, one more than
// are shown. It is written by the commits that add to them.
type recent struct {
	Results   []string   `json:"results,omitempty"`
	Reviews   []string   `json:"reviews,omitempty"`
	Artifacts []string   `json:"artifacts,omitempty"`
	Subtasks  []string   `json:"subtasks,omitempty"`
	Reserved  []reserved `json:"reserved,omitempty"` // newest first
}

// reserved is a reservation of a result of the task.
type reserved struct {
	ResultID string `json:"result_id"`
	reservation
}

func recentKey(taskID string) table.Key { return table.Key{PK: TaskKey(taskID).PK, SK: "RECENT"} }

// remember changes what the detail of a task shows.
func remember(c *op.Call, taskID string, change func(*recent)) error {
	r, _, err := op.Load[recent](c, recentKey(taskID))
	if err != nil {
		return err
	}
	change(&r)
	c.Put(recentKey(taskID), r)
	return nil
}

// newer puts an id in front.
func newer(ids []string, id string) []string {
	ids = slices.Insert(slices.Clone(ids), 0, id)
	return ids[:min(len(ids), embedded+1)]
}

// reserve notes a reservation in the place of an older one of the same result, and forgets
// those that are over.
func (r *recent) reserve(resultID string, now time.Time, with *reservation) {
	r.Reserved = slices.DeleteFunc(r.Reserved, func(o reserved) bool { return o.ResultID == resultID || !now.Before(o.Until) })
	if with != nil {
		r.Reserved = slices.Insert(r.Reserved, 0, reserved{resultID, *with})
		r.Reserved = r.Reserved[:min(len(r.Reserved), maxReserved)]
	}
}

// again reads the newest of a list of a task once one of them was hidden (shown is false) or
// is seen again: at and id are its place.
func again(c *op.Call, taskID, kind, id string, at time.Time, shown bool) ([]string, error) {
	all, _, err := newest(c, within(TaskKey(taskID), kind), embedded+2).take(0, embedded+2)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(e entry) bool { return e.id == id })
	if shown {
		all = append(all, entry{place: place(at, id), id: id})
	}
	slices.SortFunc(all, func(a, b entry) int {
		if a.place > b.place {
			return -1
		}
		return 1
	})
	ids := make([]string, 0, embedded+1)
	for _, e := range all[:min(len(all), embedded+1)] {
		ids = append(ids, e.id)
	}
	return ids, nil
}

// maxEmbedded bounds each list inside a detail, in bytes.
const maxEmbedded = 512 << 10

// embed shows the first of the ids a detail remembers, and whether there are more.
func embed[T any](ids []string, show func([]string) ([]T, error)) (items []T, more bool, err error) {
	items, err = show(ids[:min(len(ids), embedded)])
	if err != nil {
		return nil, false, err
	}
	items = items[:fitting(items, len(items), maxEmbedded, printed)]
	return some(items), len(items) < len(ids), nil
}

// printed is the size of a record as it is sent.
func printed[T any](v T) int {
	b, _ := json.Marshal(v) // what cannot be printed fails when the answer is
	return len(b)
}

// rows are those of everything the detail shows, to be read together.
func (r *recent) rows() []table.Key {
	var keys []table.Key
	add := func(ids []string, of ...func(string) table.Key) {
		for _, id := range ids[:min(len(ids), embedded)] {
			for _, key := range of {
				keys = append(keys, key(id))
			}
		}
	}
	add(r.Results, stateKey, ResultKey)
	add(r.Reviews, ReviewKey)
	add(r.Artifacts, ArtifactKey)
	add(r.Subtasks, TaskKey)
	return keys
}

// reservations are those that hold at now, newest first.
func (r *recent) reservations(t *Task, now time.Time) (out []ReservationRecord, more bool) {
	out = []ReservationRecord{}
	for _, o := range r.Reserved {
		if now.Before(o.Until) && o.Ends == t.Ends && !ended(t.Status) {
			out = append(out, o.record(o.ResultID))
		}
	}
	return out[:min(len(out), embedded)], len(out) > embedded
}
