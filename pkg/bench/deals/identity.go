package deals

import (
	"errors"
	"maps"
	"slices"

	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/op"
	"guildhall/pkg/pay"
	"guildhall/pkg/table"
)

// Looks at what paid for a deal and at what its agent is paid out to: the same card or bank
// account on both sides is a question for the stewards (bench.md 23).
const (
	EffectPayer  = "deal.payer"   // once, when a paid deal begins
	EffectPayout = "payout.payer" // when an agent's payout account changes later
)

// sharedIdentity is the evidence of a case: that there is one, and never which.
const sharedIdentity = "shared_payment_identity"

// sharedAtOnce is how many cases one commit opens.
const sharedAtOnce = 10

// payer is what is kept of the instrument that paid for a deal: a hash under the exchange's
// key, good for nothing but to recognise it.
type payer struct {
	Mark string `json:"mark"`
}

const payerPurpose = "payment.instrument"

func payerKey(deal string) table.Key { return table.Key{PK: Key(deal).PK, SK: "PAYER"} }

// twoSides is what the processor said. It lives in memory only.
type twoSides struct {
	deal  string
	paid  pay.Instrument
	outTo []pay.Instrument
}

// lookPayer asks for both sides of a deal. What the processor does not know is unknown.
func lookPayer(c *op.Call, t op.Fired) (any, error) {
	var both twoSides
	if err := op.Decode(t.Payload, &both.deal); err != nil {
		return both, err
	}
	d, found, err := Load(c, both.deal)
	if err != nil || !found {
		return both, err
	}
	if both.paid, err = pay.From(c).PaidWith(c, d.Charge); err != nil && !errors.Is(err, pay.ErrRefused) {
		return both, err
	}
	both.outTo, err = paidOutTo(c, d.Payout)
	return both, err
}

func paidOutTo(c *op.Call, account string) ([]pay.Instrument, error) {
	if account == "" {
		return nil, nil
	}
	list, err := pay.From(c).PaidOutTo(c, account)
	if errors.Is(err, pay.ErrRefused) {
		return nil, nil
	}
	return list, err
}

// lookedPayer keeps a mark of what paid, and opens a case when the agent is paid out to it.
func lookedPayer(c *op.Call, _ op.Fired, result any) error {
	both := result.(twoSides)
	if !both.paid.Known() {
		return nil
	}
	d, found, err := Load(c, both.deal)
	if err != nil || !found {
		return err
	}
	if err := c.Fetch(payerKey(d.ID)); err != nil {
		return err
	}
	c.Put(payerKey(d.ID), payer{c.Keys.MAC(payerPurpose, both.paid.Fingerprint())})
	if !slices.Contains(both.outTo, both.paid) {
		return nil
	}
	_, err = suspected(c, d, map[string]any{sharedIdentity: true})
	return err
}

// payoutChanged compares the running deals of an agent with what it is paid out to now. An
// agent that was never ready has no paid deal.
func payoutChanged(c *op.Call, a *registry.Agent, event string) {
	if a.Payout.Ready || a.PaidWork {
		c.Effect(EffectPayout, "payout:"+event, a.ID)
	}
}

func lookPayout(c *op.Call, t op.Fired) (any, error) {
	var agent string
	if err := op.Decode(t.Payload, &agent); err != nil {
		return nil, err
	}
	a, found, err := op.Load[registry.Agent](c, registry.AgentKey(agent))
	if err != nil || !found {
		return []pay.Instrument(nil), err
	}
	return paidOutTo(c, a.Payout.AccountID)
}

func lookedPayout(c *op.Call, t op.Fired, result any) error {
	outTo := result.([]pay.Instrument)
	var agent string
	if err := op.Decode(t.Payload, &agent); err != nil || len(outTo) == 0 {
		return err
	}
	shared, err := paidBy(c, agent, outTo)
	opened := 0
	for _, id := range shared {
		if err != nil {
			return err
		}
		d, found, bad := Load(c, id)
		if bad != nil || !found {
			return bad
		}
		var fresh bool
		if fresh, err = suspected(c, d, map[string]any{sharedIdentity: true}); !fresh {
			continue
		}
		if opened++; opened == sharedAtOnce {
			c.Effect(EffectPayout, t.Subject+"+", agent)
			break
		}
	}
	return err
}

// paidBy lists the running deals of an agent that were paid with one of these instruments.
func paidBy(c *op.Call, agent string, list []pay.Instrument) (deals []string, err error) {
	at := bids.MoveKey(agent, MoveKind, "")
	p, err := c.Query(table.Query{PK: at.PK, Limit: table.MaxPageRows}.Prefix(at.SK))
	if err != nil {
		return nil, err
	}
	var ids []string
	var keys []table.Key
	for _, r := range p.Rows {
		var ref Ref
		if err := op.Decode(r.Data, &ref); err != nil {
			return nil, err
		}
		ids, keys = append(ids, ref.DealID), append(keys, payerKey(ref.DealID))
	}
	if err := c.Fetch(keys...); err != nil {
		return nil, err
	}
	for i, key := range keys {
		kept, found, err := op.Load[payer](c, key)
		if err != nil {
			return nil, err
		}
		if found && slices.ContainsFunc(list, func(i pay.Instrument) bool { return c.Keys.Verify(payerPurpose, i.Fingerprint(), kept.Mark) }) {
			deals = append(deals, ids[i])
		}
	}
	return deals, nil
}

// suspected opens the one case of self-dealing that a deal can have, or adds evidence to it
// while nobody decided it. It tells whether that said anything new.
func suspected(c *op.Call, d *path.Deal, evidence map[string]any) (bool, error) {
	if len(evidence) == 0 || d.Practice {
		return false, nil
	}
	k, found, err := LoadCase(c, CaseID(d.ID, CaseSelfDeal, d.PickedAt))
	if err != nil {
		return false, err
	}
	if found {
		known := true
		for name := range evidence {
			known = known && k.Evidence[name] != nil
		}
		if known || k.State == CaseClosed {
			return false, nil
		}
		maps.Copy(k.Evidence, evidence)
		k.Save(c)
		return true, nil
	}
	evidence["deals"] = []string{d.ID}
	OpenCase(c, Case{ID: CaseID(d.ID, CaseSelfDeal, d.PickedAt), Kind: CaseSelfDeal, AgentID: d.AgentID, TargetID: d.TargetID, DealID: d.ID,
		OpenedAt: c.Now, Evidence: evidence})
	return true, record.Ledger(c, record.IntegrityOpened, record.Refs{TargetID: d.TargetID, DealID: d.ID, AgentNo: d.AgentNo}, map[string]any{"kind": CaseSelfDeal})
}
