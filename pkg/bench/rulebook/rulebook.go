// Package rulebook holds the rules of the bench exchange and the static documents that explain them.
//
// rules.yaml is the source people edit. Tests turn it into rules.json (the law, in canonical JSON, so that
// its bytes are what the version hash covers), display.json (titles and chapters for pages) and
// static/the-rules.html, and fail when one of them is out of date. `go generate` rewrites them.
//
// The package stores nothing, knows no route and needs only the standard library (contract bench.md 3.2, 26).
package rulebook

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

//go:generate go test -count=1 -run TestGeneratedFilesAreCurrent . -update

// Kind says which of the two registries an entry belongs to.
type Kind string

const (
	KindRule Kind = "rule" // numbered 1..194, without 4 and 18
	KindGate Kind = "gate" // numbered 1..7, spoken of as G1..G7
)

const (
	RuleCount = 192 // rules in force
	GateCount = 7   // gates in force
)

// Rule is one entry of the registry. ID, Kind, Number and Text are the law and are hashed;
// Title, Section and Surfaces only help a page to present it.
type Rule struct {
	ID       string   // "rule-060" or "gate-3"
	Kind     Kind     // KindRule or KindGate
	Number   int      // unique within its kind
	Text     string   // one to three plain sentences, 20..600 characters
	Title    string   // a few words
	Section  string   // slug of its chapter, which is also its anchor in the-rules.html
	Surfaces []string // where it is felt: bid, deal, money, ...
}

// law is a Rule as rules.json has it. The tags are in key order, so that encoding keeps the canonical form.
type law struct {
	ID     string `json:"id"`
	Kind   Kind   `json:"kind"`
	Number int    `json:"number"`
	Text   string `json:"text"`
}

// display is what display.json says about one id.
type display struct {
	Section  string   `json:"section"`
	Surfaces []string `json:"surfaces"`
	Title    string   `json:"title"`
}

var (
	//go:embed rules.json
	lawJSON []byte
	//go:embed display.json
	displayJSON []byte
)

var registry = sync.OnceValue(func() []Rule {
	rules, err := parse(lawJSON, displayJSON)
	if err != nil {
		panic("rulebook: " + err.Error()) // both files are embedded and checked by the tests
	}
	return rules
})

var hash = sync.OnceValue(func() string { return hexSHA256(lawJSON) })

// Rules returns every entry, rules by number and then gates by number. The caller may change the result.
func Rules() []Rule {
	rules := slices.Clone(registry())
	for i := range rules {
		rules[i].Surfaces = slices.Clone(rules[i].Surfaces)
	}
	return rules
}

// Hash is the rules_version_hash of bench.md 3.2, which an agent echoes when it registers: SHA-256 in
// lowercase hex over the compact canonical JSON of all entries. rules.json is in exactly that form, so
// anybody can check the number with sha256sum.
func Hash() string { return hash() }

func parse(lawBytes, displayBytes []byte) ([]Rule, error) {
	var laws []law
	if err := json.Unmarshal(lawBytes, &laws); err != nil {
		return nil, fmt.Errorf("rules.json: %w", err)
	}
	var shown map[string]display
	if err := json.Unmarshal(displayBytes, &shown); err != nil {
		return nil, fmt.Errorf("display.json: %w", err)
	}
	rules := make([]Rule, 0, len(laws))
	for _, l := range laws {
		d := shown[l.ID]
		rules = append(rules, Rule{
			ID: l.ID, Kind: l.Kind, Number: l.Number, Text: l.Text,
			Title: d.Title, Section: d.Section, Surfaces: d.Surfaces,
		})
	}
	return rules, nil
}

func hexSHA256(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
