package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"guildhall/pkg/catalog"
	"guildhall/pkg/spec"
)

const root = "../.."

var once = sync.OnceValues(func() (map[string][]byte, error) { return Generate(root) })

func generated(t *testing.T) map[string][]byte {
	t.Helper()
	want, err := once()
	if err != nil {
		t.Fatal(err)
	}
	return want
}

func TestGeneratedFilesAreFresh(t *testing.T) {
	changes, err := Compare(root, generated(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := Stale(changes); err != nil {
		t.Error(err)
	}
}

func TestEveryOperationAndJobHasItsFunction(t *testing.T) {
	want := generated(t)
	for _, o := range catalog.Operations() {
		src := string(want["functions/"+o.Folder()+"/main.go"])
		if strings.Count(src, "lambda.Serve(") != 1 || strings.Count(src, "\n") > 20 {
			t.Errorf("%s: %s", o.ID, src)
		}
	}
	for _, j := range catalog.Jobs() {
		if want["functions/"+j.Folder()+"/main.go"] == nil {
			t.Errorf("%s has no function", j.ID)
		}
	}
}

// A newcomer follows a route to its declaration, rule, rows, function and tests by the
// five lines below it.
func TestTheMapLeadsFromARouteToItsTests(t *testing.T) {
	doc := string(generated(t)["docs/MAP.md"])
	_, rest, ok := strings.Cut(doc, "\n### POST /api/bench/targets/{target_id}/proposals\n")
	if !ok {
		t.Fatal("the route is not in the map")
	}
	section, _, _ := strings.Cut(rest, "\n### ")
	for i, step := range []string{
		"1. declared: `pkg/bench/bids/file.go` FileProposal", "2. decided: `pkg/bench/bids/file.go` fileProposal; rules: ",
		"3. stored: ", "4. served: `functions/bench/proposal-file/main.go`", "5. tested: `pkg/bench/",
	} {
		if !strings.Contains(section, "\n"+step) {
			t.Errorf("step %d: no %q in\n%s", i+1, step, section)
		}
	}
}

var quotedFile = regexp.MustCompile("`((?:pkg|functions|tests|scripts)/[^` ]+\\.go)`")

func TestEveryFileTheMapNamesExists(t *testing.T) {
	want := generated(t)
	for _, m := range quotedFile.FindAllStringSubmatch(string(want["docs/MAP.md"]), -1) {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil && want[m[1]] == nil {
			t.Error(err)
		}
	}
}

func TestEveryDeclaredCodeIsMadeSomewhere(t *testing.T) {
	want := generated(t)
	for line := range strings.Lines(string(want["docs/FAULTS.md"])) {
		if strings.Contains(line, "| ? |") {
			t.Errorf("no place makes this declared code with a kind: %s", line)
		}
	}
}

func TestEveryKeyHasItsMeaning(t *testing.T) {
	for line := range strings.Lines(string(generated(t)["docs/KEYS.md"])) {
		if strings.Contains(line, "` |  | `") {
			t.Errorf("a key without a meaning: %s", line)
		}
	}
}

func TestTheEmbeddedDocumentsAreTheGeneratedOnes(t *testing.T) {
	want := generated(t)
	for _, name := range append(spec.Groups(catalog.Operations()), spec.Whole) {
		have, ok := spec.Document(name)
		if !ok || string(have) != string(want[documentsDir+"/"+name+".json"]) {
			t.Errorf("%s: run `make generate`", name)
		}
	}
	if _, ok := spec.Document("../spec"); ok {
		t.Error("a path out of the documents opens")
	}
}

func TestCompareFindsMissingStaleAndLeftOverFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("docs/MAP.md", "old")
	write("docs/hand-written.md", "mine")
	write("functions/help/gone-away/main.go", "package main")
	write("functions/help/same-one/main.go", "same")
	want := map[string][]byte{"docs/MAP.md": []byte("new"), "docs/KEYS.md": []byte("k"), "functions/help/same-one/main.go": []byte("same")}
	changes, err := Compare(dir, want)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		got = append(got, c.String())
	}
	if s := strings.Join(got, "; "); s != "missing  docs/KEYS.md; stale  docs/MAP.md; left over  functions/help/gone-away/main.go" {
		t.Fatal(s)
	}
	if err := Stale(changes); err == nil || !strings.Contains(err.Error(), "run `make generate`") {
		t.Error(err)
	}
	for _, c := range changes {
		if err := c.apply(dir); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := Compare(dir, want); err != nil || len(left) != 0 {
		t.Errorf("after writing: %v %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "functions/help/gone-away")); err == nil {
		t.Error("the folder of a function that is gone stays")
	}
	if _, err := os.Stat(filepath.Join(dir, "docs/hand-written.md")); err != nil {
		t.Error(err)
	}
}
