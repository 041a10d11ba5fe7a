package registry

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
)

// declaration is what an agent said of one capability. Rows are kept for ever.
type declaration struct {
	Key         string    `json:"key"`
	Note        *string   `json:"note,omitempty"`
	DeclaredAt  time.Time `json:"declared_at"`
	WithdrawnAt time.Time `json:"withdrawn_at,omitzero"`
}

// declarations are an agent's, by key; one row.
type declarations map[string]declaration

func capabilitiesKey(agentID string) table.Key { return passport(agentID, "CAPABILITIES") }

// MyCapabilities reads the caller's own declarations, gated and withdrawn ones included.
var MyCapabilities = op.Declare(op.Meta{
	ID: "bench.capability.mine", Method: "GET", Path: declareEndpoint, Tool: "get_my_capabilities", Auth: op.Maker, Scope: TargetsRead,
	Summary: "Read your own capabilities.", Contract: "bench.md 3.13",
}, myCapabilities)

// DeclareCapabilities replaces the caller's declarations.
var DeclareCapabilities = op.Declare(op.Meta{
	ID: "bench.capability.declare", Method: "PUT", Path: declareEndpoint, Tool: "declare_capabilities", Auth: op.Maker, Scope: TargetsRead,
	Limit: &Writes, Summary: "Replace the capabilities you declare.", Faults: []string{"REJ-20"}, BodySchema: declareSchema,
	Notes:    `The body is {"capabilities": [...]} or the list itself; an entry is a key or {"key", "note"}. A key you leave out is withdrawn.`,
	Contract: "bench.md 3.13",
}, declareCapabilities)

// MyCapabilitiesIn is empty.
type MyCapabilitiesIn struct{}

// Rows names the agent and its declarations.
func (MyCapabilitiesIn) Rows(agentID string) []table.Key {
	return []table.Key{AgentKey(agentID), capabilitiesKey(agentID)}
}

// DeclareIn is the whole body, an object or a list.
type DeclareIn struct {
	Body json.RawMessage `body:"raw"`
}

// Rows names the agent, its declarations and its feed.
func (DeclareIn) Rows(agentID string) []table.Key {
	return []table.Key{AgentKey(agentID), capabilitiesKey(agentID), record.HeadKey(agentID)}
}

// CapabilitiesOut is what both verbs answer.
type CapabilitiesOut struct {
	MakerID        string            `json:"maker_id"`
	Handle         string            `json:"handle"`
	Declared       bool              `json:"declared_only"`
	MaxNote        int               `json:"note_max_length"`
	Active         []CapabilityBlock `json:"active"`
	ActiveCount    int               `json:"active_count"`
	Withdrawn      []CapabilityBlock `json:"withdrawn"`
	WithdrawnCount int               `json:"withdrawn_count"`
	Changed        CapabilityChanges `json:"changed"`
	Publication    CapabilityShowing `json:"publication"`
}

// CapabilityBlock shows one declaration.
type CapabilityBlock struct {
	Key         string       `json:"capability_key"`
	Label       string       `json:"label"`
	Tier        string       `json:"tier"`
	TierLabel   string       `json:"tier_label"`
	Note        *string      `json:"note"`
	DeclaredAt  record.Time  `json:"declared_at"`
	WithdrawnAt *record.Time `json:"withdrawn_at"`
	Active      bool         `json:"is_active"`
}

// CapabilityChanges lists the keys a write changed.
type CapabilityChanges struct {
	Wrote     bool     `json:"wrote"`
	Added     []string `json:"added"`
	Updated   []string `json:"updated"`
	Restored  []string `json:"restored"`
	Withdrawn []string `json:"withdrawn"`
}

// CapabilityShowing says which tiers the Passport shows.
type CapabilityShowing struct {
	Gated     []string `json:"gated_tiers"`
	Verified  bool     `json:"operator_verified"`
	Published bool     `json:"gated_tiers_published"`
	Reason    *string  `json:"withheld_reason"`
	Notice    string   `json:"notice"`
}

func noChanges() CapabilityChanges {
	return CapabilityChanges{Added: []string{}, Updated: []string{}, Restored: []string{}, Withdrawn: []string{}}
}

func myCapabilities(c *op.Call, _ MyCapabilitiesIn) (CapabilitiesOut, error) {
	a, d, err := loadDeclarations(c)
	return capabilitiesOut(a, d, noChanges()), err
}

func loadDeclarations(c *op.Call) (Agent, declarations, error) {
	a, err := Load(c, c.Caller.ID)
	if err != nil {
		return a, nil, err
	}
	d, _, err := op.Load[declarations](c, capabilitiesKey(a.ID))
	return a, d, err
}

func declareCapabilities(c *op.Call, in DeclareIn) (CapabilitiesOut, error) {
	want, err := readDeclarations(in.Body)
	if err != nil {
		return CapabilitiesOut{}, err
	}
	a, old, err := loadDeclarations(c)
	if err != nil {
		return CapabilitiesOut{}, err
	}
	next, changes := redeclare(old, want, c.Now)
	if changes.Wrote {
		c.Put(capabilitiesKey(a.ID), next)
		if err := record.Audit(c, c.Caller.Key(), EventCapabilities, "agent:"+a.ID, nil, changes); err != nil {
			return CapabilitiesOut{}, err
		}
		if err := record.Event(c, a.ID, record.E{Type: EventCapabilities, Data: changes}); err != nil {
			return CapabilitiesOut{}, err
		}
	}
	return capabilitiesOut(a, next, changes), nil
}

// redeclare is the full replace of bench.md 3.13: added, updated, restored, withdrawn.
func redeclare(old declarations, want map[string]*string, now time.Time) (declarations, CapabilityChanges) {
	next, ch := declarations{}, noChanges()
	maps.Copy(next, old)
	for _, key := range capabilityKeys() {
		note, wanted := want[key]
		was, known := old[key]
		live := known && was.WithdrawnAt.IsZero()
		switch {
		case wanted && !known:
			next[key] = declaration{Key: key, Note: note, DeclaredAt: now}
			ch.Added = append(ch.Added, key)
		case wanted && !live:
			was.Note, was.WithdrawnAt = note, time.Time{}
			next[key] = was
			ch.Restored = append(ch.Restored, key)
		case wanted && !sameNote(was.Note, note):
			was.Note = note
			next[key] = was
			ch.Updated = append(ch.Updated, key)
		case !wanted && live:
			was.WithdrawnAt = now
			next[key] = was
			ch.Withdrawn = append(ch.Withdrawn, key)
		}
	}
	ch.Wrote = len(ch.Added)+len(ch.Updated)+len(ch.Restored)+len(ch.Withdrawn) > 0
	return next, ch
}

func sameNote(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// rejected is REJ-20: the whole payload is refused and nothing is written.
func rejected(detail string) error {
	f := fault.New(fault.Invalid, "REJ-20", "The declaration was refused. Nothing was written.")
	return f.With("rej", "REJ-20").With("detail", detail).With("docs", docSkill).With("capability_keys", capabilityKeys()).With("note_max_length", MaxNote)
}

// readDeclarations reads a declaration body: keys with their notes, nil for none.
func readDeclarations(body []byte) (map[string]*string, error) {
	tree, err := parsed(body)
	if err != nil {
		return nil, err
	}
	if m, ok := tree.(map[string]any); ok {
		for _, k := range sorted(m) {
			if k != "capabilities" {
				return nil, rejected("The body has the field " + k + "; it takes capabilities only.")
			}
		}
		tree = m["capabilities"]
	}
	list, ok := tree.([]any)
	if !ok {
		return nil, rejected("Send capabilities as a list. An empty list withdraws everything.")
	}
	want := map[string]*string{}
	for _, e := range list {
		key, note, detail := readEntry(e)
		if detail == "" && places()[key].tier == nil {
			detail = "There is no capability " + quoted(key) + ". The list is closed: " + strings.Join(capabilityKeys(), ", ") + "."
		}
		if _, twice := want[key]; detail == "" && twice {
			detail = "The capability " + key + " is named twice."
		}
		if detail != "" {
			return nil, rejected(detail)
		}
		want[key] = note
	}
	return want, nil
}

// readEntry reads a key or {"key", "note"}; detail says what is wrong.
func readEntry(e any) (key string, note *string, detail string) {
	if s, ok := e.(string); ok {
		return s, nil, ""
	}
	m, _ := e.(map[string]any)
	key, ok := m["key"].(string)
	if !ok {
		return "", nil, "Each entry is a key, or an object with key and, if you like, note."
	}
	for k := range m {
		if k != "key" && k != "note" {
			return key, nil, "An entry has key and note, nothing else."
		}
	}
	if m["note"] == nil {
		return key, nil, ""
	}
	s, ok := m["note"].(string)
	if s = text.Normalize(s); !ok || text.Len(s) > MaxNote || text.HasControl(s) {
		return key, nil, "The note of " + quoted(key) + " must be text of at most 280 characters."
	}
	if s == "" {
		return key, nil, ""
	}
	return key, &s, ""
}

// quoted shows a stranger's word in a sentence, cut short.
func quoted(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return "'" + s + "'"
}

func capabilitiesOut(a Agent, d declarations, ch CapabilityChanges) CapabilitiesOut {
	out := CapabilitiesOut{MakerID: a.ID, Handle: a.Handle, Declared: true, MaxNote: MaxNote, Changed: ch, Publication: showing(a.OperatorVerified),
		Active: []CapabilityBlock{}, Withdrawn: []CapabilityBlock{}}
	for _, b := range blocks(d) {
		if b.Active {
			out.Active = append(out.Active, b)
		} else {
			out.Withdrawn = append(out.Withdrawn, b)
		}
	}
	out.ActiveCount, out.WithdrawnCount = len(out.Active), len(out.Withdrawn)
	return out
}

// blocks lists declarations in the order of the closed list.
func blocks(d declarations) []CapabilityBlock {
	out := []CapabilityBlock{}
	for key, one := range d {
		p := places()[key]
		if p.tier == nil {
			continue
		}
		out = append(out, CapabilityBlock{Key: key, Label: p.Label, Tier: p.tier.Tier, TierLabel: p.tier.Label, Note: one.Note,
			DeclaredAt: record.Time(one.DeclaredAt), WithdrawnAt: record.At(one.WithdrawnAt), Active: one.WithdrawnAt.IsZero()})
	}
	slices.SortFunc(out, func(a, b CapabilityBlock) int { return cmp.Compare(places()[a.Key].rank, places()[b.Key].rank) })
	return out
}

// published are the declarations a Passport shows: live ones, gated ones only while the
// operator is verified.
func published(d declarations, operatorVerified bool) []CapabilityBlock {
	return slices.DeleteFunc(blocks(d), func(b CapabilityBlock) bool {
		return !b.Active || places()[b.Key].tier.Gated && !operatorVerified
	})
}

func showing(verified bool) CapabilityShowing {
	s := CapabilityShowing{Gated: []string{}, Verified: verified, Published: verified,
		Notice: "Your whole declaration is on your Passport, marked as declared."}
	for _, t := range tiers() {
		if t.Gated {
			s.Gated = append(s.Gated, t.Tier)
		}
	}
	if !verified {
		reason := "operator_not_verified"
		s.Reason = &reason
		s.Notice = "High-risk capabilities stay off your Passport until your operator is verified. They are stored; nothing was refused."
	}
	return s
}

// declareSchema documents both forms of the body.
func declareSchema() []byte {
	entry := map[string]any{"oneOf": []any{
		map[string]any{"type": "string", "enum": capabilityKeys()},
		map[string]any{"type": "object", "additionalProperties": false, "required": []string{"key"}, "properties": map[string]any{
			"key":  map[string]any{"type": "string", "enum": capabilityKeys()},
			"note": map[string]any{"type": []string{"string", "null"}, "maxLength": MaxNote}}},
	}}
	list := map[string]any{"type": "array", "items": entry, "maxItems": len(capabilityKeys())}
	b, err := json.Marshal(map[string]any{"oneOf": []any{list, map[string]any{"type": "object", "additionalProperties": false,
		"required": []string{"capabilities"}, "properties": map[string]any{"capabilities": list}}}})
	if err != nil {
		panic(err)
	}
	return b
}
