package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// volunteer is an agent at the endpoint of the commons: it knows the address of the endpoint
// and what the list of tools says. What it says it takes from a table keyed by descriptions.
type volunteer struct {
	*Agent
	id string
}

// sayings are what a volunteer says where a description asks for it.
var sayings = map[string]any{
	"Public name; need not be unique and is no login.":                       "Heron",
	"What the agent is and means to contribute. Public.":                     "Reads timetables and opening hours.",
	"Public text in the task's output_format.":                               `{"north":"10-16"}`,
	"What you checked and what is missing.":                                  "I opened the page it names and read the hours there.",
	"Overrides nothing.":                                                     0.8,
	"Public https sources; recorded, never fetched.":                         []any{"https://libraries.example.com/hours"},
	"complete only when every criterion was checked; unknown when left out.": "complete",
}

// newVolunteer comes to the endpoint, reads its list of tools and makes itself an identity.
func newVolunteer(t *testing.T, base string) *volunteer {
	t.Helper()
	a, err := New(base, sayings, nil)
	if err != nil {
		t.Fatal(err)
	}
	a.door = base + "/mcp/commons"
	if _, err := a.ask("initialize", object{"protocolVersion": "2025-06-18", "capabilities": object{}, "clientInfo": object{"name": "stranger", "version": "1"}}); err != nil {
		t.Fatal(err)
	}
	list, err := a.ask("tools/list", nil)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(list["tools"])
	if err := json.Unmarshal(b, &a.tools); err != nil {
		t.Fatal(err)
	}
	v := &volunteer{Agent: a}
	made := v.call(t, v.about("identity"), nil)
	a.token, _ = made["token"].(string)
	v.id, _ = at(made, "agent")["id"].(string)
	return v
}

// about finds the tool whose description speaks of something.
func (v *volunteer) about(words string) tool {
	i := slices.IndexFunc(v.tools, func(t tool) bool { return strings.Contains(t.Description, words) })
	return v.tools[max(i, 0)]
}

// call calls a tool; what is not given follows from its schema.
func (v *volunteer) call(t *testing.T, to tool, given object) object {
	t.Helper()
	args := object{}
	maps.Copy(args, given)
	filled, _ := (&generator{v.Agent, to.InputSchema}).object(to.InputSchema, args).(object)
	result, err := v.ask("tools/call", object{"name": to.Name, "arguments": filled})
	if err != nil {
		t.Fatal(err)
	}
	out := at(result, "structuredContent")
	if result["isError"] == true {
		t.Fatalf("%s %v: %v", to.Name, filled, out)
	}
	return out
}

// read reads a path.
func (v *volunteer) read(t *testing.T, path string) object {
	t.Helper()
	return v.call(t, v.about("Read the commons"), object{"path": path})
}

// act makes the action on a task that its schema speaks of with a word, with a body from that
// action's own schema.
func (v *volunteer) act(t *testing.T, task, word string, given object) object {
	t.Helper()
	to := v.about("Change a task")
	selection := at(to.InputSchema, "properties")
	for name, s := range selection {
		words, _ := at(s)["enum"].([]any)
		for _, w := range words {
			if s, _ := w.(string); strings.HasPrefix(s, word) {
				body, _ := (&generator{v.Agent, to.InputSchema}).object(at(to.InputSchema, "$defs", s), maps.Clone(given)).(object)
				return v.call(t, to, object{name: s, "task_id": task, "body": body})
			}
		}
	}
	t.Fatalf("no action begins with %s", word)
	return nil
}

// firstOf is the first thing of a summary.
func firstOf(t *testing.T, summary object, of string) object {
	t.Helper()
	items, _ := at(summary, of)["items"].([]any)
	if len(items) == 0 {
		t.Fatalf("nothing of %s in %v", of, summary)
	}
	return at(items[0])
}

func TestStrangersVerifyATaskOverTheEndpointOfTheCommons(t *testing.T) {
	_, base := exchange(t)
	owner := newVolunteer(t, base)
	operator := &person{t: t, base: base}
	operator.call(200, "POST", "/_dev/commons/tasks", fmt.Sprintf(`{"title":"Sunday hours of the north library","objective":"Find its Sunday hours.","acceptance_criteria":"Hours with a source.",
		"output_format":"json","required_output_keys":["north"],"risk":"low","max_minutes":10,"max_leg_minutes":5,"creator":%q,"expires_at":"2099-01-01T00:00:00Z"}`, owner.id))
	worker, checker := newVolunteer(t, base), newVolunteer(t, base)

	task, _ := firstOf(t, worker.read(t, "opportunities"), "ready_tasks")["id"].(string)
	if found := worker.read(t, "tasks/"+task); !regexp.MustCompile("Sunday").MatchString(fmt.Sprint(found["objective"])) {
		t.Fatalf("%v", found)
	}
	worker.act(t, task, "claim", object{})
	worker.act(t, task, "results", object{})

	need := firstOf(t, checker.read(t, "opportunities"), "first_reviews")
	result, _ := need["result_id"].(string)
	checker.read(t, "results/"+result)
	checker.act(t, task, "review-claim", object{"result_id": result})
	if said := checker.act(t, task, "verifications", object{"result_id": result, "verdict": "agree"}); said["state"] != "qualified" {
		t.Fatalf("%v", said)
	}

	seen := owner.read(t, "results/"+result)
	end := owner.act(t, task, "complete", object{"result_id": result, "expected_review_state": seen["owner_review_state"]})
	if end["status"] != "completed" || end["accepted_result_id"] != result {
		t.Fatalf("%v", end)
	}
	calls := owner.Calls + worker.Calls + checker.Calls
	t.Logf("%d calls of three agents", calls)
	if calls > maxCalls {
		t.Errorf("%d calls, at most %d", calls, maxCalls)
	}
}
