package op_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"guildhall/pkg/op"
)

type inner struct {
	Question string   `json:"question" rule:"required,min=2,max=6"`
	Answers  []string `json:"answers,omitempty" rule:"max=3,each=4"`
}

type outer struct {
	Title   string            `json:"title" rule:"required,min=1,max=8"`
	Lane    string            `json:"lane" rule:"required,enum=free|paid|open"`
	Cents   int64             `json:"cents" rule:"min=-5,max=500"`
	Share   float64           `json:"share" rule:"min=0,max=1"`
	Level   int               `json:"level" rule:"enum=1|2|3"`
	Agreed  bool              `json:"agreed" rule:"required,true"`
	Code    string            `json:"code" rule:"pattern=^[a-c]{1,3}(,[a-c]{1,3})*$"`
	Parts   []inner           `json:"parts" rule:"required,min=1,max=3"`
	Single  *inner            `json:"single"`
	Maybe   *string           `json:"maybe" rule:"max=4"`
	Labels  map[string]string `json:"labels"`
	Counts  map[string][]int  `json:"counts,omitempty"`
	Any     any               `json:"any"`
	Raw     json.RawMessage   `json:"raw"`
	Skipped string            `json:"-"`
	embedded
}

type embedded struct {
	Extra bool `json:"extra"`
}

// generated makes JSON values that fit a schema, but for one in miss.
type generated struct {
	r    *rand.Rand
	miss int
}

func (g generated) pick(values ...any) any { return values[g.r.IntN(len(values))] }

func (g generated) misses() bool { return g.r.IntN(g.miss) == 0 }

func (g generated) value(s *op.Schema, depth int) any {
	if g.misses() {
		return g.anything(depth)
	}
	switch s.Type {
	case "object":
		return g.object(s, depth)
	case "array":
		a := []any{}
		for range s.MinItems + g.r.IntN(max(1, s.MaxItems-s.MinItems+1)) {
			a = append(a, g.value(s.Of, depth+1))
		}
		if g.misses() {
			a = append(a, g.value(s.Of, depth+1))
		}
		return a
	case "string":
		return g.text(s)
	case "boolean":
		return s.Const != nil || g.r.IntN(2) == 0
	case "":
		return g.anything(depth)
	}
	return json.Number(fmt.Sprint(g.number(s)))
}

func (g generated) number(s *op.Schema) any {
	switch {
	case g.misses():
		return g.pick(-6, -5, 500, 501, -0.5, 1.0001, 7)
	case len(s.Enum) > 0:
		return g.pick(1, 2, 3)
	case s.Type == "integer" && s.Min != nil:
		return g.pick(int(*s.Min), 0, int(*s.Max))
	case s.Type == "integer":
		return g.pick(0, -1, 12345)
	}
	return g.pick(0.0, 0.25, 1)
}

func (g generated) text(s *op.Schema) any {
	n := s.MinLen + g.r.IntN(max(1, s.MaxLen-s.MinLen+1))
	switch {
	case g.misses():
		n = g.pick(0, 1, s.MaxLen+1).(int)
	case len(s.Enum) > 0:
		return s.Enum[g.r.IntN(len(s.Enum))]
	case s.Pattern != nil:
		return g.pick("a", "abc", "a,b", "cc,c")
	}
	return strings.Repeat(g.pick("é", "x", "日", "😀").(string), n)
}

func (g generated) object(s *op.Schema, depth int) any {
	m := map[string]any{}
	if s.Map {
		for range g.r.IntN(3) {
			m[g.pick("a", "b", "Title").(string)] = g.value(s.Of, depth+1)
		}
		return m
	}
	for _, p := range s.Properties {
		if p.Required && !g.misses() || g.r.IntN(2) == 0 {
			m[p.Name] = g.value(p.Schema, depth+1)
		}
	}
	if g.misses() {
		m[g.pick("colour", "Title", "").(string)] = g.anything(depth)
	}
	return m
}

func (g generated) anything(depth int) any {
	if depth > 4 {
		return nil
	}
	return g.pick(nil, true, false, "", "text", json.Number("3"), json.Number("2.5"), []any{}, []any{"a"}, map[string]any{}, map[string]any{"a": json.Number("1")})
}

// Our checker and jsonschema-go, given the schema as we publish it, accept the same values.
func TestTheCheckerAgreesWithJSONSchemaGo(t *testing.T) {
	const rounds, seed = 20000, 7
	schema := op.SchemaOf(reflect.TypeFor[outer]())
	published, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	var theirs jsonschema.Schema
	if err := json.Unmarshal(published, &theirs); err != nil {
		t.Fatal(err)
	}
	resolved, err := theirs.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	g := generated{r: rand.New(rand.NewPCG(seed, 1))}
	accepted := 0
	for i := range rounds {
		g.miss = 10 + i%100
		v := g.value(schema, 0)
		p := schema.Unknown(v, "")
		if p == nil {
			p = schema.Check(v, "")
		}
		err := resolved.Validate(plainNumbers(t, v))
		if (p == nil) != (err == nil) {
			b, _ := json.Marshal(v)
			t.Fatalf("seed %d, round %d: we say %+v, jsonschema-go says %v of %s", seed, i, p, err, b)
		}
		if err == nil {
			accepted++
		}
	}
	if accepted < rounds/5 || accepted > rounds*4/5 {
		t.Errorf("%d of %d values were accepted: the generator misses one side", accepted, rounds)
	}
}

// plainNumbers makes a value of the float64 numbers jsonschema-go takes.
func plainNumbers(t *testing.T, v any) (out any) {
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What both infer from a Go type has the same members of the same types.
func TestInferenceAgreesWithJSONSchemaGo(t *testing.T) {
	type plain struct {
		A string              `json:"a"`
		B int32               `json:"b,omitempty"`
		C float32             `json:"c"`
		D bool                `json:"d"`
		E []string            `json:"e"`
		F map[string]int      `json:"f"`
		G *int                `json:"g"`
		H struct{ I []inner } `json:"-"`
		J []inner             `json:"j"`
		K map[string][]*inner `json:"k"`
		L any                 `json:"l"`
		M time.Time           `json:"m"`
		N [2]uint8            `json:"n"`
		inner
	}
	theirs, err := jsonschema.For[plain](nil)
	if err != nil {
		t.Fatal(err)
	}
	agree(t, "", op.SchemaOf(reflect.TypeFor[plain]()), theirs)
}

func agree(t *testing.T, at string, ours *op.Schema, theirs *jsonschema.Schema) {
	t.Helper()
	typ := theirs.Type
	for _, n := range theirs.Types {
		if n != "null" {
			typ = n
		}
	}
	if ours.Type != typ {
		t.Errorf("%s: we infer %q, jsonschema-go %q", at, ours.Type, typ)
		return
	}
	switch {
	case ours.Type == "array":
		agree(t, at+"[]", ours.Of, theirs.Items)
	case ours.Map:
		agree(t, at+"{}", ours.Of, theirs.AdditionalProperties)
	case ours.Type == "object":
		var a, b []string
		for _, p := range ours.Properties {
			a = append(a, p.Name)
			if sub := theirs.Properties[p.Name]; sub != nil {
				agree(t, at+"."+p.Name, p.Schema, sub)
			}
		}
		for n := range theirs.Properties {
			b = append(b, n)
		}
		slices.Sort(a)
		slices.Sort(b)
		if !slices.Equal(a, b) {
			t.Errorf("%s: we infer %v, jsonschema-go %v", at, a, b)
		}
	}
}

type chain struct {
	Next *chain `json:"next"`
}

type knot struct {
	Inner []chain `json:"inner"`
}

func TestATypeThatContainsItselfNeedsItsOwnSchema(t *testing.T) {
	defer func() {
		if p := recover(); !strings.Contains(fmt.Sprint(p), "contains itself") {
			t.Errorf("panic %v", p)
		}
	}()
	op.SchemaOf(reflect.TypeFor[knot]())
}

type stamp time.Time

func (stamp) MarshalJSON() ([]byte, error) { return []byte(`1`), nil }

type word string

func (word) MarshalText() ([]byte, error) { return nil, nil }

type bare struct{ Name string }

func (bare) MarshalJSON() ([]byte, error) { return []byte(`[]`), nil }

func TestTypesThatWriteThemselvesAreNotDescribedByTheirKind(t *testing.T) {
	for want, typ := range map[string]reflect.Type{
		`{}`:                                              reflect.TypeFor[stamp](),
		`{"items":{},"type":"array"}`:                     reflect.TypeFor[[]bare](),
		`{"type":"string"}`:                               reflect.TypeFor[word](),
		`{"format":"byte","type":"string"}`:               reflect.TypeFor[[]byte](),
		`{"format":"date-time","type":"string"}`:          reflect.TypeFor[time.Time](),
		`{"format":"date-time","type":["string","null"]}`: reflect.TypeFor[*time.Time](),
		`{"type":["string","null"]}`:                      reflect.TypeFor[op.Field[string]](),
	} {
		if b, err := json.Marshal(op.SchemaOf(typ)); err != nil || string(b) != want {
			t.Errorf("%v: %s %v, want %s", typ, b, err, want)
		}
	}
}

func TestEachLimitHoldsAtNAndNotBeyond(t *testing.T) {
	schema := op.SchemaOf(reflect.TypeFor[struct {
		Text  string   `json:"text" rule:"min=2,max=3"`
		Bytes string   `json:"bytes" rule:"bytes=4"`
		List  []string `json:"list" rule:"min=1,max=2,each=3"`
		Num   int      `json:"num" rule:"min=1,max=3"`
		When  string   `json:"when" rule:"format=date-time"`
	}]())
	cases := []struct {
		name, value, keyword, field string
	}{
		{"text", `"a"`, "minLength", "text"}, {"text", `"ab"`, "", ""}, {"text", `"éé😀"`, "", ""}, {"text", `"abcd"`, "maxLength", "text"},
		{"text", `"  ab  "`, "", ""}, {"text", `" a "`, "minLength", "text"},
		{"bytes", `"abcd"`, "", ""}, {"bytes", `"éé"`, "", ""}, {"bytes", `"ééa"`, "maxBytes", "bytes"},
		{"list", `[]`, "minItems", "list"}, {"list", `["abc"]`, "", ""}, {"list", `["a","b","c"]`, "maxItems", "list"}, {"list", `["a","abcd"]`, "maxLength", "list[1]"},
		{"num", `0`, "minimum", "num"}, {"num", `1`, "", ""}, {"num", `3`, "", ""}, {"num", `4`, "maximum", "num"},
		{"when", `"2026-11-30T12:00:00Z"`, "", ""}, {"when", `"2026-11-30T12:00:00.123+01:00"`, "", ""},
		{"when", `"2026-11-30"`, "format", "when"}, {"when", `"2026-02-30T12:00:00Z"`, "format", "when"},
	}
	for _, c := range cases {
		v, err := op.ParseStrict([]byte(`{"` + c.name + `":` + c.value + `}`))
		if err != nil {
			t.Fatal(err)
		}
		p := schema.Check(v, "")
		if p == nil {
			p = &op.Problem{}
		}
		if p.Keyword != c.keyword || p.Field != c.field {
			t.Errorf("%s %s: %q at %q, want %q at %q", c.name, c.value, p.Keyword, p.Field, c.keyword, c.field)
		}
	}
}

func TestATypeThatDoesNotFitIsNamedByItsPath(t *testing.T) {
	type in struct {
		Parts []struct {
			N    int       `json:"n"`
			When time.Time `json:"when"`
		} `json:"parts"`
		Tags map[string]int32 `json:"tags"`
	}
	x := newExchange(t)
	o := op.Declare(op.Meta{ID: "test.part.write", Method: "POST", Path: "/p", Auth: op.Public, Summary: "Write parts."},
		func(*op.Call, in) (struct{}, error) { return struct{}{}, nil })
	for body, want := range map[string]string{
		`{"parts":[{"n":1},{"n":"x"}]}`:      "parts[1].n must be of type integer.",
		`{"parts":[{"n":1.0}]}`:              "parts[0].n must be of type integer.",
		`{"parts":{}}`:                       "parts must be of type array.",
		`{"parts":[3]}`:                      "parts[0] must be of type object.",
		`{"parts":[{"when":"yesterday"}]}`:   "parts[0].when does not have the right form.",
		`{"tags":{"b":1,"a":"x"}}`:           "tags.a must be of type integer.",
		`{"tags":{"a":99999999999}}`:         "tags must be of type integer.",
		`{"parts":[{"n":1,"m":2}]}`:          "This call does not take that field.",
		`{"parts":null}`:                     "parts must be of type array.",
		`{"parts":[],"tags":{"a":1,"b":-1}}`: "",
	} {
		res := x.call(o, req{Body: body})
		got := ""
		if res.Fault != nil {
			got = res.Fault.Message
		}
		if got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func TestDeclareRefusesWhatCannotBeServed(t *testing.T) {
	ok := op.Meta{ID: "test.a.b", Method: "GET", Path: "/a", Summary: "A."}
	type bad struct {
		NoName string
	}
	type rules struct {
		A string `json:"a" rule:"sometimes=3"`
	}
	type letters struct {
		A string `json:"a" rule:"max=x"`
	}
	cases := map[string]func(){
		"no id":          func() { op.Declare(op.Meta{Method: "GET", Path: "/a", Summary: "A."}, nothing) },
		"no method":      func() { op.Declare(op.Meta{ID: "a.b", Path: "/a", Summary: "A."}, nothing) },
		"no path":        func() { op.Declare(op.Meta{ID: "a.b", Method: "GET", Summary: "A."}, nothing) },
		"no summary":     func() { op.Declare(op.Meta{ID: "a.b", Method: "GET", Path: "/a"}, nothing) },
		"unnamed field":  func() { op.Declare(ok, func(*op.Call, bad) (struct{}, error) { return struct{}{}, nil }) },
		"unknown rule":   func() { op.Declare(ok, func(*op.Call, rules) (struct{}, error) { return struct{}{}, nil }) },
		"rule of no use": func() { op.Declare(ok, func(*op.Call, letters) (struct{}, error) { return struct{}{}, nil }) },
	}
	for name, do := range cases {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was declared", name)
				}
			}()
			do()
		}()
	}
}

func nothing(*op.Call, struct{}) (struct{}, error) { return struct{}{}, nil }

func helper(m op.Meta) *op.Operation { return op.Declare(m, nothing) }

var declaredHere = helper(op.Meta{ID: "test.a.b", Method: "GET", Path: "/a", Summary: "A."})

func TestAnOperationKnowsWhereItIsDeclaredAndDecided(t *testing.T) {
	_, file, _ := strings.Cut(declaredHere.Declared, "pkg/op/schema_test.go:")
	if file == "" || declaredHere.File != "pkg/op/schema_test.go" || !strings.HasSuffix(declaredHere.Func, "op_test.nothing") {
		t.Errorf("declared at %q, decided in %q by %q", declaredHere.Declared, declaredHere.File, declaredHere.Func)
	}
	if declaredHere.Home != "test" || declaredHere.Folder() != "test/a-b" {
		t.Errorf("home %q, folder %q", declaredHere.Home, declaredHere.Folder())
	}
}
