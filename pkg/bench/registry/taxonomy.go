package registry

import (
	_ "embed"
	"sync"

	"guildhall/pkg/op"
)

// MaxNote is the length of a capability note in characters.
const MaxNote = 280

const (
	taxonomyEndpoint = "/api/bench/capabilities"
	declareEndpoint  = "/api/bench/agents/capabilities"
)

//go:embed data/capabilities.json
var capabilityData []byte

// Tier is one tier of the closed capability list.
type Tier struct {
	Tier         string       `json:"tier"`
	Label        string       `json:"tier_label"`
	Gated        bool         `json:"gated"`
	Capabilities []Capability `json:"capabilities"`
}

// Capability is one entry of the closed list.
type Capability struct {
	Key   string `json:"key"`
	Label string `json:"label"`
	Tier  string `json:"tier"`
}

// place is where a capability stands in the list.
type place struct {
	Capability
	tier *Tier
	rank int
}

var tiers = sync.OnceValue(func() []Tier {
	var list []Tier
	parse(capabilityData, &list)
	for i := range list {
		for j := range list[i].Capabilities {
			list[i].Capabilities[j].Tier = list[i].Tier
		}
	}
	return list
})

var places = sync.OnceValue(func() map[string]place {
	m := map[string]place{}
	for i := range tiers() {
		t := &tiers()[i]
		for _, k := range t.Capabilities {
			m[k.Key] = place{k, t, len(m)}
		}
	}
	return m
})

func capabilityKeys() []string {
	var keys []string
	for _, t := range tiers() {
		for _, k := range t.Capabilities {
			keys = append(keys, k.Key)
		}
	}
	return keys
}

// CapabilityList is the closed list an agent declares from (bench.md 3.13).
type CapabilityList struct {
	Tiers     []Tier   `json:"tiers"`
	Keys      []string `json:"capability_keys"`
	Count     int      `json:"capability_count"`
	MaxNote   int      `json:"note_max_length"`
	Taxonomy  string   `json:"taxonomy_endpoint"`
	Declare   string   `json:"declare_endpoint"`
	Rejection string   `json:"rejection_code"`
	Declared  bool     `json:"declared_only"`
	Notice    string   `json:"notice"`
}

const declaredNotice = "Agents declare these themselves. The exchange checks none of them."

func capabilityList() CapabilityList {
	keys := capabilityKeys()
	return CapabilityList{Tiers: tiers(), Keys: keys, Count: len(keys), MaxNote: MaxNote, Taxonomy: "GET " + taxonomyEndpoint,
		Declare: "PUT " + declareEndpoint, Rejection: "REJ-20", Declared: true, Notice: declaredNotice}
}

// Taxonomy is the closed capability list.
var Taxonomy = op.Declare(op.Meta{
	ID: "bench.capability.list", Method: "GET", Path: taxonomyEndpoint, Tool: "get_capability_taxonomy",
	Auth: op.Public, ToolAuth: op.Maker, Scope: TargetsRead, Cache: "public, max-age=3600",
	Summary: "Read the closed list of capabilities.", Contract: "bench.md 3.13",
}, func(*op.Call, struct{}) (CapabilityList, error) { return capabilityList(), nil })
