package deals

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"guildhall/pkg/bench/access"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
)

// PulseIn is a sign of life of the working agent (bench.md 8.1).
type PulseIn struct {
	OfDeal
	Changed  string  `json:"changed" rule:"required,min=1,max=280" doc:"What changed since the last pulse; no change is an answer."`
	Doing    string  `json:"now" rule:"required,min=1,max=280" doc:"What you are doing."`
	Next     string  `json:"next" rule:"required,min=1,max=280" doc:"What you do next."`
	Progress int     `json:"progress_percent" rule:"required" doc:"The next of the checkpoints in pulse_cadence, or the one you are at."`
	Blocker  *string `json:"blocker,omitempty" rule:"max=280" doc:"What stands in your way."`
}

// Rows implements op.Prefetcher.
func (in PulseIn) Rows(account string) []table.Key { return in.with(account, PlanKey, access.Key) }

// Validate implements op.Validator.
func (in PulseIn) Validate() error {
	for _, f := range []struct{ name, value string }{{"changed", in.Changed}, {"now", in.Doing}, {"next", in.Next}, {"blocker", deref(in.Blocker)}} {
		if err := screen(f.name, "pulses", f.value); err != nil {
			return err
		}
	}
	if !slices.Contains(path.Checkpoints, in.Progress) {
		return path.NotCheckpoint
	}
	return nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Pulse is a stored pulse; it stands in its step's thread.
type Pulse struct {
	Changed  string    `json:"changed"`
	Now      string    `json:"now"`
	Next     string    `json:"next"`
	Progress int       `json:"progress_percent"`
	Blocker  *string   `json:"blocker"`
	DueAt    time.Time `json:"next_due_at"`
}

// PulseView is a pulse as the agent and the person read it.
type PulseView struct {
	ID       string      `json:"pulse_id"`
	StepID   string      `json:"step_id"`
	Changed  string      `json:"changed"`
	Now      string      `json:"now"`
	Next     string      `json:"next"`
	Progress int         `json:"progress_percent"`
	Blocker  *string     `json:"blocker"`
	At       record.Time `json:"at"`
	DueAt    record.Time `json:"next_due_at"`
}

// PulseOut is the immutable receipt of a pulse.
type PulseOut struct {
	Pulse     PulseView     `json:"work_pulse"`
	Thread    ThreadView    `json:"step_thread"`
	Cadence   wants.Cadence `json:"pulse_cadence"`
	Blocks    []BlockView   `json:"har_blocks"`
	Responses []Response    `json:"har_responses"`
	Current   *StepDetail   `json:"current_step"`
	NextDueAt record.Time   `json:"next_due_at"`
	NextCall  *string       `json:"next_call"`
}

// CheckIn files a pulse (bench.md 8).
var CheckIn = op.Declare(op.Meta{
	ID: "bench.deal.check-in", Method: "POST", Path: "/api/bench/deals/{deal_id}/check-ins", Status: 201, Tool: "post_work_pulse",
	Auth: op.Maker, Scope: "deals:write", Idempotent: op.KeyRequired, Limit: &registry.Writes, Summary: "Tell that you are working, and how far you are.",
	Faults: []string{"step is not agent_working", "progress_not_a_checkpoint", "progress_backward", "progress_skipped",
		"pulses must not contain secrets", "link_not_allowed"},
	Contract: "bench.md 8",
}, checkIn)

func checkIn(c *op.Call, in PulseIn) (PulseOut, error) {
	d, err := Mine(c, in.DealID)
	if err != nil {
		return PulseOut{}, err
	}
	if err := d.CheckIn(c.Now, in.Progress); err != nil {
		return PulseOut{}, err
	}
	s := d.Open()
	p := Pulse{Changed: text.Normalize(in.Changed), Now: text.Normalize(in.Doing), Next: text.Normalize(in.Next), Progress: in.Progress, DueAt: d.Pulse.DueAt}
	if b := text.Normalize(deref(in.Blocker)); b != "" {
		p.Blocker = &b
	}
	m := Message{ID: c.NewID(), Who: path.WhoPlatform, At: c.Now, Body: p.words(), Pulse: &p}
	v, err := readView(c, d, s)
	if err != nil {
		return PulseOut{}, err
	}
	putMessage(c, d, s, m)
	v.add(m)
	if err := Commit(c, d, nil); err != nil {
		return PulseOut{}, err
	}
	return PulseOut{Pulse: pulseView(&m, s), Thread: v.thread(), Cadence: wants.PulseCadence, Blocks: v.blocks(), Responses: v.responses(),
		Current: v.detail(), NextDueAt: record.Time(p.DueAt), NextCall: nextCall(d)}, nil
}

// words is the pulse as a line of the thread.
func (p *Pulse) words() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %%. Changed: %s Now: %s Next: %s", p.Progress, p.Changed, p.Now, p.Next)
	if p.Blocker != nil {
		b.WriteString(" In the way: " + *p.Blocker)
	}
	return b.String()
}

func pulseView(m *Message, s *path.Step) PulseView {
	p := m.Pulse
	return PulseView{ID: m.ID, StepID: s.ID, Changed: p.Changed, Now: p.Now, Next: p.Next, Progress: p.Progress, Blocker: p.Blocker,
		At: record.Time(m.At), DueAt: record.Time(p.DueAt)}
}

// Pulses reads the newest pulses of a step, oldest first; none for nil.
func Pulses(c *op.Call, d *path.Deal, s *path.Step) ([]PulseView, error) {
	if s == nil {
		return []PulseView{}, nil
	}
	p, err := c.Query(table.Query{PK: Key(d.ID).PK, Reverse: true, Limit: MaxShown}.Prefix(messagePrefix(s.Number)))
	if err != nil {
		return nil, err
	}
	v := view{d: d, s: s}
	for _, r := range slices.Backward(p.Rows) {
		if err := v.take(r, strings.TrimPrefix(r.SK, stepPrefix(s.Number))); err != nil {
			return nil, err
		}
	}
	return v.pulses(), nil
}
