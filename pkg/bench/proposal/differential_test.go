package proposal

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"
	"golang.org/x/text/unicode/norm"
)

var (
	seedFlag = flag.Uint64("seed", 0, "replay one seed of the differential test")
	every    = flag.Int("every", 4, "try one in so many values at each place; 1 tries all")
	rounds   = flag.Int("rounds", 1000, "bids of the differential test")
)

// exceptions are the refusals of stage 1 that the schema cannot make: the words of their detail, what must be true of the
// body (nil is nothing), and the reason.
var exceptions = []struct {
	words  string
	when   func(body any) bool
	reason string
}{
	{"control characters", nil, "a pattern against them would have to repeat on every text"},
	{"must not be blank", foreign, "the \\S of Go's regexp knows ASCII white space only"},
	{"repeats another", nil, "uniqueness by one property is not in JSON Schema"},
	{"must list the same labels", nil, "two lists cannot be compared"},
	{"choices and offers", nil, "a choice block's upper bound depends on whether the step has a choose payload"},
	{"must not be more than", nil, "one number cannot be compared with another, or with the length of a list"},
	{"characters long and has", foreign, "composition can lengthen a text (U+0958), and the validator counts after it"},
}

// foreign says whether a body holds anything beyond ASCII.
func foreign(body any) bool {
	raw, err := json.Marshal(body)
	return err == nil && slices.ContainsFunc(raw, func(b byte) bool { return b >= 0x80 })
}

// forgiven says whether a body holds a text that only trimming or composition makes legal: there the schema, which counts what
// it is given, is the stricter of the two. It is the one direction in which it may be.
func forgiven(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v) != v || !norm.NFC.IsNormalString(v) || strings.ContainsAny(v, "\r\n")
	case []any:
		return slices.ContainsFunc(v, forgiven)
	case map[string]any:
		for _, m := range v {
			if forgiven(m) {
				return true
			}
		}
	}
	return false
}

// verdicts holds both verdicts on a body together: what the schema refuses the validator refuses at some stage, and what the
// validator refuses at stage 1 the schema refuses, but for the exceptions. It answers what both said when they agree.
func verdicts(t *testing.T, schema *jsonschema.Resolved, v any, isEasy bool, replay string) (refused bool) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	target := Target{LaneKind: LaneOpen}
	if isEasy {
		target.FrozenProbability = ptr(0.5)
	}
	schemaErr := schema.Validate(v)
	p, rej := Validate(raw, target, Bid)
	if schemaErr != nil && rej == nil && !forgiven(v) {
		t.Fatalf("the schema refuses what the validator takes: %v\n%s\n%s", schemaErr, raw, replay)
	}
	if rej == nil {
		storedFormIsStable(t, p, target, replay)
	}
	if schemaErr == nil && rej != nil {
		d, _ := newDraft(raw, target)
		if early := d.schemaStage(); early != nil && !excepted(early.rejection().Detail, v) {
			t.Fatalf("stage 1 refuses what the schema takes: %s\n%s\n%s", early.rejection().Detail, raw, replay)
		}
	}
	return schemaErr != nil && rej != nil
}

// storedFormIsStable: what is stored reads back as it was written, and is itself a legal bid that would be stored the same.
func storedFormIsStable(t *testing.T, p *Proposal, target Target, replay string) {
	t.Helper()
	one, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(one)
	if err != nil {
		t.Fatal(err)
	}
	two, _ := back.Encode()
	again, rej := Validate(one, target, Bid)
	if rej != nil {
		t.Fatalf("the stored form is refused: %v\n%s\n%s", rej, one, replay)
	}
	three, _ := again.Encode()
	if string(one) != string(two) || string(one) != string(three) {
		t.Fatalf("the stored form changes:\n%s\n%s\n%s\n%s", one, two, three, replay)
	}
}

// TestTheSchemaAndTheValidatorAgree breaks legal bids at random, one seed a bid.
func TestTheSchemaAndTheValidatorAgree(t *testing.T) {
	schema := resolved(t)
	bases := []any{tree(t, "easy.json"), tree(t, "full.json")}
	first, last := uint64(1), uint64(*rounds)
	if *seedFlag != 0 {
		first, last = *seedFlag, *seedFlag
	}
	refused := 0
	for seed := first; seed <= last; seed++ {
		r := rand.New(rand.NewPCG(seed, 1))
		which := r.IntN(len(bases))
		v := copied(bases[which])
		for range 1 + r.IntN(2) {
			v = broken(r, v)
		}
		if verdicts(t, schema, v, which == 0, fmt.Sprintf("replay: go test ./pkg/bench/proposal -run ValidatorAgree -seed %d", seed)) {
			refused++
		}
	}
	if *seedFlag == 0 && (refused < *rounds/4 || refused > *rounds*9/10) {
		t.Fatalf("the generator is lopsided: %d of %d refused by both", refused, *rounds)
	}
}

// TestTheSchemaAndTheValidatorAgreeAtEveryPlace puts each of a fixed list of values at every place of a bid in turn: texts at
// and beyond every limit, numbers at and beyond every bound, lists of many lengths, other types.
func TestTheSchemaAndTheValidatorAgreeAtEveryPlace(t *testing.T) {
	schema := resolved(t)
	base := tree(t, "full.json")
	for i, path := range places(base, nil) {
		old := at(base, path)
		for j, value := range probes(old) {
			if (i+j)%*every != 0 {
				continue
			}
			set(base, path, value)
			verdicts(t, schema, base, false, strings.Join(path, "."))
		}
		set(base, path, old)
	}
	verdicts(t, schema, base, false, "the untouched bid")
}

// places are the paths to everything below a value.
func places(v any, path []string) [][]string {
	var out [][]string
	if len(path) > 0 {
		out = append(out, slices.Clone(path))
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, places(v[k], append(path, k))...)
		}
	case []any:
		for i, item := range v {
			out = append(out, places(item, append(path, strconv.Itoa(i)))...)
		}
	}
	return out
}

func at(v any, path []string) any {
	for _, p := range path {
		switch m := v.(type) {
		case map[string]any:
			v = m[p]
		case []any:
			i, _ := strconv.Atoi(p)
			v = m[i]
		}
	}
	return v
}

func set(v any, path []string, value any) {
	last := len(path) - 1
	switch m := at(v, path[:last]).(type) {
	case map[string]any:
		m[path[last]] = value
	case []any:
		i, _ := strconv.Atoi(path[last])
		m[i] = value
	}
}

// probes are the values to try in place of one.
func probes(old any) []any {
	switch old := old.(type) {
	case string:
		out := []any{nil, 1.0, ""}
		for _, limit := range []int{60, 64, 80, 120, 140, 200, 300, 400, 500, 600, 1000} {
			out = append(out, strings.Repeat("x", limit), strings.Repeat("x", limit+1))
		}
		return out
	case float64:
		return []any{nil, "1", true, -1.0, -0.001, 0.0, 0.5, 1.0, 2.0, 3.0, 9.0, 10.0, 30.0, 31.0, 100.0, 101.0, 10000.0, 10001.0, 36500.0, 36501.0, 50000.0, 50001.0, 525600.0, 525601.0, 876000.0, 876001.0, 1e12, 1e12 + 1}
	case bool:
		return []any{nil, "true", 1.0, !old}
	case []any:
		out := []any{nil, map[string]any{}}
		if len(old) > 0 {
			for _, n := range []int{0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 12, 13, 15, 16, 20, 21, 40, 41, 50, 51, 100, 101} {
				out = append(out, repeated(n, old[len(old)-1]))
			}
		}
		return out
	case map[string]any:
		out := []any{nil, []any{}, "x", map[string]any{}}
		for _, k := range slices.Sorted(maps.Keys(old)) {
			less := maps.Clone(old)
			delete(less, k)
			out = append(out, less)
		}
		return out
	}
	return []any{1.0, "x", false}
}

func tree(t *testing.T, name string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(read(t, name), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func copied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, m := range v {
			out[k] = copied(m)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, m := range v {
			out[i] = copied(m)
		}
		return out
	}
	return v
}

func excepted(detail string, body any) bool {
	for _, e := range exceptions {
		if strings.Contains(detail, e.words) && (e.when == nil || e.when(body)) {
			return true
		}
	}
	return false
}

// broken walks to a random place and puts something else there.
func broken(r *rand.Rand, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 && r.IntN(8) > 0 {
			keys := slices.Sorted(maps.Keys(v))
			k := keys[r.IntN(len(keys))]
			if r.IntN(10) == 0 {
				delete(v, k)
				return v
			}
			v[k] = broken(r, v[k])
			return v
		}
		if r.IntN(2) == 0 {
			v[pick1(r, "config", "document", "choose", "connector", "extra", "actor", "options", "rounds", "description")] = anything(r)
			return v
		}
	case []any:
		if len(v) > 0 && r.IntN(6) > 0 {
			i := r.IntN(len(v))
			v[i] = broken(r, v[i])
			return v
		}
		switch r.IntN(4) {
		case 0:
			return v[:r.IntN(len(v)+1)]
		case 1:
			for range r.IntN(20) {
				if len(v) > 0 {
					v = append(v, v[r.IntN(len(v))])
				}
			}
			return v
		}
	case string:
		switch r.IntN(5) {
		case 0:
			return v + strings.Repeat("x", r.IntN(1200))
		case 1:
			return strings.ToUpper(v)
		case 2:
			return " " + v + "\t"
		}
	case float64:
		switch r.IntN(5) {
		case 0:
			return -v
		case 1:
			return v + 1
		case 2:
			return v / 7
		case 3:
			return v * 1e15
		}
	}
	return anything(r)
}

func pick1[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func anything(r *rand.Rand) any {
	return pick1[any](r, nil, true, false, 0.0, 1.0, 0.5, -1.0, 3.0, 35.0, 1e18, "", " ", "x", "APPROVE", "CHOOSE", "PROVIDE", "GRANT", "agent", "approve", "select", "radio",
		"single_choice", "rank", "structured_form", "agreement", "file_upload", "target_end", "mcp_server", "a\u0001b", "\u0958", strings.Repeat("\u0958", 31), "\u00a0", []any{}, []any{"x"}, []any{map[string]any{}}, map[string]any{},
		map[string]any{"label": "A"}, map[string]any{"options": []any{map[string]any{"label": "A"}}}, map[string]any{"blocks": []any{map[string]any{"type": "heading", "text": "T"}}},
		string(unicode.MaxRune), strings.Repeat("y", 61))
}
