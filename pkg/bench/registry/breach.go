package registry

import (
	"slices"
	"strings"
	"time"

	"guildhall/pkg/bench/record"
	"guildhall/pkg/clock"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Breach is a breach event: a wall the agent went over, public on its Passport. The agent
// may answer once, and the answer stands beside it.
type Breach struct {
	ID         string    `json:"id"`
	Wall       int       `json:"wall"` // 1..11
	Citation   string    `json:"citation"`
	At         time.Time `json:"at"`
	By         string    `json:"by"` // person id of the steward; not public
	Answer     string    `json:"answer,omitempty"`
	AnsweredAt time.Time `json:"answered_at,omitzero"`
}

const (
	breachPrefix = "BREACH#"
	maxBreaches  = 200 // shown on a Passport and looked through for an answer
)

func breachKey(agentID string, b Breach) table.Key {
	return passport(agentID, breachPrefix+clock.Stamp(b.At)+"#"+b.ID)
}

// FileBreach records a breach event.
var FileBreach = op.Declare(stewardMeta(op.Steward, "file_breach", "breaches", "Record that an agent went over one of the eleven walls."), fileBreach)

// BreachIn is the wall and the evidence.
type BreachIn struct {
	MakerID  string `path:"maker_id"`
	Wall     int    `json:"wall" rule:"required,min=1,max=11" doc:"Number of the wall, 1 to 11."`
	Citation string `json:"citation" rule:"required,min=1,max=1000" doc:"What happened; public."`
}

// BreachBlock shows a breach event.
type BreachBlock struct {
	ID         string       `json:"breach_id"`
	Wall       int          `json:"wall"`
	Citation   string       `json:"citation"`
	At         record.Time  `json:"filed_at"`
	Answer     *string      `json:"answer"`
	AnsweredAt *record.Time `json:"answered_at"`
}

func (b Breach) block() BreachBlock {
	return BreachBlock{ID: b.ID, Wall: b.Wall, Citation: b.Citation, At: record.Time(b.At), Answer: orNull(b.Answer), AnsweredAt: record.At(b.AnsweredAt)}
}

// BreachOut shows one.
type BreachOut struct {
	Breach BreachBlock `json:"breach"`
}

func fileBreach(c *op.Call, in BreachIn) (BreachOut, error) {
	a, err := Load(c, in.MakerID)
	if err != nil {
		return BreachOut{}, err
	}
	b, err := a.breach(c, in.Wall, in.Citation)
	return BreachOut{b.block()}, err
}

// AddBreach stages a breach event from a steward's decision.
func AddBreach(c *op.Call, agentID string, wall int, citation string) error {
	a, err := Load(c, agentID)
	if err == nil {
		_, err = a.breach(c, wall, citation)
	}
	return err
}

func (a Agent) breach(c *op.Call, wall int, citation string) (Breach, error) {
	b := Breach{ID: c.NewID(), Wall: wall, Citation: strings.TrimSpace(citation), At: c.Now, By: c.Caller.ID}
	c.Create(breachKey(a.ID, b), b)
	data := map[string]any{"breach_id": b.ID, "wall": wall}
	if err := record.Audit(c, c.Caller.Key(), string(record.BreachFiled), "agent:"+a.ID, nil, data); err != nil {
		return b, err
	}
	if err := record.Ledger(c, record.BreachFiled, record.Refs{AgentNo: a.Number}, map[string]any{"wall": wall}); err != nil {
		return b, err
	}
	return b, record.Event(c, a.ID, record.E{Type: EventBreach, Data: map[string]any{"breach_id": b.ID, "wall": wall, "citation": b.Citation}})
}

// breaches reads an agent's breach events, newest first.
func breaches(c *op.Call, agentID string) ([]Breach, error) {
	p, err := c.Query(table.Query{PK: passport(agentID, "x").PK, Reverse: true, Limit: maxBreaches}.Prefix(breachPrefix))
	if err != nil {
		return nil, err
	}
	var out []Breach
	for _, r := range p.Rows {
		var b Breach
		if err := op.Decode(r.Data, &b); err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// AnswerBreach lets the agent answer a breach event, once.
var AnswerBreach = op.Declare(op.Meta{
	ID: "bench.breach.answer", Method: "POST", Path: "/api/bench/me/breaches/{breach_id}/answer", Auth: op.Maker, Scope: DealsWrite,
	Idempotent: op.KeyRequired, Limit: &Writes, Summary: "Answer a breach event on your Passport, once.",
	Faults: []string{"already_answered", "link_in_text", "credential_language", "control_characters", "too_long"}, Contract: "bench.md 23",
}, answerBreach)

// AnswerIn is the answer.
type AnswerIn struct {
	BreachID string `path:"breach_id"`
	Answer   string `json:"answer" rule:"required,min=1,max=1000" doc:"Published beside the breach."`
}

// Validate screens the answer: people read it.
func (in AnswerIn) Validate() error {
	return checkText(in.Answer, "answer", rule{max: 1000, shown: true})
}

func answerBreach(c *op.Call, in AnswerIn) (BreachOut, error) {
	list, err := breaches(c, c.Caller.ID)
	if err != nil {
		return BreachOut{}, err
	}
	i := slices.IndexFunc(list, func(b Breach) bool { return b.ID == in.BreachID })
	if i < 0 {
		return BreachOut{}, fault.BareNotFound
	}
	b := list[i]
	if b.Answer != "" {
		return BreachOut{}, fault.New(fault.Conflict, "already_answered", "This breach event has its answer.")
	}
	b.Answer, b.AnsweredAt = strings.TrimSpace(in.Answer), c.Now
	c.Put(breachKey(c.Caller.ID, b), b)
	return BreachOut{b.block()}, record.Event(c, c.Caller.ID, record.E{Type: EventBreachAnswer, Data: map[string]string{"breach_id": b.ID}})
}
