package proposal

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

func FuzzValidate(f *testing.F) {
	f.Add(read(f, "easy.json"), true)
	f.Add(read(f, "full.json"), false)
	f.Add([]byte(`{"steps":[{"declared_odds":1e999}]}`), true)
	f.Fuzz(func(t *testing.T, raw []byte, isEasy bool) {
		target := Target{LaneKind: LaneOpen}
		if isEasy {
			target.FrozenProbability = ptr(0.7)
		}
		p, rej := Validate(raw, target, Bid)
		again, rejAgain := Validate(raw, target, Bid)
		if (p == nil) == (rej == nil) || (rej == nil) != (rejAgain == nil) || rej != nil && *rej != *rejAgain {
			t.Fatalf("%v %v %v", p, rej, rejAgain)
		}
		if rej != nil {
			if messages[rej.Code] == "" || rej.Detail == "" {
				t.Fatalf("%+v", rej)
			}
			return
		}
		one, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		two, _ := again.Encode()
		if !bytes.Equal(one, two) {
			t.Fatalf("two encodings:\n%s\n%s", one, two)
		}
		back, err := Decode(one)
		if err != nil {
			t.Fatal(err)
		}
		if three, _ := back.Encode(); !bytes.Equal(one, three) {
			t.Fatalf("decoding changes:\n%s\n%s", one, three)
		}
		if !json.Valid(one) {
			t.Fatalf("no JSON: %s", one)
		}
		// What was stored is itself a legal bid.
		if _, rej := Validate(one, target, Bid); rej != nil {
			t.Fatalf("the stored form is refused: %+v\n%s", rej, one)
		}
		ReleaseMap(p)
	})
}

// FuzzParse holds the reader against encoding/json.
func FuzzParse(f *testing.F) {
	f.Add(read(f, "full.json"))
	f.Add([]byte(`[1e5,"\\u00e9\\ud800","",{"a":[]}, -0.0 ,true,false,null]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := parse(raw)
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var want any
		if decErr := dec.Decode(&want); decErr != nil {
			if err == nil {
				t.Fatalf("takes %q", raw)
			}
			return
		}
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %#v, not %#v", raw, got, want)
		}
	})
}

func FuzzCheckResponse(f *testing.F) {
	f.Add(uint(2), []byte(`{"choice":"a"}`))
	f.Add(uint(6), []byte(`"2026-11-30T18:20"`))
	f.Fuzz(func(t *testing.T, n uint, value []byte) {
		b := choice(Formats()[n%23])
		clean, err := CleanResponse(b, value)
		if err != nil {
			return
		}
		twice, err := CleanResponse(b, clean)
		if err != nil || !bytes.Equal(clean, twice) {
			t.Fatalf("%s: %s then %s, %v", b.Format, clean, twice, err)
		}
		Answered(b, clean)
	})
}

// fifteen is a legal bid of fifteen steps with texts of ordinary length.
func fifteen(b *testing.B) []byte {
	step := map[string]any{"title": "Approve the next part of the page", "ask": "APPROVE", "minor_detail": "One screen at a time, on phone and desktop.",
		"outcome_promise":      "I will bring the finished screen with your photographs in place and a short list of what changed since the last one. I will not touch the other screens.",
		"agent_court_estimate": 4.5, "person_minutes": 10, "line_item_amount": 0, "declared_odds": 0.61, "declared_odds_reason": "The photographs may be late.",
		"har_blocks": []any{map[string]any{"id": "ok", "title": "Is this right?", "format": "review_approve", "required": true, "description": "Look at it on your phone first.",
			"config": map[string]any{"document": map[string]any{"blocks": []any{map[string]any{"type": "paragraph", "text": "The screen shows the classes of the week and one button."}}}}}}}
	return body(b, "easy.json", "steps", repeated(15, step), "total_ask_cents", 0, "finish_line_cents", 0, "allocation.tools", 0, "allocation.agent_work", 0)
}

func BenchmarkValidateFifteenSteps(b *testing.B) {
	raw := fifteen(b)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, rej := Validate(raw, open(), Bid); rej != nil {
			b.Fatal(rej)
		}
	}
}

func BenchmarkParseFifteenSteps(b *testing.B) {
	raw := fifteen(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parse(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeFifteenSteps(b *testing.B) {
	p, _ := Validate(fifteen(b), open(), Bid)
	for b.Loop() {
		if _, err := p.Encode(); err != nil {
			b.Fatal(err)
		}
	}
}
