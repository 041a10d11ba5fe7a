package proposal

import (
	"encoding/json"
	"reflect"
	"testing"
)

func steps(t *testing.T, raw []byte) []byte {
	t.Helper()
	var b struct {
		Steps json.RawMessage `json:"steps"`
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		t.Fatal(err)
	}
	return b.Steps
}

func TestAnInformedPlanCarriesTheFrozenNumbersOver(t *testing.T) {
	bid := accepted(t, body(t, "full.json"), open())
	before, _ := bid.Encode()
	plan, rej := ValidatePlan(steps(t, body(t, "full.json", "steps.3.title", "I build it well", "steps.0.line_item_amount", 9000)), ptr(int64(6000)), bid, open())
	if rej != nil {
		t.Fatal(rej)
	}
	if plan.Steps[3].Title != "I build it well" || plan.FinishLineCents != 6000 || plan.TotalAskCents != bid.TotalAskCents || plan.PitchBody != bid.PitchBody || !reflect.DeepEqual(plan.Allocation, bid.Allocation) {
		t.Errorf("%+v", plan)
	}
	if after, _ := bid.Encode(); string(after) != string(before) {
		t.Error("the bid changed")
	}
	kept, rej := ValidatePlan(steps(t, body(t, "full.json")), nil, plan, open())
	if rej == nil || rej.Code != "REJ-05" {
		t.Errorf("an omitted amount is the one in force: %v %v", kept, rej)
	}
}

func TestAPlanIsRefusedLikeABid(t *testing.T) {
	bid := accepted(t, body(t, "full.json"), open())
	target := Target{LaneKind: LanePaid, CeilingCents: ptr(int64(45000)), TimelineDays: ptr(21)}
	for _, c := range []struct {
		code, words string
		steps       []byte
		finish      *int64
		target      Target
	}{
		{"REJ-01", "steps must be a list", []byte(`{}`), nil, target},
		{"REJ-01", "not valid JSON", []byte(`[`), nil, target},
		{"REJ-01", "step 1 must be an object", []byte(`[1]`), nil, target},
		{"REJ-01", "finish_line_cents must be at least 0", []byte(`[]`), ptr(int64(-1)), target},
		{"REJ-12", "hold 0", []byte(`[]`), nil, target},
		{"REJ-16", "step 3: declared_odds is required (rule 121)", steps(t, body(t, "full.json", "steps.2.declared_odds", absent{})), nil, target},
		{"REJ-02", "ceiling", steps(t, body(t, "full.json")), nil, Target{LaneKind: LanePaid, CeilingCents: ptr(int64(44999))}},
		{"REJ-03", "timeline_days is 21", steps(t, body(t, "full.json")), nil, Target{LaneKind: LanePaid, TimelineDays: ptr(20)}},
		{"REJ-04", "step 5", steps(t, body(t, "full.json", "steps.4.ask", "X")), nil, target},
		{"REJ-05", "add up to 45001", steps(t, body(t, "full.json")), ptr(int64(5001)), target},
		{"REJ-06", "step 1", steps(t, body(t, "full.json", "steps.0.title", "Pay $3 per month")), nil, target},
		{"REJ-07", "step 1", steps(t, body(t, "full.json", "steps.0.title", "www.example.com")), nil, target},
		{"REJ-08", "step 1", steps(t, body(t, "full.json", "steps.0.title", "Send me your password")), nil, target},
		{"REJ-11", "step 3", steps(t, body(t, "full.json", "steps.2.grant_request.scope", "")), nil, target},
		{"REJ-13", "step 2", steps(t, body(t, "full.json", "steps.1.provide", "x")), nil, target},
		{"REJ-19", "step 1", steps(t, body(t, "full.json", "steps.0.outcome_promise", "100% guaranteed")), nil, target},
		{"REJ-22", "step 1", steps(t, body(t, "full.json", "steps.0.har_blocks", absent{})), nil, target},
		{"REJ-23", "step 5", steps(t, body(t, "full.json", "steps.4.har_blocks.0.config.document.blocks", []any{})), nil, target},
		{"REJ-24", "step 3", steps(t, body(t, "full.json", "steps.2.har_blocks.0.format", "signature")), nil, target},
		{"REJ-25", "step 1", steps(t, body(t, "full.json", "steps.0.har_blocks.0.config.options", options(2), "steps.0.choose", absent{})), nil, target},
		{"REJ-26", "step 3", steps(t, body(t, "full.json", "steps.2.grant_request.exposure", "none")), nil, target},
	} {
		_, rej := ValidatePlan(c.steps, c.finish, bid, c.target)
		if rej == nil || rej.Code != c.code || !contains(rej.Detail, c.words) {
			t.Errorf("%v; want %s %s", rej, c.code, c.words)
		}
	}
}

func TestAPlanMayNotAskForMoreGrants(t *testing.T) {
	grant, other := Step{Ask: Grant}, Step{Ask: Approve}
	if rej := CheckGrants([]Step{grant, other}, []Step{other, grant}); rej != nil {
		t.Error(rej)
	}
	if rej := CheckGrants([]Step{grant, grant}, []Step{grant}); rej == nil || rej.Code != "REJ-18" || rej.Message == "" {
		t.Error(rej)
	}
	if CountGrants([]Step{grant, other, grant}) != 2 {
		t.Error("count")
	}
}

func TestTheReleaseMapAddsUp(t *testing.T) {
	m := ReleaseMap(accepted(t, body(t, "easy.json"), easy()))
	if !m.SumsMatch || m.TotalAskCents != 9000 || m.FinishLineCents != 1000 || len(m.Releases) != 2 || m.Releases[1] != (Release{2, "Approve the held table", "APPROVE", 4000, 8000}) {
		t.Errorf("%+v", m)
	}
	loose, rej := EstimateReleases(body(t, "easy.json", "steps.0.line_item_amount", 1, "steps.0.declared_odds", absent{}, "pitch_title", absent{}))
	if rej != nil || loose.SumsMatch || loose.Releases[1].Cumulative != 4001 {
		t.Errorf("%+v %v", loose, rej)
	}
	if _, rej := EstimateReleases([]byte(`{"steps":[]}`)); rej == nil || rej.Code != "REJ-01" {
		t.Error(rej)
	}
}

func TestASecretIsFoundUnderAnyKey(t *testing.T) {
	for raw, want := range map[string]bool{
		`[]`: false, `[{"title":"please reset your password"}]`: false, `[{"title":"password: hunter22"}]`: true, `[{"x":{"y":["-----BEGIN PRIVATE KEY-----"]}}]`: true,
		`{"password":"hunter22"}`: true, `{"token":"Monday morning would suit"}`: false, `{"card 4111111111111111":1}`: true, `nonsense`: false,
	} {
		if _, found := Secret([]byte(raw)); found != want {
			t.Errorf("%s: %v", raw, found)
		}
	}
	for _, name := range []string{"easy.json", "full.json"} {
		if kind, found := Secret(read(t, name)); found {
			t.Errorf("%s holds a %s", name, kind)
		}
	}
}
