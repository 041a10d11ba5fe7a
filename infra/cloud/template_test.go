package cloud

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/jsii-runtime-go"

	"guildhall/infra/plan"
)

// world is what a synthesis left: every template, and which folder below functions/ each
// asset holds. Tests read it; planted violations change a copy.
type world struct {
	Stacks map[string]template
	Assets map[string]string // S3 key -> folder
	Bytes  map[string]int    // size of each template
}

type template struct {
	Resources map[string]*resource
	Outputs   map[string]map[string]any
}

type resource struct {
	Type                string
	Properties          map[string]any
	DeletionPolicy      string
	UpdateReplacePolicy string
}

// at is a resource and where it stands.
type at struct {
	stack, id string
	*resource
}

func (a at) String() string { return a.stack + "/" + a.id }

var (
	settings = func() plan.Settings {
		s := plan.Defaults()
		s.MailFrom, s.AlarmEmail = "Guildhall <notices@example.com>", "operator@example.com"
		s.Texts, s.Links = "on", "on"
		return s
	}()
	functions = plan.Functions()
	original  *world
)

// TestMain synthesises once, with stubs for the functions' code.
func TestMain(m *testing.M) {
	os.Setenv("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")
	dir, err := os.MkdirTemp("", "infra")
	if err == nil {
		err = synthesise(dir)
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, "synthesis:", err)
	}
	jsii.Close()
	os.RemoveAll(dir)
	os.Exit(code)
}

func synthesise(dir string) (err error) {
	defer func() {
		if p := recover(); p != nil { // jsii panics with what Node said
			err = fmt.Errorf("%v", p)
		}
	}()
	settings.Dist = filepath.Join(dir, "dist")
	if err := settings.Check(); err != nil {
		return err
	}
	for _, f := range functions {
		if err := stub(filepath.Join(settings.Dist, f.Folder+".zip"), f.Folder); err != nil {
			return err
		}
	}
	out := filepath.Join(dir, "cdk.out")
	app := NewApp(out)
	Build(app, settings, functions)
	app.Synth(nil)
	original, err = load(out, settings.Dist)
	return err
}

// stub writes a zip that holds the name of its function as the program.
func stub(path, folder string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	z := zip.NewWriter(f)
	w, err := z.Create("bootstrap")
	if err == nil {
		_, err = w.Write([]byte(folder))
	}
	if err != nil {
		return err
	}
	return z.Close()
}

func load(out, dist string) (*world, error) {
	w := &world{Stacks: map[string]template{}, Assets: map[string]string{}, Bytes: map[string]int{}}
	paths, err := filepath.Glob(filepath.Join(out, "*.template.json"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("no template in %s (%v)", out, err)
	}
	for _, p := range paths {
		name := strings.TrimSuffix(filepath.Base(p), ".template.json")
		var t template
		b, err := os.ReadFile(p)
		if err == nil {
			err = json.Unmarshal(b, &t)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		w.Stacks[name], w.Bytes[name] = t, len(b)
		if err := w.assets(filepath.Join(out, name+".assets.json"), out, dist); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *world) assets(path, out, dist string) error {
	var m struct {
		Files map[string]struct {
			Source       struct{ Path string }
			Destinations map[string]struct{ ObjectKey string }
		}
	}
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		return err
	}
	for _, f := range m.Files {
		source := f.Source.Path
		if !filepath.IsAbs(source) {
			source = filepath.Join(out, source)
		}
		if rel, err := filepath.Rel(dist, source); err == nil && !strings.HasPrefix(rel, "..") {
			for _, d := range f.Destinations {
				w.Assets[d.ObjectKey] = strings.TrimSuffix(filepath.ToSlash(rel), ".zip")
			}
		}
	}
	return nil
}

// copy is a deep copy.
func (w *world) copy(t *testing.T) *world {
	t.Helper()
	b, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	c := &world{}
	if err := json.Unmarshal(b, c); err != nil {
		t.Fatal(err)
	}
	return c
}

// of lists the resources of a type, in order.
func (w *world) of(kind string) (out []at) {
	for _, stack := range slices.Sorted(maps.Keys(w.Stacks)) {
		for _, id := range slices.Sorted(maps.Keys(w.Stacks[stack].Resources)) {
			if r := w.Stacks[stack].Resources[id]; r.Type == kind {
				out = append(out, at{stack, id, r})
			}
		}
	}
	return out
}

// dig follows names and indices into a JSON value; nil when there is nothing.
func dig(v any, path ...any) any {
	for _, p := range path {
		switch key := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[key]
		case int:
			l, _ := v.([]any)
			if key >= len(l) {
				return nil
			}
			v = l[key]
		}
	}
	return v
}

func text(v any, path ...any) string { s, _ := dig(v, path...).(string); return s }

func number(v any, path ...any) float64 { n, _ := dig(v, path...).(float64); return n }

func list(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	if v == nil {
		return nil
	}
	return []any{v}
}

// flat is a value as text, references as ${Name}: "arn:${AWS::Partition}:sqs:…".
func flat(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case map[string]any:
		if s := text(x, "Fn::Sub"); s != "" {
			return s
		}
		if sub := list(dig(x, "Fn::Sub")); len(sub) == 2 {
			out := text(sub[0])
			for name, value := range sub[1].(map[string]any) {
				out = strings.ReplaceAll(out, "${"+name+"}", flat(value))
			}
			return out
		}
		if join := list(dig(x, "Fn::Join")); len(join) == 2 {
			var parts []string
			for _, p := range list(join[1]) {
				parts = append(parts, flat(p))
			}
			return strings.Join(parts, text(join[0]))
		}
		if ref := text(x, "Ref"); ref != "" {
			return "${" + ref + "}"
		}
		if get := list(dig(x, "Fn::GetAtt")); len(get) == 2 {
			return "${" + text(get[0]) + "." + text(get[1]) + "}"
		}
		if imported := text(x, "Fn::ImportValue"); imported != "" {
			return "${import " + imported + "}"
		}
	}
	return fmt.Sprint(v)
}

// folder is which folder below functions/ a function's code comes from.
func (w *world) folder(f at) string { return w.Assets[text(f.Properties, "Code", "S3Key")] }

// target is the logical id a GetAtt or Ref names.
func target(v any) string {
	if s := text(v, "Ref"); s != "" {
		return s
	}
	return text(v, "Fn::GetAtt", 0)
}
