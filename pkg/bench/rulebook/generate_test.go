package rulebook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"html/template"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The generator lives among the tests, so that the program links neither a YAML parser nor html/template
// for it, and the code that writes the files is the code that checks them.
var update = flag.Bool("update", false, "rewrite the generated files instead of comparing them")

type sourceRule struct {
	ID       string   `yaml:"id"`
	Kind     Kind     `yaml:"kind"`
	Number   int      `yaml:"number"`
	Title    string   `yaml:"title"`
	Section  string   `yaml:"section"`
	Surfaces []string `yaml:"surfaces"`
	Text     string   `yaml:"text"`
}

type sourceChapter struct {
	Slug  string `yaml:"slug"`
	Title string `yaml:"title"`
	Intro string `yaml:"intro"`
}

type source struct {
	Chapters []sourceChapter `yaml:"chapters"`
	Rules    []sourceRule    `yaml:"rules"`
}

func readSource(t *testing.T) source {
	t.Helper()
	f, err := os.Open("rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dec := yaml.NewDecoder(f)
	dec.KnownFields(true)
	var src source
	if err := dec.Decode(&src); err != nil {
		t.Fatal(err)
	}
	return src
}

// lawFile is rules.json: canonical JSON of what the hash covers, and nothing after it.
func lawFile(t *testing.T, rules []sourceRule) []byte {
	t.Helper()
	laws := make([]law, 0, len(rules))
	for _, r := range rules {
		laws = append(laws, law{ID: r.ID, Kind: r.Kind, Number: r.Number, Text: r.Text})
	}
	slices.SortFunc(laws, func(a, b law) int {
		return cmp.Or(strings.Compare(string(b.Kind), string(a.Kind)), cmp.Compare(a.Number, b.Number))
	})
	return encode(t, laws, "")
}

func displayFile(t *testing.T, rules []sourceRule) []byte {
	t.Helper()
	shown := make(map[string]display, len(rules))
	for _, r := range rules {
		shown[r.ID] = display{Section: r.Section, Surfaces: r.Surfaces, Title: r.Title}
	}
	return append(encode(t, shown, " "), '\n')
}

func encode(t *testing.T, v any, indent string) []byte {
	t.Helper()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimRight(buf.Bytes(), "\n")
}

type pageChapter struct {
	sourceChapter
	Rules []Rule
}

func rulesPage(t *testing.T, src source) []byte {
	t.Helper()
	lawBytes := lawFile(t, src.Rules)
	rules, err := parse(lawBytes, displayFile(t, src.Rules))
	if err != nil {
		t.Fatal(err)
	}
	page := struct {
		Hash     string
		Rules    int
		Gates    int
		Chapters []pageChapter
	}{Hash: hexSHA256(lawBytes), Rules: RuleCount, Gates: GateCount}
	for _, c := range src.Chapters {
		chapter := pageChapter{sourceChapter: c}
		for _, r := range rules {
			if r.Section == c.Slug {
				chapter.Rules = append(chapter.Rules, r)
			}
		}
		page.Chapters = append(page.Chapters, chapter)
	}
	tmpl, err := template.ParseFiles("the-rules.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := tmpl.Execute(&buf, page); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestGeneratedFilesAreCurrent(t *testing.T) {
	src := readSource(t)
	for name, want := range map[string][]byte{
		"rules.json":            lawFile(t, src.Rules),
		"display.json":          displayFile(t, src.Rules),
		"static/the-rules.html": rulesPage(t, src),
	} {
		if *update {
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is out of date: run go generate ./pkg/bench/rulebook", name)
		}
	}
}
