package path

import (
	"fmt"
	"strings"
	"time"

	"guildhall/pkg/bench/record"
)

// Edge is one way a deal or a step changes its state. Who makes it go is a party, or the
// clock, which needs nobody.
type Edge struct {
	From, To string
	On       record.Word
	By       string
	When     string
	Effect   string
}

// Machine is a set of states with every edge there is between them.
type Machine struct {
	Name  string
	First string
	Last  []string
	Edges []Edge
}

// DealMachine is the life of a deal.
var DealMachine = Machine{Name: "Deal", First: "", Last: []string{Ended}, Edges: []Edge{
	{"", Picked, record.DealAccepted, "person", "the bid can be accepted, and its price is paid", "the price is held; the agent has 14 days"},
	{Picked, Signed, record.DealSigned, "agent", "payouts are ready when money is in it", "step 1 is approved, the first execution step is the agent's"},
	{Picked, Ended, record.DealAgentDeclined, "agent", "not signed yet", "all money returns"},
	{Picked, Ended, record.DealPickLapsed, "person", "48 hours have passed", "all money returns"},
	{Picked, Ended, record.DealPickLapsed, "clock", "14 days have passed", "all money returns"},
	{Signed, Ended, record.TargetResolved, "person", "FINISH, or a timed delivery, is approved with a score", "the last money is released"},
	{Signed, Ended, record.TargetResolved, "clock", "FINISH, or a timed delivery, waited 14 days and money is in the deal", "the last money is released"},
	{Signed, Ended, record.TargetAgentFailed, "agent", "it holds the step it names", "what is held returns"},
	{Signed, Ended, record.DealAgentWithdrew, "agent", "the work is prohibited to it", "what is held returns"},
	{Signed, Ended, record.DealAgentAbandoned, "agent", "any other reason", "what is held returns"},
	{Signed, Ended, record.DealDeclined, "person", "at any time", "what is held returns"},
	{Signed, Ended, record.DealLapsed, "clock", "a silence of 14 days that blocks the Path, or on FINISH or a timed delivery of a free deal", "the silent step's money is released, the rest returns"},
	{Signed, Ended, record.DealExpired, "clock", "Agent time is D days while the agent holds the ball", "what is held returns"},
}}

// StepMachine is the life of a step.
var StepMachine = Machine{Name: "Step", First: Queued, Last: []string{Approved, Over}, Edges: []Edge{
	{Queued, Approved, record.DealSigned, "agent", "step 1", "none: it is the receipt"},
	{Queued, Working, record.StepOpened, "platform", "the step before is approved", "Agent time runs; a pulse is due in 5 minutes"},
	{Queued, Waiting, record.AskOpened, "platform", "FINISH, and the last execution step is approved", "Your time runs; 14 days until silence counts"},
	{Working, Waiting, record.AskOpened, "agent", "a 100 % pulse and an outcome or a timed delivery", "Agent time pauses; Your time runs; 14 days until silence counts"},
	{Waiting, Working, record.AskChangesRequested, "person", "the ask is a review with rounds left", "Agent time runs again"},
	{Waiting, Approved, record.StepApproved, "person", "the required blocks are answered", "the line item is released"},
	{Waiting, Approved, record.StepApproved, "clock", "14 days have passed", "the line item is released, marked stale"},
	{Queued, Approved, record.StepApproved, "person", "FINISH, behind a timed delivery that is approved", "the last money is released"},
	{Queued, Approved, record.StepApproved, "clock", "FINISH, behind a timed delivery that waited 14 days in a paid deal", "the last money is released"},
	{Queued, Over, "", "any", "the deal ends", "none"},
	{Working, Over, "", "any", "the deal ends", "all clocks stop"},
	{Waiting, Over, "", "any", "the deal ends", "all clocks stop"},
}}

// Machines lists them, for the document.
var Machines = []Machine{DealMachine, StepMachine}

// Bound is the longest a running deal can last from now if nobody does anything: the
// countersign clock, or what is left of D and fourteen days for each step that is left,
// FINISH included.
func (d *Deal) Bound() time.Duration {
	if d.Status == Picked {
		return SignEnd
	}
	left := 0
	for _, s := range d.Steps {
		if s.State != Approved {
			left++
		}
	}
	return max(0, d.Limit()-d.AgentTime.Span()) + time.Duration(left)*LapseAfter
}

// Document writes the machines as Markdown tables.
func Document() []byte {
	var b strings.Builder
	b.WriteString("# State machines\n\nGenerated from pkg/bench/deals/path/machine.go by scripts/generate. A simulation takes every edge, and a test walks every\nreachable state and lets it end by the clocks alone and by each party alone, within the bounds below.\n")
	for _, m := range Machines {
		fmt.Fprintf(&b, "\n## %s\n\nEnds as %s.\n\n| From | To | Event | Who | When | Effect |\n|---|---|---|---|---|---|\n", m.Name, strings.Join(m.Last, " or "))
		for _, e := range m.Edges {
			from, on := e.From, string(e.On)
			if from == "" {
				from = "(none)"
			}
			if on == "" {
				on = "any ending"
			}
			fmt.Fprintf(&b, "| %s | %s | `%s` | %s | %s | %s |\n", from, e.To, on, e.By, e.When, e.Effect)
		}
	}
	b.WriteString("\n## Bounds\n\nA picked deal ends within 14 days. A signed one ends, if nobody does anything, within what is left of D and 14 days for each step that is not approved, FINISH included.\n\nOne party alone is faster: the agent can leave at any time, and so can the person, from 48 hours after a pick that was not signed.\n")
	return []byte(b.String())
}
