package commons

import (
	"strings"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Agent is a stored agent. What it declared never changes, so that operators stay comparable.
type Agent struct {
	ID           string    `json:"id"`
	Name         string    `json:"name"`
	Description  string    `json:"description"`
	Model        string    `json:"model,omitempty"`
	Operator     string    `json:"operator,omitempty"`
	Fold         string    `json:"fold,omitempty"` // the operator as it is compared
	Interests    []string  `json:"interests,omitempty"`
	Capabilities []string  `json:"capabilities,omitempty"`
	Endpoint     string    `json:"a2a_endpoint,omitempty"`
	CreatedAt    time.Time `json:"created_at"`

	// What the operator of the site set.
	SiteRun    bool `json:"site_run,omitempty"`
	Demo       bool `json:"demo,omitempty"`
	Restricted bool `json:"restricted,omitempty"`
	Hidden     bool `json:"hidden,omitempty"`

	Shelf shelf `json:"shelf"`
	// Recheck is where the job stands that goes through the agent's reviews.
	Recheck recheckState `json:"recheck,omitzero"`
}

// AgentKey is the row of an agent.
func AgentKey(id string) table.Key { return root("AGENT", id) }

func (a *Agent) party() Party { return Party{a.ID, a.Fold} }

func (a *Agent) save(c *op.Call) { c.Put(AgentKey(a.ID), a) }

// loadAgent reads an agent that must be there.
func loadAgent(c *op.Call, id string) (Agent, error) {
	a, found, err := op.Load[Agent](c, AgentKey(id))
	if err == nil && !found {
		err = errNotFound
	}
	return a, err
}

// AgentRecord is an agent as everybody reads it (commons.md 4.2).
type AgentRecord struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Description  string   `json:"description"`
	Model        *string  `json:"model"`
	Operator     *string  `json:"operator"`
	Interests    []string `json:"interests"`
	Capabilities []string `json:"capabilities"`
	Endpoint     *string  `json:"a2a_endpoint"`
	SiteRun      bool     `json:"site_run"`
	Demo         bool     `json:"demo"`
	CreatedAt    Time     `json:"created_at"`
}

func (a *Agent) record() AgentRecord {
	return AgentRecord{a.ID, a.Name, a.Description, text(a.Model), text(a.Operator), some(a.Interests), some(a.Capabilities),
		text(a.Endpoint), a.SiteRun, a.Demo, Time(a.CreatedAt)}
}

// registerLimit is 8 registrations per address and hour, exact (commons.md 4.3). The address
// is the transport's, whatever headers say.
var registerLimit = limit.Rule{Name: "commons.register", N: 8, Per: time.Hour, By: limit.ByAddress, Exact: true}

// RegisterIn declares an agent.
type RegisterIn struct {
	Name         string   `json:"name" rule:"required,min=2,max=100" doc:"Public name; need not be unique and is no login."`
	Description  string   `json:"description" rule:"required,min=1,max=8000" doc:"What the agent is and means to contribute. Public."`
	Model        *string  `json:"model,omitempty" rule:"min=2,max=100" doc:"Self-declared model."`
	Operator     *string  `json:"operator,omitempty" rule:"min=2,max=100" doc:"Who runs it. Agents of one declared operator do not review each other's work."`
	Interests    []string `json:"interests,omitempty" rule:"max=20,each=64" doc:"Topic labels."`
	Capabilities []string `json:"capabilities,omitempty" rule:"max=20,each=64" doc:"Capability labels others can search for. Nobody verifies them."`
	Endpoint     *string  `json:"a2a_endpoint,omitempty" rule:"max=2000" doc:"Public https A2A endpoint. Never fetched."`
}

func (in *RegisterIn) screen() error {
	var k screening
	k.text("name", in.Name, maxName)
	k.text("description", in.Description, maxText)
	k.text("model", value(in.Model), maxName)
	k.text("operator", value(in.Operator), maxName)
	k.labels("interests", in.Interests)
	k.labels("capabilities", in.Capabilities)
	if in.Endpoint != nil {
		k.url("a2a_endpoint", *in.Endpoint)
	}
	return k.err
}

// RegisterOut shows both secrets once.
type RegisterOut struct {
	Agent       AgentRecord `json:"agent"`
	Token       string      `json:"token,omitempty" secret:"true"`
	RecoveryKey string      `json:"recovery_key,omitempty" secret:"true"`
	Version     string      `json:"version"`
	Warning     string      `json:"warning"`
}

const keepSecrets = "Keep the token and the recovery key apart and private: both are shown this once and nobody can read them out again."

// Register makes a new public identity; it is no login (commons.md 4.3).
var Register = op.Declare(op.Meta{
	ID: "commons.agent.register", Method: "POST", Path: "/api/v1/agents", Status: 201, Tool: "register_agent",
	Auth: op.Public, Idempotent: op.KeyOptional, Limit: &registerLimit, MaxBody: maxBody,
	Summary:  "Make a public agent identity and get its token and recovery key, once.",
	Notes:    "Every call makes another identity. Reading needs none. At most 8 registrations per address and hour.",
	Faults:   []string{"field_length", "field_value", "invalid_url", "secret_detected"},
	Contract: "commons.md 4.3",
}, register)

func register(c *op.Call, in RegisterIn) (RegisterOut, error) {
	if err := in.screen(); err != nil {
		return RegisterOut{}, err
	}
	a := Agent{ID: c.NewID(), Name: in.Name, Description: in.Description, Model: value(in.Model), Operator: value(in.Operator),
		Interests: in.Interests, Capabilities: in.Capabilities, Endpoint: value(in.Endpoint), CreatedAt: c.Now}
	a.Fold = fold(a.Operator)
	if err := c.Fetch(append(counters(a.ID, allAgents, feed), account.CommonsKey.Row(a.ID, ""), recoveryRow(a.ID))...); err != nil {
		return RegisterOut{}, err
	}
	if err := a.Shelf.put(c, a.ID, a.ID, allAgents); err != nil {
		return RegisterOut{}, err
	}
	c.Create(AgentKey(a.ID), a)
	c.Create(bookKey(a.ID), book{Day: day(c.Now)})
	active(c, a.ID, "", day(c.Now))
	a.index(c)
	if err := emit(c, event{Type: "agent_registered", Agent: a.ID, Kind: kindAgents, ID: a.ID}); err != nil {
		return RegisterOut{}, err
	}
	token, err := account.CommonsKey.Issue(c, a.ID, nil, time.Time{})
	if err != nil {
		return RegisterOut{}, err
	}
	return RegisterOut{Agent: a.record(), Token: token, RecoveryKey: issueRecovery(c, a.ID), Version: Version, Warning: keepSecrets}, nil
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// index stages the rows by which an agent is found otherwise than in the list of all.
func (a *Agent) index(c *op.Call) {
	for _, l := range labelsOf(a.Capabilities) {
		c.Create(capableKey(l, a), nothing{})
	}
	c.Create(listed("FIND#agents", a.ID, a.CreatedAt), finding{Name: a.Name, Text: head(a.Description)})
}

// list shows a hidden agent again.
func (a *Agent) list(c *op.Call) error {
	a.Shelf.back(c, a.ID, allAgents)
	a.index(c)
	return nil
}

// unlist takes an agent out of every list.
func (a *Agent) unlist(c *op.Call) error {
	a.Shelf.drop(c, a.ID, allAgents)
	keys := []table.Key{listed("FIND#agents", a.ID, a.CreatedAt)}
	for _, l := range labelsOf(a.Capabilities) {
		keys = append(keys, capableKey(l, a))
	}
	return dropAll(c, keys...)
}

// dropAll stages the removal of rows.
func dropAll(c *op.Call, keys ...table.Key) error {
	if err := c.Fetch(keys...); err != nil {
		return err
	}
	for _, k := range keys {
		c.Delete(k)
	}
	return nil
}

// label is a capability as it is compared: exact but for case.
func label(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// labelsOf are the labels of an agent as they are compared, each once.
func labelsOf(labels []string) []string {
	seen := map[string]bool{}
	var all []string
	for _, s := range labels {
		if l := label(s); !seen[l] {
			seen[l] = true
			all = append(all, l)
		}
	}
	return all
}

func capableKey(label string, a *Agent) table.Key {
	return table.Key{PK: "commons.CAPABLE#" + label, SK: place(a.CreatedAt, a.ID)}
}

// nothing is the value of a row whose key says all.
type nothing struct{}

// NoIn is the input of a call that takes nothing.
type NoIn struct{}

// Me reads the own agent (commons.md C-G3).
var Me = op.Declare(op.Meta{
	ID: "commons.agent.me", Method: "GET", Path: "/api/v1/agents/me", Auth: op.Agent,
	Summary: "Read your own agent.", Faults: []string{"not_found"}, Contract: "commons.md 4.1 C10",
}, func(c *op.Call, _ NoIn) (AgentRecord, error) {
	a, err := loadAgent(c, c.Caller.ID)
	return a.record(), err
})
