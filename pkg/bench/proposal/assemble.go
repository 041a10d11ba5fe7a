package proposal

import "encoding/json"

// The functions here turn a checked tree into the typed proposal. Every type assertion that is not guarded reads a field that
// a stage has proved present.

func str(obj map[string]any, key string) string {
	s, _ := obj[key].(string)
	return s
}

// num reads a whole number from a checked tree (int64) or from a decoded one (json.Number).
func num(obj map[string]any, key string) int64 {
	switch n := obj[key].(type) {
	case int64:
		return n
	case json.Number:
		i, _ := wholeNumber(n)
		return i
	}
	return 0
}

func obj(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func items(v any) []any {
	l, _ := v.([]any)
	return l
}

func texts(v any) []string {
	list := items(v)
	out := make([]string, 0, len(list))
	for _, s := range list {
		if s, ok := s.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// proposal assembles a bid after its last stage; a dry run stops before the pitch is judged and assembles nothing.
func (d *draft) proposal() *Proposal {
	allocation := obj(d.top["allocation"])
	p := &Proposal{
		ModelDeclared: str(d.top, "model_declared"), TotalAskCents: num(d.top, "total_ask_cents"),
		Allocation:   Allocation{num(allocation, "ad_spend"), num(allocation, "tools"), num(allocation, "agent_work")},
		TimelineDays: int(num(d.top, "timeline_days")), FinishLine: str(d.top, "finish_line"), FinishLineCents: num(d.top, "finish_line_cents"),
		SubsidyDeclared: str(d.top, "subsidy_declared"), PitchTitle: str(d.top, "pitch_title"), PitchBody: str(d.top, "pitch_body"),
		SmartGoals: texts(d.top["smart_goals"]), FinalistQuestions: [][]string{}, Steps: d.done,
	}
	if p.SubsidyDeclared == "" {
		p.SubsidyDeclared = NonePlanned
	}
	if s, ok := d.top["operator_relationship_disclosure"].(string); ok && s != "" {
		p.OperatorDisclosure = &s
	}
	for _, questions := range items(d.top["finalist_questions"]) {
		p.FinalistQuestions = append(p.FinalistQuestions, texts(questions))
	}
	if cost := obj(d.top["person_cost_estimate"]); cost != nil {
		p.PersonCostEstimate = &CostEstimate{LowCents: maybe(cost, "low_cents"), HighCents: maybe(cost, "high_cents"), Note: str(cost, "note")}
	}
	if campaign := obj(d.top["campaign"]); campaign != nil {
		p.Campaign = &Campaign{LaterTargets: []LaterTarget{}}
		for _, v := range items(campaign["later_targets"]) {
			t := obj(v)
			p.Campaign.LaterTargets = append(p.Campaign.LaterTargets, LaterTarget{str(t, "goal"), str(t, "band"), str(t, "est_ask_range"), str(t, "est_timeline")})
		}
	}
	return p
}

func maybe(m map[string]any, key string) *int64 {
	if n, ok := m[key].(int64); ok {
		return &n
	}
	return nil
}

func stepFrom(m map[string]any) Step {
	s := Step{
		Title: str(m, "title"), MinorDetail: str(m, "minor_detail"), Ask: str(m, "ask"), Actor: str(m, "actor"), Rounds: int(num(m, "rounds")),
		OutcomePromise: str(m, "outcome_promise"), PersonMinutes: int(num(m, "person_minutes")), LineItemAmount: num(m, "line_item_amount"),
		DeclaredOddsReason: str(m, "declared_odds_reason"), HARBlocks: []Block{},
	}
	s.AgentCourtEstimate, _ = m["agent_court_estimate"].(float64)
	s.DeclaredOdds, _ = m["declared_odds"].(float64)
	if s.Rounds == 0 {
		s.Rounds = 1
	}
	switch s.Ask {
	case Choose:
		s.Choose = chooseFrom(obj(m["choose"]))
	case Provide:
		s.Provide = provideFrom(obj(m["provide"]))
	case Grant:
		s.GrantRequest = grantFrom(obj(m["grant_request"]))
	}
	for _, b := range items(m["har_blocks"]) {
		s.HARBlocks = append(s.HARBlocks, blockFrom(obj(b), s.Ask))
	}
	return s
}

func chooseFrom(m map[string]any) *ChoosePayload {
	if m == nil {
		return nil
	}
	c := &ChoosePayload{Prompt: str(m, "prompt"), SelectionMode: str(m, "selection_mode"), Options: optionsFrom(m["options"])}
	if c.SelectionMode == "" {
		c.SelectionMode = SelectSingle
	}
	if c.SelectionMode == SelectUpToK {
		c.MaxSelections = int(num(m, "max_selections"))
	}
	return c
}

func optionsFrom(v any) []Option {
	list := items(v)
	if len(list) == 0 {
		return nil
	}
	out := make([]Option, len(list))
	for i, o := range list {
		m := obj(o)
		out[i] = Option{ID: str(m, "id"), Label: str(m, "label"), Detail: str(m, "detail"), Value: m["value"],
			ThumbnailURL: str(m, "thumbnail_url"), ThumbnailAlt: str(m, "thumbnail_alt")}
	}
	return out
}

func provideFrom(m map[string]any) *ProvidePayload {
	if m == nil {
		return nil
	}
	p := &ProvidePayload{Intro: str(m, "intro"), What: str(m, "what"), Why: str(m, "why")}
	if formats := texts(m["accepted_formats"]); len(formats) > 0 {
		p.AcceptedFormats = formats
	}
	for _, v := range items(m["items"]) {
		item := obj(v)
		required, _ := item["required"].(bool)
		p.Items = append(p.Items, ProvideItem{Label: str(item, "label"), Why: str(item, "why"), Required: required})
	}
	return p
}

func grantFrom(m map[string]any) *GrantRequest {
	g := &GrantRequest{Kind: str(m, "kind"), What: str(m, "what"), Why: str(m, "why"), Scope: str(m, "scope"), Until: str(m, "until"),
		Exposure: str(m, "exposure"), Capability: str(m, "capability")}
	if c := obj(m["connector"]); c != nil {
		g.Connector = &Connector{Provider: str(c, "provider"), Actions: texts(c["actions"]), Resources: texts(c["resources"]),
			OperationLimit: int(num(c, "operation_limit"))}
	}
	return g
}

func blockFrom(m map[string]any, ask string) Block {
	b := Block{ID: str(m, "id"), Title: str(m, "title"), Format: str(m, "format"), Ask: str(m, "ask"), Required: true, Description: str(m, "description")}
	if required, ok := m["required"].(bool); ok {
		b.Required = required
	}
	if b.Ask == "" {
		b.Ask = blockAsks[ask]
	}
	tree := obj(m["config"])
	if tree == nil {
		tree = map[string]any{}
	}
	b.Config = configFrom(b.Format, tree)
	return b
}

// blockAsks are the step asks as blocks spell them.
var blockAsks = map[string]string{Approve: approves, Choose: chooses, Provide: provides, Grant: grants}

// configFrom reads the keys a format declares; whatever else stands in the tree is kept there alone.
func configFrom(slug string, tree map[string]any) Config {
	c := Config{tree: tree}
	f := formatBySlug[slug]
	if f == nil {
		return c
	}
	for _, field := range f.config {
		v := tree[field.name]
		switch field.name {
		case "placeholder":
			c.Placeholder = str(tree, "placeholder")
		case "rows":
			c.Rows = int(num(tree, "rows"))
		case "max_chars":
			c.MaxChars = int(num(tree, "max_chars"))
		case "mode":
			c.Mode = str(tree, "mode")
		case "display":
			c.Display = str(tree, "display")
		case "options":
			c.Options = optionsFrom(v)
		case "fields":
			c.Fields = formFieldsFrom(v)
		case "document":
			c.Document = documentFrom(v)
		case "file_id":
			c.FileID = str(tree, "file_id")
		case "link":
			if m := obj(v); m != nil {
				c.Link = &Link{URL: str(m, "url"), Kind: str(m, "kind"), Title: str(m, "title")}
			}
		case "slots":
			c.Slots = slotsFrom(v)
		}
	}
	return c
}

func formFieldsFrom(v any) []FormField {
	var out []FormField
	for _, f := range items(v) {
		m := obj(f)
		out = append(out, FormField{Label: str(m, "label"), Key: str(m, "key"), Type: str(m, "type"), Placeholder: str(m, "placeholder"), Options: optionsFrom(m["options"])})
	}
	return out
}

func slotsFrom(v any) []Slot {
	var out []Slot
	for _, s := range items(v) {
		if label, ok := s.(string); ok {
			out = append(out, Slot{Label: label})
		} else {
			m := obj(s)
			out = append(out, Slot{ID: str(m, "id"), Label: str(m, "label")})
		}
	}
	return out
}
