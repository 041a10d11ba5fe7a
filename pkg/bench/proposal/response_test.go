package proposal

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func choice(format string) Block {
	return Block{ID: "c", Title: "Choose", Format: format, Ask: "choose", Required: true, Config: Config{Options: []Option{{ID: "a", Label: "Hall"}, {Label: "River"}, {ID: "c", Label: "Mill", Value: "m"}}}}
}

const file = `[{"file_id":"a1b2c3d4-e5f6-4890-abcd-ef1234567890","filename":"lease.pdf"}]`

// TestEachFormatTakesItsValueAndNoOther is the last column of the table of formats.
func TestEachFormatTakesItsValueAndNoOther(t *testing.T) {
	form := Block{Format: StructuredForm, Config: Config{Fields: []FormField{{Label: "Seats", Key: "seats", Type: "number"}, {Label: "Day", Key: "day", Type: "select", Options: []Option{{Label: "Tue"}, {Label: "Wed"}}}, {Label: "Extras", Key: "extras", Type: "checkbox"}, {Label: "On", Key: "on", Type: "date"}, {Label: "Why", Key: "why"}}}}
	document := Block{Format: ReviewApprove, Config: Config{Document: &Document{Blocks: []DocumentBlock{{Type: Heading, Text: "x"}}}}}
	for _, c := range []struct {
		block     Block
		good, bad []string
	}{
		{Block{Format: ShortAnswer}, []string{`""`, `"nine"`, quoted(500)}, []string{quoted(501), `1`, `null`, `{}`, `"a\u0001"`, ``, `"a" "b"`}},
		{Block{Format: WrittenResponse}, []string{`"a\nb"`, quoted(5000)}, []string{quoted(5001), `[]`}},
		{Block{Format: WrittenResponse, Config: Config{MaxChars: 10}}, []string{quoted(10)}, []string{quoted(11)}},
		{Block{Format: Location}, []string{`"Oak Street"`}, []string{quoted(501)}},
		{Block{Format: CodeReference}, []string{`"commit 1a2b"`}, []string{`{}`}},
		{choice(SingleChoice), []string{`{"choice":"a"}`, `{"choice":"River"}`, `{"choice":"Hall"}`, `{"choice":"other","other_text":"The pier"}`, `{"choice":""}`, `{"choice":"a","extra":1}`}, []string{`{"choice":"b"}`, `{"choice":"other"}`, `{"choice":"other","other_text":" "}`, `{}`, `"a"`, `{"choice":["a"]}`, `{"choice":"other","other_text":` + quoted(501) + `}`}},
		{choice(MultipleChoice), []string{`{"choices":[]}`, `{"choices":["a","River"]}`, `{"choices":["other"],"other_text":"x"}`, `{"choices":[],"other_text":"x"}`}, []string{`{"choices":["a","a"]}`, `{"choices":["a","Hall"]}`, `{"choices":["z"]}`, `{"choices":["other"]}`, `{"choices":"a"}`, `{}`}},
		{choice(Rank), []string{`{"order":["c","a","River"]}`, `{"order":["a"]}`}, []string{`{"order":["a","a","c"]}`, `{"order":["a","b","c"]}`, `{"choices":["a"]}`}},
		{form, []string{`{}`, `{"seats":9,"day":"Tue","extras":["Tea"],"on":"2026-11-30","why":"so"}`, `{"day":"some other day"}`, `{"seats":"9"}`, `{"on":""}`}, []string{`{"size":1}`, `{"extras":"Tea"}`, `{"on":"soon"}`, `{"why":1}`, `[]`, `{"seats":{}}`}},
		{Block{Format: DateTime}, []string{`"2026-11-30T18:20"`, `"2026-11-30T18:20 Europe/Berlin"`, `"2026-11-30T18:20:05 UTC"`, `""`}, []string{`"tomorrow"`, `"2026-13-01T00:00"`, `"2026-11-30"`, `"2026-11-30T18:20 <b>"`, `"2026-11-30T18:20x"`}},
		{Block{Format: DateTime, Config: Config{Mode: "date"}}, []string{`"2028-02-29"`, `"2026-11-30 Europe/Berlin"`}, []string{`"2026-02-29"`, `"2026-11-30T18:20"`}},
		{Block{Format: DateTime, Config: Config{Mode: "time"}}, []string{`"18:20"`}, []string{`"25:00"`}},
		{Block{Format: DateTime, Config: Config{Mode: "week"}}, []string{`"2026-W07"`}, []string{`"2026-W54"`, `"2026-07"`}},
		{Block{Format: DateTime, Config: Config{Mode: "month"}}, []string{`"2026-07"`}, []string{`"2026-7"`}},
		{Block{Format: FileUpload}, []string{file, `[]`}, []string{`{}`, `[{"file_id":"x","filename":"y"}]`, `[{"file_id":"a1b2c3d4-e5f6-4890-abcd-ef1234567890"}]`, `[{"file_id":"a1b2c3d4-e5f6-4890-abcd-ef1234567890","filename":"../x"}]`, `"x"`}},
		{Block{Format: MediaUpload}, []string{file}, []string{`1`}},
		{Block{Format: DownloadReturn}, []string{file}, []string{`1`}},
		{Block{Format: ExternalLink}, []string{`{"done":true}`, `{"done":false,"note":"later"}`}, []string{`{}`, `{"done":"yes"}`, `true`}},
		{Block{Format: InviteShare}, []string{`{"done":true}`}, []string{`{}`}},
		{Block{Format: PaymentAuthorize}, []string{`{"done":true}`}, []string{`{}`}},
		{Block{Format: Communication}, []string{`{"done":true}`}, []string{`{}`}},
		{Block{Format: ConfirmCorrect}, []string{`{"confirmed":true}`, `{"confirmed":false,"correction":"It is Tuesday."}`}, []string{`{"correction":"x"}`, `{"confirmed":1}`}},
		{Block{Format: ReviewApprove}, []string{`{"verdict":"approve"}`, `{"verdict":"request_changes","comment":"shorter"}`}, []string{`{}`, `{"verdict":"no"}`, `{"verdict":"approve","read_confirmed":"yes"}`}},
		{document, []string{`{"verdict":"approve","read_confirmed":true}`, `{"verdict":"request_changes"}`}, []string{`{"verdict":"approve"}`, `{"verdict":"approve","read_confirmed":false}`}},
		{Block{Format: Agreement}, []string{`{"agreed":true}`, `{"agreed":false}`}, []string{`{}`, `{"agreed":"on"}`}},
		{Block{Format: Signature}, []string{`{"signed_name":"Ann","signed_at":"2026-11-30T18:20:00Z"}`, `{"signed_name":"Ann","signed_at":"2026-11-30T18:20:00+00:00"}`}, []string{`{"signed_name":"Ann"}`, `{"signed_name":" ","signed_at":"2026-11-30T18:20:00Z"}`, `{"signed_name":"Ann","signed_at":"today"}`}},
		{Block{Format: ConnectAccount}, []string{`{"authorization_id":"auth-1"}`}, []string{`{}`, `{"authorization_id":""}`}},
		{Block{Format: GrantAccess}, []string{`{"granted":true,"note":"until Friday"}`, `{"granted":false}`}, []string{`{}`}},
		{Block{Format: Schedule}, []string{`{"slot":"Monday at ten"}`}, []string{`{}`, `"Monday"`}},
		{Block{Format: Schedule, Config: Config{Slots: []Slot{{Label: "Mon"}, {ID: "t", Label: "Tue"}}}}, []string{`{"slot":"Mon"}`, `{"slot":"t"}`, `{"slot":"Tue"}`}, []string{`{"slot":"Wed"}`}},
		{Block{Format: "popup"}, nil, []string{`"x"`}},
	} {
		for _, v := range c.good {
			if err := CheckResponse(c.block, json.RawMessage(v)); err != nil {
				t.Errorf("%s refuses %.80s: %v", c.block.Format, v, err)
			}
		}
		for _, v := range c.bad {
			if err := CheckResponse(c.block, json.RawMessage(v)); err == nil {
				t.Errorf("%s takes %.80s", c.block.Format, v)
			}
		}
	}
	for _, slug := range Formats() {
		if responses[slug] == nil {
			t.Errorf("%s has no value shape", slug)
		}
	}
}

func quoted(n int) string { return `"` + chars(n) + `"` }

func TestStoredChoicesNameTheOptionByItsKey(t *testing.T) {
	for in, want := range map[string]string{
		`{"choice":"Hall"}`: `{"choice":"a","value":"Hall"}`, `{"choice":"River"}`: `{"choice":"River","value":"River"}`, `{"choice":"Mill"}`: `{"choice":"c","value":"m"}`,
		`{"choice":"other","other_text":" Pier "}`: `{"choice":"other","other_text":"Pier","value":"Pier"}`,
	} {
		got, err := CleanResponse(choice(SingleChoice), json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("%s stored as %s, %v; want %s", in, got, err, want)
		}
	}
	got, err := CleanResponse(choice(Rank), json.RawMessage(`{"order":["Mill","River","Hall"],"x":1}`))
	if err != nil || string(got) != `{"order":["c","River","a"]}` {
		t.Errorf("%s %v", got, err)
	}
}

func TestRequiredBlocksAreAnsweredBeforeApproval(t *testing.T) {
	agreed := Block{Format: Agreement, Required: true}
	note := Block{Format: ShortAnswer}
	review := Block{Format: ReviewApprove, Required: true}
	for name, c := range map[string]struct {
		step    Step
		values  map[int]string
		approve bool
		block   int // 0 is fine
	}{
		"nothing required":         {Step{Ask: Approve, HARBlocks: []Block{note}}, nil, true, 0},
		"required and absent":      {Step{Ask: Approve, HARBlocks: []Block{note, agreed}}, nil, true, 2},
		"required and not agreed":  {Step{Ask: Approve, HARBlocks: []Block{agreed}}, map[int]string{1: `{"agreed":false}`}, true, 1},
		"required and agreed":      {Step{Ask: Approve, HARBlocks: []Block{agreed}}, map[int]string{1: `{"agreed":true}`}, true, 0},
		"changes need no answers":  {Step{Ask: Approve, HARBlocks: []Block{agreed}}, nil, false, 0},
		"provide never blocks":     {Step{Ask: Provide, HARBlocks: []Block{{Format: FileUpload, Required: true}}}, nil, true, 0},
		"a bad value":              {Step{Ask: Provide, HARBlocks: []Block{note}}, map[int]string{1: `7`}, false, 1},
		"no such block":            {Step{Ask: Provide, HARBlocks: []Block{note}}, map[int]string{2: `"x"`}, false, 2},
		"verdict against approval": {Step{Ask: Approve, HARBlocks: []Block{review}}, map[int]string{1: `{"verdict":"request_changes"}`}, true, 1},
		"verdict with changes":     {Step{Ask: Approve, HARBlocks: []Block{review}}, map[int]string{1: `{"verdict":"request_changes"}`}, false, 0},
		"half a ranking":           {Step{Ask: Choose, HARBlocks: []Block{choice(Rank)}}, map[int]string{1: `{"order":["a"]}`}, true, 1},
		"all of a ranking":         {Step{Ask: Choose, HARBlocks: []Block{choice(Rank)}}, map[int]string{1: `{"order":["a","c","River"]}`}, true, 0},
		"two where one is taken":   {Step{Ask: Choose, Choose: &ChoosePayload{SelectionMode: SelectSingle}, HARBlocks: []Block{choice(MultipleChoice)}}, map[int]string{1: `{"choices":["a","c"]}`}, true, 1},
		"two where two are taken":  {Step{Ask: Choose, Choose: &ChoosePayload{SelectionMode: SelectUpToK, MaxSelections: 2}, HARBlocks: []Block{choice(MultipleChoice)}}, map[int]string{1: `{"choices":["a","c"]}`}, true, 0},
		"no choice made":           {Step{Ask: Choose, HARBlocks: []Block{choice(SingleChoice)}}, map[int]string{1: `{"choice":""}`}, true, 1},
		"an empty form":            {Step{Ask: Approve, HARBlocks: []Block{{Format: StructuredForm, Required: true, Config: Config{Fields: []FormField{{Label: "a", Key: "a"}}}}}}, map[int]string{1: `{"a":" "}`}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			values := map[int]json.RawMessage{}
			for n, v := range c.values {
				values[n] = json.RawMessage(v)
			}
			err := CheckAnswers(c.step, values, c.approve)
			var answer *AnswerError
			if c.block == 0 && err != nil || c.block != 0 && (!errors.As(err, &answer) || answer.Block != c.block) {
				t.Errorf("%v", err)
			}
			if answer != nil && answer.Mismatch != strings.HasPrefix(name, "verdict") {
				t.Errorf("mismatch is %v", answer.Mismatch)
			}
		})
	}
}

func TestAnOutcomeMayBringItsOwnTiles(t *testing.T) {
	p := accepted(t, body(t, "full.json"), open())
	old := p.Steps[0].HARBlocks[0]
	fresh := old.WithOptions([]Option{{ID: "x", Label: "New"}, {Label: "Newer", Detail: "Better"}})
	if err := CheckResponse(fresh, json.RawMessage(`{"choices":["x","Newer"]}`)); err != nil {
		t.Error(err)
	}
	if err := CheckResponse(old, json.RawMessage(`{"choices":["x"]}`)); err == nil {
		t.Error("the plan's own block changed")
	}
	raw, err := json.Marshal(fresh)
	if err != nil || !strings.Contains(string(raw), `"Newer"`) || !strings.Contains(string(raw), `"hint"`) {
		t.Errorf("%s %v", raw, err)
	}
}

func TestFormatsFitTheAskOfTheirFamily(t *testing.T) {
	if len(Formats()) != 23 {
		t.Fatal(len(Formats()))
	}
	count := map[string]int{}
	for _, slug := range Formats() {
		count[Family(slug)]++
		for _, ask := range []string{Approve, Choose, Provide, Grant, ""} {
			if MatchesAsk(slug, ask) != (Family(slug) == ask) {
				t.Errorf("%s %s", slug, ask)
			}
		}
	}
	if count[Approve] != 4 || count[Choose] != 3 || count[Grant] != 2 || count[Provide] != 14 {
		t.Errorf("%v", count)
	}
	if MatchesAsk("popup", "") || Family("popup") != "" {
		t.Error("an unknown format fits")
	}
}
