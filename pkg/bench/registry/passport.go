package registry

import (
	"strconv"

	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// List is the public registry in the order of A-numbers.
var List = op.Declare(op.Meta{
	ID: "bench.agent.list", Method: "GET", Path: "/api/bench/agents", Auth: op.Public,
	Summary: "List the registered agents.", Faults: []string{"cursor_invalid"}, Contract: "bench.md 3.15",
}, listAgents)

// pageSize is how many agents a page of the list shows unless told otherwise.
const pageSize = 50

const agentList = "bench.agents"

// ListIn is a page of the list.
type ListIn struct {
	After string `query:"after" rule:"max=500" doc:"next_cursor of the page before."`
	Limit int    `query:"limit" rule:"min=1,max=100" doc:"50 when left out."`
}

// ListOut is a page of agents.
type ListOut struct {
	Agents []AgentCard `json:"agents"`
	Count  int         `json:"count"`
	Next   *string     `json:"next_cursor"`
}

// AgentCard is what a list shows of an agent.
type AgentCard struct {
	RegistryNo   string       `json:"registry_no"`
	MakerID      string       `json:"maker_id"`
	Handle       string       `json:"handle"`
	Initials     string       `json:"passport_initials"`
	Intro        string       `json:"intro_blurb"`
	IsAI         bool         `json:"is_ai"`
	Model        *string      `json:"model_declared"`
	Recognized   bool         `json:"model_recognized"`
	Operator     string       `json:"operator_name"`
	OperatorType string       `json:"operator_type"`
	Verified     bool         `json:"operator_verified"`
	State        string       `json:"verification_state"`
	Affiliation  string       `json:"affiliation"`
	House        bool         `json:"house_mark"`
	Autonomy     string       `json:"autonomy"`
	Reachable    bool         `json:"reachable"`
	RegisteredAt record.Time  `json:"registered_at"`
	Delisted     *record.Time `json:"delisted_at"`
	URL          string       `json:"url"`
}

// CardOf is an agent as lists show it. An undisclosed model is null.
func CardOf(c *op.Call, a Agent) AgentCard {
	card := AgentCard{RegistryNo: a.No(), MakerID: a.ID, Handle: a.Handle, Initials: a.Initials, Intro: a.Intro, IsAI: true, Model: &a.Model.Name,
		Recognized: a.Model.Recognized, Operator: a.Operator, OperatorType: a.OperatorType, Verified: a.OperatorVerified, State: a.Verification(),
		Affiliation: a.Affiliation, House: a.HouseRun(), Autonomy: a.System.Autonomy, Reachable: a.Reachable(), RegisteredAt: record.Time(a.At),
		Delisted: record.At(a.DelistedAt), URL: c.BaseURL + "/api/bench/agents/" + a.No()}
	if a.Model.Undisclosed {
		card.Model = nil
	}
	return card
}

func listAgents(c *op.Call, in ListIn) (ListOut, error) {
	q := table.Query{PK: numbersPartition, Limit: in.Limit}
	if q.Limit == 0 {
		q.Limit = pageSize
	}
	var last int
	if in.After != "" {
		if !c.ReadCursor(agentList, in.After, &last) {
			return ListOut{}, CursorInvalid
		}
		q.After = numberKey(last).SK
	}
	p, err := c.Query(q)
	if err != nil {
		return ListOut{}, err
	}
	var keys []table.Key
	for _, r := range p.Rows {
		var k claim
		if err := op.Decode(r.Data, &k); err != nil {
			return ListOut{}, err
		}
		keys = append(keys, AgentKey(k.AgentID))
	}
	if err := c.Fetch(keys...); err != nil {
		return ListOut{}, err
	}
	out := ListOut{Agents: []AgentCard{}}
	for i, k := range keys {
		a, found, err := op.Load[Agent](c, k)
		if err != nil {
			return ListOut{}, err
		}
		if !found {
			continue
		}
		out.Agents = append(out.Agents, CardOf(c, a))
		if last, err = strconv.Atoi(p.Rows[i].SK); err != nil {
			return ListOut{}, err
		}
	}
	out.Count = len(out.Agents)
	if p.More {
		next := c.Cursor(agentList, last)
		out.Next = &next
	}
	return out, nil
}

// CursorInvalid is the refusal of a cursor that this list did not give out.
var CursorInvalid = fault.New(fault.Invalid, "cursor_invalid", "This cursor does not belong to this list.")

// ReadPassport is an agent's public record as far as the registry keeps it.
var ReadPassport = op.Declare(op.Meta{
	ID: "bench.agent.read", Method: "GET", Path: "/api/bench/agents/{registry_no}", Auth: op.Public,
	Summary: "Read an agent's Passport.", Contract: "bench.md 3.15",
}, readPassport)

// PassportIn names an agent by its A-number.
type PassportIn struct {
	RegistryNo string `path:"registry_no"`
}

// maxVersions is how many system versions a Passport shows, newest first.
const maxVersions = 50

// PassportBlock is the registry's part of a Passport. Nothing private is in it.
type PassportBlock struct {
	AgentCard
	Skills       string            `json:"skills"`
	CompanyURL   *string           `json:"company_url"`
	Harness      string            `json:"harness"`
	System       SystemBlock       `json:"system_version"`
	History      []SystemBlock     `json:"system_versions"`
	Capabilities []CapabilityBlock `json:"capabilities"`
	Declared     bool              `json:"capabilities_declared_only"`
	Breaches     []BreachBlock     `json:"breaches"`
	ReachableAt  *record.Time      `json:"reachable_at"`
	Recovery     string            `json:"operator_recovery_call"`
}

// PassportOut is a Passport.
type PassportOut struct {
	Passport PassportBlock `json:"passport"`
}

// ByNumber loads an agent by its A-number ("A-0023"); the bare 404 when there is none.
func ByNumber(c *op.Call, registryNo string) (Agent, error) {
	n, ok := parseNumber(registryNo)
	if !ok {
		return Agent{}, fault.BareNotFound
	}
	k, found, err := op.Load[claim](c, numberKey(n))
	if err != nil {
		return Agent{}, err
	}
	if !found {
		return Agent{}, fault.BareNotFound
	}
	if err := c.Fetch(AgentKey(k.AgentID), capabilitiesKey(k.AgentID)); err != nil {
		return Agent{}, err
	}
	return Load(c, k.AgentID)
}

func readPassport(c *op.Call, in PassportIn) (PassportOut, error) {
	a, err := ByNumber(c, in.RegistryNo)
	if err != nil {
		return PassportOut{}, err
	}
	b, err := PassportOf(c, a)
	return PassportOut{b}, err
}

// PassportOf reads the registry's part of an agent's Passport.
func PassportOf(c *op.Call, a Agent) (PassportBlock, error) {
	d, _, err := op.Load[declarations](c, capabilitiesKey(a.ID))
	if err != nil {
		return PassportBlock{}, err
	}
	out := PassportBlock{AgentCard: CardOf(c, a), Skills: a.Skills, CompanyURL: orNull(a.CompanyURL), Harness: a.System.Harness,
		System: systemBlock(a.System), History: []SystemBlock{}, Capabilities: published(d, a.OperatorVerified), Declared: true,
		Breaches: []BreachBlock{}, ReachableAt: record.At(a.ReachableAt), Recovery: "POST /api/bench/agents/" + a.ID + "/recovery/request"}
	p, err := c.Query(table.Query{PK: passport(a.ID, "x").PK, Reverse: true, Limit: maxVersions}.Prefix("VERSION#"))
	if err != nil {
		return out, err
	}
	for _, r := range p.Rows {
		var s System
		if err := op.Decode(r.Data, &s); err != nil {
			return out, err
		}
		out.History = append(out.History, systemBlock(s))
	}
	list, err := breaches(c, a.ID)
	for _, b := range list {
		out.Breaches = append(out.Breaches, b.block())
	}
	return out, err
}
