package source

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func tree(t *testing.T, files ...string) *Tree {
	t.Helper()
	tr := &Tree{}
	for i := 0; i < len(files); i += 2 {
		f, err := Parse(files[i], files[i+1])
		if err != nil {
			t.Fatal(err)
		}
		tr.Files = append(tr.Files, f)
	}
	return tr
}

const thing = `// Package things keeps things.
//
// Rows:
//
//	things.THING#<id> / ROOT       a thing
//	things.SHELF#<id> / THING#<time>#<id>  the things of a shelf
//	no key at all
package things

import (
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

var Make = op.Declare(op.Meta{
	ID: "things.thing.make",
}, makeThing)

var (
	Read = helper("things.thing.read")
	A, B = 1, 2
)

const closed = "shelf_closed"

func makeThing(c *op.Call, in In) (Out, error) {
	load(c)
	return decide(in)
}

func load(c *op.Call) { weigh(thingKey("a")) }

func thingKey(id string) table.Key { return table.Key{PK: "things.THING#" + id, SK: "ROOT"} }

func weigh(k table.Key) int { return 1 }

func decide(in In) (Out, error) {
	if in.Bad {
		return Out{}, wrong("name", "name_bad")
	}
	return Out{}, fault.New(fault.Conflict, closed, "Closed.")
}

func wrong(field, code string) error { return fault.New(fault.Invalid, code, "Wrong.").At(field) }

var table = []row{{fault.Gone, "thing_gone"}, {Kind: fault.Busy, Code: "thing_busy"}}

var byCode = map[string]fault.Kind{"by_map": fault.TooLarge, "by_map_too": fault.Gone}

func joined(s string) error { return fault.New(fault.Conflict, "cannot open a "+s+" thing", "") }

func dynamic(r row) error { return fault.New(fault.Forbidden, r.Code, "") }
`

func TestVariablesAreFoundByThePlaceOfTheirValue(t *testing.T) {
	tr := tree(t, "pkg/things/thing.go", thing)
	line := func(text string) string {
		before, _, _ := strings.Cut(thing, text)
		return fmt.Sprintf("pkg/things/thing.go:%d", strings.Count(before, "\n")+1)
	}
	for text, want := range map[string]string{"var Make": "Make", "}, makeThing)": "Make", `ID: "things.thing.make"`: "Make", "Read = ": "Read", "func load": ""} {
		if got, _ := tr.VarAt(line(text)); got != want {
			t.Errorf("at %q stands %q, want %q", text, got, want)
		}
	}
	if _, ok := tr.VarAt("pkg/other.go:1"); ok {
		t.Error("a variable of a file that is not there")
	}
}

func TestKeysAreReadFromComments(t *testing.T) {
	got := tree(t, "pkg/things/thing.go", thing).Keys()
	want := []KeyShape{
		{"pkg/things", "things.SHELF#<id>", "THING#<time>#<id>", "the things of a shelf"},
		{"pkg/things", "things.THING#<id>", "ROOT", "a thing"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestRulesAreThePureFunctionsAnOperationReaches(t *testing.T) {
	tr := tree(t, "pkg/things/thing.go", thing)
	got := tr.Reach("pkg/things", "makeThing")
	if want := []string{"pkg/things/thing.go weigh", "pkg/things/thing.go decide"}; !slices.Equal(got.Rules, want) {
		t.Errorf("got %v, want %v", got.Rules, want)
	}
	if stored := Stored(tr.Keys(), got.Texts, "pkg/things"); len(stored) != 1 || stored[0].PK != "things.THING#<id>" {
		t.Errorf("stored %v of texts %q", stored, got.Texts)
	}
}

func TestFaultsAreFoundWithTheirKinds(t *testing.T) {
	other := "package other\n\nimport \"guildhall/pkg/things\"\n\nvar e = things.Wrong(\"a\", \"far_bad\")\n"
	tr := tree(t, "pkg/things/thing.go", strings.ReplaceAll(thing, "wrong(", "Wrong("), "pkg/other/o.go", other)
	var got []string
	for _, m := range tr.Faults() {
		got = append(got, m.Dir+" "+m.Kind+" "+m.Code)
	}
	slices.Sort(got)
	want := []string{"pkg/other Invalid far_bad", "pkg/things Busy thing_busy", "pkg/things Conflict cannot open a * thing",
		"pkg/things Conflict shelf_closed", "pkg/things Forbidden ",
		"pkg/things Gone by_map_too", "pkg/things Gone thing_gone", "pkg/things Invalid name_bad", "pkg/things TooLarge by_map"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestACodeWithVariablePartsMakesManyCodes(t *testing.T) {
	m := Made{Code: "cannot open a * thing"}
	for code, want := range map[string]bool{"cannot open a shut thing": true, "cannot open a  thing": true, "cannot open a shut box": false, "we cannot open a shut thing": false} {
		if m.Makes(code) != want {
			t.Errorf("%q: %v", code, !want)
		}
	}
}

func TestTestsAreFoundByWhatTheyName(t *testing.T) {
	tr := tree(t, "pkg/things/thing_test.go", `package things
func TestMaking(t *testing.T) { call(Make) }
func TestDeciding(t *testing.T) { makeThing(nil, In{}) }
func TestOther(t *testing.T) { call(Other) }
func helpReading(t *testing.T) { call(Read) }
func again(t *testing.T) { helpReading(t) }
func TestReading(t *testing.T) { again(t) }
`, "pkg/far/far_test.go", `package far_test
func TestFar(t *testing.T) { call(things.Make) }
func TestByID(t *testing.T) { call("things.thing.make") }
func TestMake(t *testing.T) { call(Make) }
`)
	names := func(variable, function, id string) (all []string) {
		for _, m := range tr.Mentions().Of("pkg/things", variable, function, id) {
			all = append(all, m.Test)
		}
		return all
	}
	if got := names("Make", "makeThing", "things.thing.make"); !slices.Equal(got, []string{"TestMaking", "TestDeciding", "TestFar", "TestByID"}) {
		t.Errorf("got %v", got)
	}
	if got := names("Read", "read", "things.thing.read"); !slices.Equal(got, []string{"TestReading"}) {
		t.Errorf("through helpers: %v", got)
	}
	if got := names("Nobody", "nobody", "things.x.y"); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestLoadReadsTheRepositoryAndSkipsWhatIsBuilt(t *testing.T) {
	tr, err := Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range tr.Files {
		seen[f.Path] = true
		if strings.HasPrefix(f.Path, ".") || strings.Contains(f.Path, "node_modules") {
			t.Errorf("read %s", f.Path)
		}
	}
	if !seen["scripts/source/source.go"] || !seen["pkg/op/meta.go"] {
		t.Error("a file is missing")
	}
}
