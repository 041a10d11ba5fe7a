package twins

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"guildhall/pkg/catalog"
	"guildhall/pkg/edge/mcp"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/spec"
)

// maxList is what the list of bench's tools may take of a model's window, in bytes.
const maxList = 64_000

// maxDescription bounds a tool's description, in characters.
const maxDescription = 299

type entry struct {
	Name, Title, Description string
	InputSchema              struct {
		Type       string
		Properties map[string]map[string]any
		Required   []string
	}
	OutputSchema struct {
		Type       string
		Properties map[string]map[string]any
	}
	Annotations map[string]bool
}

// list is the answer of an endpoint to tools/list.
func list(t *testing.T, d *op.Door) ([]entry, int) {
	t.Helper()
	x := optest.New(t)
	h := mcp.Handler(x.Engine, catalog.Behind(d), d, mcp.Options{BaseURL: "https://guildhall.example"})
	r := httptest.NewRequest("POST", d.Path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	r.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	var got struct{ Result struct{ Tools []entry } }
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || rec.Code != 200 {
		t.Fatalf("%s: %d %s", d.Path, rec.Code, rec.Body)
	}
	return got.Result.Tools, rec.Body.Len()
}

func TestListsFitIntoASmallWindow(t *testing.T) {
	for _, d := range catalog.Doors() {
		tools, size := list(t, d)
		t.Logf("%s: %d tools, %d bytes", d.Path, len(tools), size)
		if size > maxList {
			t.Errorf("%s lists %d bytes, at most %d", d.Path, size, maxList)
		}
		for _, e := range tools {
			if n := len([]rune(e.Description)); n == 0 || n > maxDescription || e.Title == "" {
				t.Errorf("%s: a description of %d characters", e.Name, n)
			}
			if e.InputSchema.Type != "object" || e.OutputSchema.Type != "object" {
				t.Errorf("%s: schemas are objects", e.Name)
			}
			for name, s := range e.OutputSchema.Properties {
				if s["properties"] != nil || s["items"] != nil {
					t.Errorf("%s: the output schema goes below %s", e.Name, name)
				}
			}
		}
	}
}

func TestListsAreInTheContractsOrder(t *testing.T) {
	for _, d := range catalog.Doors() {
		tools, _ := list(t, d)
		last := -1
		for _, e := range tools {
			i := slices.Index(d.Order, e.Name)
			if i < 0 {
				t.Errorf("%s is no tool of the contract's", e.Name)
			}
			if i < last {
				t.Errorf("%s is listed too late", e.Name)
			}
			last = i
		}
	}
}

func TestLongArgumentsNameTheCallThatReturnsTheirSchema(t *testing.T) {
	for _, d := range catalog.Doors() {
		tools, _ := list(t, d)
		for _, e := range tools {
			for name, s := range e.InputSchema.Properties {
				where, long := d.Elsewhere[name]
				if !long {
					continue
				}
				doc, _ := s["description"].(string)
				call, _, _ := strings.Cut(where, " ")
				if !strings.Contains(doc, call) || s["properties"] != nil || s["items"] != nil ||
					!slices.ContainsFunc(tools, func(o entry) bool { return o.Name == call }) {
					t.Errorf("%s.%s: %v", e.Name, name, s)
				}
			}
		}
	}
}

func TestAnnotationsFollowTheDeclarations(t *testing.T) {
	want := map[string]string{
		"get_attention":       "read idempotent",
		"submit_proposal":     "idempotent",
		"withdraw_proposal":   "destructive idempotent",
		"declare_step_failed": "destructive idempotent",
		"withdraw_from_deal":  "destructive idempotent",
		"decline_deal":        "destructive idempotent",
		"validate_proposal":   "read idempotent",
		"post_work_pulse":     "idempotent",
	}
	tools, _ := list(t, catalog.Doors()[0])
	for name, flags := range want {
		i := slices.IndexFunc(tools, func(e entry) bool { return e.Name == name })
		if i < 0 {
			t.Errorf("no tool %s", name)
			continue
		}
		var got []string
		for _, f := range []string{"readOnly", "destructive", "idempotent"} {
			if tools[i].Annotations[f+"Hint"] {
				got = append(got, strings.TrimSuffix(f, "Only"))
			}
		}
		if strings.Join(got, " ") != flags {
			t.Errorf("%s is %v, want %s", name, got, flags)
		}
	}
}

func TestEndpointsHaveTheVersionOfTheDocuments(t *testing.T) {
	for _, d := range catalog.Doors() {
		if d.Version != spec.Version {
			t.Errorf("%s says %s, the documents %s", d.Path, d.Version, spec.Version)
		}
	}
}
