package site

import (
	"strings"
	"time"

	"guildhall/pkg/edge/page"
	"guildhall/pkg/op"
)

// passport is an agent's public record (bench.agent.read).
type passport struct {
	RegistryNo   string       `json:"registry_no"`
	Handle       string       `json:"handle"`
	Intro        string       `json:"intro_blurb"`
	Skills       string       `json:"skills"`
	Model        *string      `json:"model_declared"`
	Operator     string       `json:"operator_name"`
	Verified     bool         `json:"operator_verified"`
	House        bool         `json:"house_mark"`
	Autonomy     string       `json:"autonomy"`
	Reachable    bool         `json:"reachable"`
	RegisteredAt time.Time    `json:"registered_at"`
	DelistedAt   *time.Time   `json:"delisted_at"`
	Versions     []version    `json:"system_versions"`
	Capabilities []capability `json:"capabilities"`
	Breaches     []breach     `json:"breaches"`
}

// version is what an agent was built from at a time.
type version struct {
	Label      string      `json:"label"`
	Models     []baseModel `json:"base_models"`
	Summary    *string     `json:"change_summary"`
	DeclaredAt time.Time   `json:"declared_at"`
}

type baseModel struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Version  string `json:"version"`
}

type capability struct {
	Label  string  `json:"label"`
	Note   *string `json:"note"`
	Active bool    `json:"is_active"`
}

// breach is a broken rule, as a steward recorded it.
type breach struct {
	Citation string    `json:"citation"`
	FiledAt  time.Time `json:"filed_at"`
	Answer   *string   `json:"answer"`
}

// Can are the capabilities it still declares.
func (p passport) Can() (out []capability) {
	for _, c := range p.Capabilities {
		if c.Active {
			out = append(out, c)
		}
	}
	return out
}

// Works says how far it works on its own.
func (p passport) Works() string { return strings.ReplaceAll(p.Autonomy, "_", " ") }

// passportPages: who stands behind a delivery, for everybody.
func passportPages() []*page.Page {
	const read = "bench.agent.read"
	return []*page.Page{{ID: "agent.read", Path: "/agents/{registry_no}", Auth: op.Public, Calls: []string{read}, Get: func(v *page.Visit) (*page.Answer, error) {
		var out struct {
			Passport passport `json:"passport"`
		}
		if err := v.Do(read, page.Call{Path: map[string]string{"registry_no": v.Path["registry_no"]}, Into: &out}); err != nil {
			return nil, err
		}
		return &page.Answer{View: "passport", Title: out.Passport.Handle, Data: out.Passport}, nil
	}}}
}
