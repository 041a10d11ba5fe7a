package commons

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
)

type obj = map[string]any

// world is an exchange with the commons.
type world struct {
	*optest.Exchange
	t       testing.TB
	n       int
	steward string
}

// actor is a registered agent.
type actor struct{ id, token, recovery string }

func newWorld(t testing.TB, opts ...optest.Option) *world {
	w := &world{Exchange: optest.New(t, append([]optest.Option{optest.WithTimers(Timers...)}, opts...)...), t: t}
	_, w.steward = w.Person("steward@example.com", "steward")
	return w
}

// agent registers an agent from an address of its own.
func (w *world) agent(name string, more ...obj) actor {
	w.t.Helper()
	body := obj{"name": name, "description": "An agent for tests."}
	for _, m := range more {
		for k, v := range m {
			body[k] = v
		}
	}
	w.n++
	r := w.Do(Register, optest.Req{Body: body, Address: fmt.Sprintf("198.51.%d.%d", w.n/250, w.n%250)}).Want(201)
	return actor{r.Str("agent.id"), r.Str("token"), r.Str("recovery_key")}
}

func (w *world) agents(prefix string, n int) []actor {
	all := make([]actor, n)
	for i := range all {
		all[i] = w.agent(fmt.Sprintf("%s %d", prefix, i))
	}
	return all
}

// spec is a task object.
func spec(creator string, more ...obj) obj {
	s := obj{"title": "Check the list of libraries", "objective": "Find which of the listed libraries still open on Sundays.",
		"acceptance_criteria": "Each library has a source.", "output_format": "text", "risk": "low", "category": "places", "difficulty": "easy",
		"capability": "research", "max_minutes": 60, "max_leg_minutes": 5, "creator": creator, "expires_at": "2027-06-01T00:00:00Z"}
	for _, m := range more {
		for k, v := range m {
			if v == nil {
				delete(s, k)
				continue
			}
			s[k] = v
		}
	}
	return s
}

// task makes a task through the operator's tool.
func (w *world) task(creator actor, more ...obj) string {
	w.t.Helper()
	b, _ := json.Marshal(spec(creator.id, more...))
	in, err := ParseSpec(b)
	if err != nil {
		w.t.Fatal(err)
	}
	id := ""
	w.Run("commons", func(c *op.Call) error { id, err = CreateTask(c, in); return err })
	return id
}

// act makes a task action.
func (w *world) act(a actor, o *op.Operation, task string, body any) optest.Res {
	w.t.Helper()
	if body == nil {
		body = obj{}
	}
	w.n++
	return w.Do(o, optest.Req{Token: a.token, Path: map[string]string{"task_id": task}, Body: body, Address: fmt.Sprint("act ", w.n)})
}

// get reads a path.
func (w *world) get(o *op.Operation, path string, query ...string) optest.Res {
	w.t.Helper()
	r := optest.Req{Query: map[string][]string{}}
	for i := 0; i+1 < len(query); i += 2 {
		r.Query[query[i]] = []string{query[i+1]}
	}
	if names := op.PathNames(o.Path); len(names) == 1 {
		r.Path = map[string]string{names[0]: path}
	}
	w.n++
	r.Address = fmt.Sprint("reader ", w.n)
	return w.Do(o, r)
}

func (w *world) readTask(id string) optest.Res { w.t.Helper(); return w.get(ReadTask, id).Want(200) }

func (w *world) readResult(id string) optest.Res {
	w.t.Helper()
	return w.get(ReadResult, id).Want(200)
}

// submitted makes a task with one contribution of the worker and returns both ids.
func (w *world) submitted(creator, worker actor, more ...obj) (task, result string) {
	w.t.Helper()
	task = w.task(creator, more...)
	w.act(worker, Claim, task, nil).Want(200)
	r := w.act(worker, Submit, task, obj{"content": "Three of them open on Sundays."}).Want(201)
	return task, r.Str("id")
}

func review(result, verdict, completeness string) obj {
	v := obj{"result_id": result, "verdict": verdict, "content": "I looked at every source.", "confidence": 0.8, "completeness": completeness}
	if completeness == "" {
		delete(v, "completeness")
	}
	return v
}

// by calls a steward's operation.
func (w *world) by(o *op.Operation, path string, body any) optest.Res {
	w.t.Helper()
	r := optest.Req{Token: w.steward, Body: body}
	if names := op.PathNames(o.Path); len(names) == 1 {
		r.Path = map[string]string{names[0]: path}
	}
	return w.Do(o, r)
}

// reasons of a refused acceptance.
func reasons(r optest.Res) string {
	list, _ := r.At("detail.reasons").([]any)
	var all []string
	for _, e := range list {
		all = append(all, fmt.Sprint(e))
	}
	return strings.Join(all, " ")
}

var _ = time.Second
var _ table.Key
