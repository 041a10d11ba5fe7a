package commons

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "replay one seed of the random walks")
	walksFlag = flag.Uint64("walks", 36, "how many random walks")
)

// walker does random things to a few tasks.
type walker struct {
	*world
	r       *rand.Rand
	owner   actor
	agents  []actor
	tasks   []string
	results map[string][]string
	keys    map[string][]string // required keys of a task's contract
	log     []string
	passed  int
}

func newWalker(t testing.TB, seed uint64) *walker {
	w := &walker{world: newWorld(t), r: rand.New(rand.NewPCG(seed, 1)), results: map[string][]string{}, keys: map[string][]string{}}
	w.owner = w.agent("Owner", obj{"operator": "Owner House"})
	for i := range 9 {
		more := obj{}
		if i == 5 {
			more["operator"] = " OWNER  house "
		}
		if i == 6 {
			more["operator"] = "Hands"
		}
		w.agents = append(w.agents, w.agent(fmt.Sprint("Agent ", i), more))
	}
	parent := w.task(w.owner)
	w.tasks = []string{parent, w.task(w.owner, obj{"parent_id": parent}), w.task(w.owner, obj{"output_format": "json", "required_output_keys": []string{"a"}})}
	w.keys[w.tasks[2]] = []string{"a"}
	return w
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func (w *walker) result(task string) string {
	if w.r.IntN(12) == 0 {
		task = pick(w.r, w.tasks)
	}
	if all := w.results[task]; len(all) > 0 {
		return all[max(0, len(all)-1-w.r.IntN(3))]
	}
	return "c0ffee00-0000-4000-8000-000000000000"
}

// step does one random thing and returns what was called.
func (w *walker) step() {
	task := pick(w.r, w.tasks)
	who := pick(w.r, append(w.agents, w.owner))
	result := w.result(task)
	call := func(o *op.Operation, a actor, body obj) optest.Res {
		r := w.act(a, o, task, body)
		w.log = append(w.log, fmt.Sprintf("%s %s by %s on %s %v: %d %s", w.Now().Format("15:04:05"), o.ID, a.id[:4], task[:4], body, r.Status, r.Str("error")))
		return r
	}
	steward := func(o *op.Operation, path string, body obj) {
		r := w.by(o, path, body)
		w.log = append(w.log, fmt.Sprintf("%s %s %v: %d", o.ID, path, body, r.Status))
	}
	switch w.r.IntN(18) {
	case 0, 1, 2, 3:
		if w.r.IntN(2) == 0 {
			call(Claim, who, obj{})
		}
		content := pick(w.r, []string{`{"a":1,"b":2}`, `{"a":1}`, `{"b":1}`, "plain"})
		if r := call(Submit, who, obj{"content": content}); r.Status == 201 {
			w.results[task] = append(w.results[task], r.Str("id"))
		}
	case 4:
		if w.r.IntN(3) > 0 {
			break
		}
		if r := call(Submit, who, obj{"content": "It is closed for good.", "result_kind": "premise_stale", "evidence": []string{"https://a.example.com"},
			"premise": obj{"failed_assumption": "It opens.", "affected_source": "https://a.example.com", "repairable": true, "suggested_creator_action": "Drop it."}}); r.Status == 201 {
			w.results[task] = append(w.results[task], r.Str("id"))
		}
	case 5, 6, 7, 8, 9:
		verdict := pick(w.r, []string{agree, agree, agree, agree, agree, agree, agree, agree, dispute})
		call(Verify, who, review(result, verdict, pick(w.r, []string{complete, complete, complete, complete, complete, partial, unknown})))
	case 10:
		call(OwnerVerify, w.owner, obj{"result_id": result, "outcome": pick(w.r, []string{failed, reopened}), "reason": "It does not fit the criteria yet.",
			"expected_review_state": w.get(ReadResult, result).Str("owner_review_state") + pick(w.r, []string{"", "", "", "x"})})
	case 11:
		steward(pick(w.r, []*op.Operation{HoldResult, UnholdResult}), result, obj{"reason": "A look at it first."})
	case 12:
		steward(FlagAgent, pick(w.r, w.agents).id, obj{"demo": w.r.IntN(3) == 0})
	case 13:
		steward(pick(w.r, []*op.Operation{Hide, Unhide}), "", obj{"entity_type": "results", "entity_id": result, "reason": "A test."})
		if reviews := w.rows(ResultKey(result).PK, "REVIEW#"); len(reviews) > 0 {
			_, id, _ := splitPlace(strings.TrimPrefix(pick(w.r, reviews).SK, "REVIEW#"))
			steward(pick(w.r, []*op.Operation{Hide, Unhide}), "", obj{"entity_type": "reviews", "entity_id": id, "reason": "A test."})
		}
	case 14:
		w.guide(call, steward, task)
	default:
		w.tryComplete(task, result)
	}
	if w.r.IntN(3) == 0 {
		w.Advance(time.Duration(w.r.IntN(90)) * time.Minute)
	}
}

func (w *walker) guide(call func(*op.Operation, actor, obj) optest.Res, steward func(*op.Operation, string, obj), task string) {
	revision := w.get(ReadTask, task).Num("revision")
	switch w.r.IntN(4) {
	case 0:
		call(Archive, w.owner, obj{"expected_revision": revision, "reason": "A pause of some days."})
	case 1:
		keys := pick(w.r, [][]string{{"a"}, {"a", "b"}, {}})
		if task == w.tasks[2] {
			w.keys[task] = keys
			steward(StewardEdit, task, obj{"required_output_keys": keys})
		}
	default:
		call(HandOff, w.owner, handoff(obj{"expected_revision": revision}))
	}
}

// tryComplete accepts a result and, when that passes, holds the rules of acceptance against
// what stands in the rows.
func (w *walker) tryComplete(task, result string) {
	who := w.owner
	if w.r.IntN(6) == 0 {
		who = pick(w.r, w.agents)
	}
	broken := w.broken(task, result, who)
	r := w.act(who, Complete, task, obj{"result_id": result})
	w.log = append(w.log, fmt.Sprintf("complete %s by %s: %d %s", result[:4], who.id[:4], r.Status, r.Body[:min(len(r.Body), 200)]))
	if r.Status == 200 {
		w.passed++
	}
	if (r.Status == 200) != (broken == "") {
		w.t.Fatalf("complete answered %d, the rules say %q\n%s", r.Status, broken, strings.Join(w.log, "\n"))
	}
}

// broken is a rule of acceptance (commons.md 3.5) that does not hold, read from the rows of
// the reviews and agents themselves.
func (w *walker) broken(task, result string, who actor) (why string) {
	w.Run("commons", func(c *op.Call) error {
		t, _, _ := op.Load[Task](c, TaskKey(task))
		r, found, _ := op.Load[Result](c, ResultKey(result))
		s, _, _ := op.Load[state](c, stateKey(result))
		sub, _, _ := op.Load[Task](c, TaskKey(w.tasks[1]))
		rule := func(broken bool, name string) {
			if broken {
				why += name + " "
			}
		}
		completes, partials, disputes := 0, 0, 0
		for _, row := range w.rows(ResultKey(result).PK, "BY#") {
			reviewer := strings.TrimPrefix(row.SK, "BY#")
			a, _, _ := op.Load[Agent](c, AgentKey(reviewer))
			for _, rr := range w.rows(ResultKey(result).PK, "REVIEW#") {
				_, id, _ := splitPlace(strings.TrimPrefix(rr.SK, "REVIEW#"))
				v, _, _ := op.Load[Review](c, ReviewKey(id))
				eligible := !a.Demo && !a.SiteRun && !a.Restricted && a.ID != t.Creator.ID && a.ID != r.Author.ID && (a.Fold == "" || a.Fold != t.Creator.Operator)
				if v.Reviewer != reviewer || v.Hidden {
					continue
				}
				if eligible && v.Verdict == agree && v.Completeness == complete {
					completes++
				}
				// A partial or a dispute of a flagged agent blocks until the job has looked at it.
				if v.Eligible && v.Verdict == agree && v.Completeness == partial {
					partials++
				}
				if v.Eligible && v.Verdict == dispute {
					disputes++
				}
			}
		}
		rule(!found || r.TaskID != task, "not a result of the task")
		rule(who.id != t.Creator.ID, "not the creator")
		rule(r.Kind != contribution, "no contribution")
		rule(task == w.tasks[2] && !hasKeys(r.Content, w.keys[task]), "output")
		rule(completes == 0, "no complete agreement")
		rule(partials > 0, "partial")
		rule(disputes > 0, "dispute")
		rule(s.Failure != nil || s.Operator != nil, "hold")
		rule(s.Hidden, "hidden")
		rule(task == w.tasks[0] && sub.Status != Completed, "subtask")
		rule(t.Status == Completed || t.Status == Closed, "ended")
		return nil
	})
	return why
}

func hasKeys(content string, keys []string) bool {
	for _, k := range keys {
		if !strings.Contains(content, `"`+k+`"`) {
			return false
		}
	}
	return strings.HasPrefix(content, "{")
}

// No sequence of actions makes an acceptance pass while a rule is broken, and every one that
// keeps the rules passes. The rows of lists and counters agree with the things they count.
func TestNoSequenceOfActionsAcceptsAgainstTheRules(t *testing.T) {
	seeds := *walksFlag
	if *seedFlag != 0 {
		seeds = 1
	}
	passed := 0
	for seed := range seeds {
		if *seedFlag != 0 {
			seed = *seedFlag
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("replay: go test ./pkg/commons -run TestNoSequence -seed %d", seed)
				}
			}()
			w := newWalker(t, seed)
			for range 120 {
				w.step()
			}
			w.Settle()
			w.agree()
			passed += w.passed
		})
	}
	t.Logf("%d acceptances passed", passed)
	if *seedFlag == 0 && passed < int(seeds)/6 {
		t.Errorf("only %d acceptances passed: the walk proves little", passed)
	}
}

// agree holds the derived rows against the things themselves.
func (w *walker) agree() {
	w.t.Helper()
	fail := func(format string, args ...any) {
		w.t.Helper()
		w.t.Fatalf(format+"\n%s", append(args, strings.Join(w.log, "\n"))...)
	}
	for _, task := range w.tasks {
		var t Task
		w.Run("commons", func(c *op.Call) (err error) { t, _, err = op.Load[Task](c, TaskKey(task)); return err })
		needs, visible := 0, 0
		for _, result := range w.results[task] {
			var s state
			w.Run("commons", func(c *op.Call) (err error) { s, _, err = op.Load[state](c, stateKey(result)); return err })
			var n Counts
			for _, row := range w.rows(ResultKey(result).PK, "REVIEW#") {
				_, id, _ := splitPlace(strings.TrimPrefix(row.SK, "REVIEW#"))
				w.Run("commons", func(c *op.Call) error {
					v, _, err := op.Load[Review](c, ReviewKey(id))
					n.add(v.Verdict, v.Completeness, v.Eligible, 1)
					return err
				})
			}
			if n != s.Counts && t.Status != Completed {
				fail("result %s: counts %+v, rows %+v", result, s.Counts, n)
			}
			if s.needs() {
				needs++
			}
			if !s.Hidden {
				visible++
			}
		}
		if rows := w.rows(TaskKey(task).PK, "NEED#"); len(rows) != needs || t.Needs != needs || len(t.Oldest) != min(needs, maxInline) {
			fail("task %s: %d needs, %d rows, the task says %d, %v", task, needs, len(rows), t.Needs, t.Oldest)
		}
		if r := w.get(ListResults, "", "task_id", task); len(r.At("items").([]any)) != visible || t.Results != visible {
			fail("task %s: %d results, the list has %s", task, visible, r.Body)
		}
		want := t
		if t.settle(w.Now()); t.Status != want.Status {
			fail("a lease was not swept: %+v", want)
		}
		lists := 0
		for n := range uint32(taskShards) {
			lists += len(w.rows(standingPK(n), task))
			for _, row := range w.rows(donePK(n), "2") {
				if strings.HasSuffix(row.SK, task) {
					lists++
				}
			}
		}
		if lists != 1 {
			fail("task %s stands in %d lists", task, lists)
		}
	}
}
