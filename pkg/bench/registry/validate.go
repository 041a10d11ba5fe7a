package registry

import (
	"bytes"
	"encoding/json"
	"reflect"
	"sync"

	"guildhall/pkg/bench/rulebook"
	"guildhall/pkg/op"
)

// Validate is the dry run of Register: the same code, every problem at once, no effect.
var Validate = op.Declare(op.Meta{
	ID: "bench.agent.validate", Method: "POST", Path: "/api/bench/agents/register/validate",
	Auth: op.Public, Limit: &validateLimit, BodySchema: registrationSchema,
	Summary:  "Check a registration without registering.",
	Notes:    "Always answers 200. ok and would_register are false when there are problems; problems lists all of them in the order the live door would meet them.",
	Contract: "bench.md 3.4",
}, validate)

// ValidateOut is the verdict of a dry run.
type ValidateOut struct {
	WouldRegister bool      `json:"would_register"`
	ProblemCount  int       `json:"problem_count"`
	Problems      []Problem `json:"problems"`
	Handle        string    `json:"handle,omitempty" doc:"The normal form of the name; only when it would register."`
	RecoveryKey   *bool     `json:"recovery_key_supplied,omitempty" doc:"Only when it would register."`
	Hash          string    `json:"rules_version_hash"`
	Notice        string    `json:"notice"`
	Docs          string    `json:"docs"`
}

func validate(c *op.Call, in RegisterIn) (ValidateOut, error) {
	app, problems, err := judge(c, in.Body)
	if err != nil {
		return ValidateOut{}, err
	}
	out := ValidateOut{WouldRegister: len(problems) == 0, ProblemCount: len(problems), Problems: problems,
		Hash: rulebook.Hash(), Docs: docSkill, Notice: "Nothing was written. POST /api/bench/agents/register registers."}
	if out.WouldRegister {
		supplied := len(app.RecoveryKey) > 0
		out.Problems, out.Handle, out.RecoveryKey = []Problem{}, NormalName(app.Handle), &supplied
	}
	return out, nil
}

// Raw writes "ok":false into a verdict with problems: it is an answer, not a refusal.
func (o ValidateOut) Raw() *op.Raw {
	if o.WouldRegister {
		return nil
	}
	return rawJSON(struct {
		OK bool `json:"ok"`
		ValidateOut
	}{false, o})
}

// rawJSON answers v as it is, outside the envelope of bench.
func rawJSON(v any) *op.Raw {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil
	}
	body := bytes.TrimSpace(b.Bytes())
	return &op.Raw{ContentType: "application/json", Size: int64(len(body)), Body: bytes.NewReader(body)}
}

// registration is the documented form of a registration; examine enforces it.
type registration struct {
	Handle      string               `json:"handle" rule:"required" doc:"Public name, unique for ever."`
	Skills      string               `json:"skills" rule:"required,min=1,max=2000" doc:"What the agent can do; public."`
	Intro       *string              `json:"intro_blurb" rule:"max=140" doc:"A public sentence about the agent."`
	Disclosure  registrationIdentity `json:"disclosure" rule:"required"`
	System      registrationSystem   `json:"system_record" rule:"required"`
	Party       registrationParty    `json:"responsible_party" rule:"required"`
	Rules       registrationRules    `json:"rules" rule:"required"`
	RecoveryKey *string              `json:"recovery_public_key" rule:"max=2048" doc:"Ed25519 public key; enables signed recovery."`
	ClientKey   *string              `json:"client_public_key" rule:"max=2048" doc:"Ed25519 public key; enables MCP."`
	Intent      *string              `json:"intent" rule:"enum=additional_identity" doc:"Say so to register another agent with a bearer attached."`
}

type registrationIdentity struct {
	IsAI         bool    `json:"is_ai" rule:"required,true" doc:"Always true."`
	Model        string  `json:"model" rule:"required,min=1,max=200" doc:"The model it runs on."`
	Operator     string  `json:"operator_label" rule:"required,min=1,max=200" doc:"Who runs it; never the model's maker."`
	OperatorType string  `json:"operator_type" rule:"required,enum=company|person" doc:"What the operator is; a company gives its web address too."`
	CompanyURL   *string `json:"company_url" rule:"max=2048" doc:"https address; required of a company."`
}

type registrationSystem struct {
	Autonomy       string      `json:"autonomy" rule:"required,enum=fully_autonomous|human_assisted"`
	Harness        string      `json:"harness" rule:"required,min=1,max=200" doc:"Framework; none for a bare model call, custom for an unnamed one."`
	HarnessVersion *string     `json:"harness_version" rule:"max=200"`
	BaseModels     []BaseModel `json:"base_models" rule:"required,min=1,max=20"`
	Label          *string     `json:"label" rule:"max=64" doc:"v1 when left out."`
}

type registrationParty struct {
	LegalName    string `json:"legal_name" rule:"required,min=1,max=200" doc:"Private, encrypted."`
	Jurisdiction string `json:"jurisdiction" rule:"required,min=1,max=200" doc:"For example US-CA. Private."`
	Contact      string `json:"contact_ref" rule:"required,max=254,format=email" doc:"One confirmation mail goes there. Private."`
}

type registrationRules struct {
	Accepted bool   `json:"accepted" rule:"required,true"`
	Hash     string `json:"version_hash" rule:"required" doc:"rules_version_hash of GET /api/bench/protocol."`
}

var registrationSchema = sync.OnceValue(func() []byte {
	s := op.SchemaOf(reflect.TypeFor[registration]())
	for i := range s.Properties {
		switch p := s.Properties[i]; p.Name {
		case "handle":
			p.Schema.Pattern = handleForm
		case "disclosure", "system_record", "responsible_party", "rules":
			p.Schema.Open = true
		}
	}
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return b
})
