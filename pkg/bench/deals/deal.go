// Package deals is what follows an accepted bid: the payment, the countersignature, the
// steps of the Target Path with their asks and clocks, and every ending. What a deal is and
// how it changes is decided in package path; here its events become rows.
//
// Rows:
//
//	bench.DEAL#<id> / ROOT                            a deal: statuses, steps, clocks, money
//	bench.DEAL#<id> / PAYER                           a keyed hash of the card or bank account that paid
//	bench.DEAL#<id> / PLAN                            the plan in force when the bid was accepted, frozen
//	bench.DEAL#<id> / ANSWERS                         the latest answered review: cards and answers
//	bench.DEAL#<id> / DOC#<receipt id>                the text or document of an outcome
//	bench.DEAL#<id> / FILES                           what the person laid on the steps, deleted files left out
//	bench.DEAL#<id> / IMAGE#<file id>                 an image of the agent's, for its documents
//	bench.DEAL#<id> / LINK#<hash>                     a link that was held, and what became of it
//	bench.DEAL#<id> / STEP#<nn>#MSG#<time>#<n>        an entry of a step's thread
//	bench.DEAL#<id> / STEP#<nn>#ODDS                  a step's restated odds, oldest first
//	bench.DEAL#<id> / STEP#<nn>#OUT#<time>#<n>#<id>   the head of an outcome or item
//	bench.DEAL#<id> / STEP#<nn>#RESP                  the person's answers to a step's blocks
//	bench.PERSON#<person id> / DEAL#<time>#<id>       a person's deals
//	bench.TARGET#<target id> / DEAL#<agent id>        an agent's latest deal on a target
//	bench.TARGET#<target id> / CHECKOUT               the open checkout of a want
//	bench.CHECKOUT#<id> / ROOT                        a checkout
//	bench.HOOK#<event id> / ROOT                      a webhook that was received
//	bench.AGENT#<agent id> / RESOLVED                 an agent's latest resolutions, silent ones marked
//	bench.AGENT#<agent id> / RESOLVED#<person id>     the same with one person
//	bench.CASE#<id> / ROOT                            a case for the stewards
//	bench.CASES#<shard> / CASE#<time>#<id>            the stewards' queue, 4 shards
package deals

import (
	"fmt"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/access"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/clock"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Key is the row of a deal.
func Key(deal string) table.Key { return child(deal, "ROOT") }

func child(deal, sk string) table.Key { return table.Key{PK: "bench.DEAL#" + deal, SK: sk} }

// PlanKey is the row of a deal's plan.
func PlanKey(deal string) table.Key { return child(deal, "PLAN") }

// DocKey is the row of what is kept of an outcome.
func DocKey(deal, receipt string) table.Key { return child(deal, "DOC#"+receipt) }

func answersKey(deal string) table.Key                { return child(deal, "ANSWERS") }
func stepPrefix(number int) string                    { return fmt.Sprintf("STEP#%02d#", number) }
func oddsKey(deal string, n int) table.Key            { return child(deal, stepPrefix(n)+"ODDS") }
func respKey(deal string, n int) table.Key            { return child(deal, stepPrefix(n)+"RESP") }
func outPrefix(number int) string                     { return stepPrefix(number) + "OUT#" }
func messagePrefix(number int) string                 { return stepPrefix(number) + "MSG#" }
func stamped(p string, at time.Time, i string) string { return p + clock.Stamp(at) + "#" + i }

// OfPersonKey is a deal's row in its person's list.
func OfPersonKey(d *path.Deal) table.Key {
	return table.Key{PK: "bench.PERSON#" + d.PersonID, SK: stamped(dealPrefix, d.PickedAt, d.ID)}
}

const dealPrefix = "DEAL#"

// OnTargetKey is the row of an agent's latest deal on a target.
func OnTargetKey(target, agent string) table.Key {
	return table.Key{PK: "bench.TARGET#" + target, SK: "DEAL#" + agent}
}

// Ref is an index row that names a deal.
type Ref struct {
	DealID string `json:"deal_id"`
}

// MoveKind is the kind of a deal's row in its agent's list of possible moves.
const MoveKind = "deal"

// Plan is the frozen plan of a deal.
type Plan struct {
	Steps []proposal.Step        `json:"steps"`
	Costs *proposal.CostEstimate `json:"person_cost_estimate,omitempty"`
}

// Of returns the plan's step behind a step of the Path; nil for the platform's own.
func (p *Plan) Of(s *path.Step) *proposal.Step {
	if s.Kind != path.Execution || s.Number-2 >= len(p.Steps) {
		return nil
	}
	return &p.Steps[s.Number-2]
}

// LoadPlan reads a deal's plan.
func LoadPlan(c *op.Call, deal string) (Plan, error) {
	p, _, err := op.Load[Plan](c, PlanKey(deal))
	return p, err
}

// Load reads a deal as it is at c.Now: whatever fell due since it was written is settled,
// so that a late sweep shows and permits nothing wrong (law 5). Commit writes it.
func Load(c *op.Call, deal string) (*path.Deal, bool, error) {
	if !id.Valid(deal) {
		return nil, false, nil
	}
	d, found, err := op.Load[path.Deal](c, Key(deal))
	if err != nil || !found {
		return nil, false, err
	}
	d.Settle(c.Now)
	return &d, true, nil
}

// Mine reads a deal of the calling agent; another's does not exist.
func Mine(c *op.Call, deal string) (*path.Deal, error) {
	d, found, err := Load(c, deal)
	if err == nil && (!found || d.AgentID != c.Caller.ID) {
		err = fault.BareNotFound
	}
	return d, err
}

// Own reads a deal of the calling person; another's does not exist.
func Own(c *op.Call, deal string) (*path.Deal, error) {
	d, err := Seen(c, deal)
	if err != nil {
		return nil, err
	}
	return d, c.Fetch(around(d)...)
}

// Seen reads a deal of the calling person for showing.
func Seen(c *op.Call, deal string) (*path.Deal, error) {
	d, found, err := Load(c, deal)
	if err != nil {
		return nil, err
	}
	if !found || d.PersonID != c.Caller.ID {
		return nil, fault.BareNotFound
	}
	p, _, err := op.Load[account.Person](c, account.PersonKey(d.PersonID)) // read with the session
	d.Zone = p.Timezone
	return d, err
}

// around are the rows every change of a deal touches.
func around(d *path.Deal) []table.Key {
	return []table.Key{Key(d.ID), record.HeadKey(d.AgentID), bids.MoveKey(d.AgentID, MoveKind, d.ID)}
}

// atEnd are the rows the end of a deal touches.
func atEnd(d *path.Deal) []table.Key {
	return append(around(d), wants.Key(d.TargetID), wants.BriefKey(d.TargetID), bids.Key(d.ProposalID), bids.TalkKey(d.ProposalID),
		account.PersonKey(d.PersonID), account.LiveDeals(d.PersonID), access.Key(d.ID))
}

// OfDeal is the path of a call on one deal.
type OfDeal struct {
	DealID string `path:"deal_id" doc:"Id of the deal."`
}

// Rows implements op.Prefetcher: the deal, and what every change of it by its agent
// touches. Calls that show more name more.
func (in OfDeal) Rows(account string) []table.Key {
	if !id.Valid(in.DealID) {
		return nil
	}
	keys := []table.Key{Key(in.DealID)}
	if account != "" {
		keys = append(keys, record.HeadKey(account), bids.MoveKey(account, MoveKind, in.DealID))
	}
	return keys
}

// with adds rows of the deal to what is read at once.
func (in OfDeal) with(account string, more ...func(deal string) table.Key) []table.Key {
	keys := in.Rows(account)
	if keys == nil {
		return nil
	}
	for _, k := range more {
		keys = append(keys, k(in.DealID))
	}
	return keys
}

// OfStep is the path of a call on one step of a deal.
type OfStep struct {
	OfDeal
	StepID string `path:"step_id" doc:"Id of the step, or its number where the call takes numbers."`
}

// stepOf finds the step a call names; a step that is not there is the bare 404.
func stepOf(d *path.Deal, ref string, numbers bool) (*path.Step, error) {
	if s := d.Find(ref, numbers); s != nil {
		return s, nil
	}
	return nil, fault.BareNotFound
}
