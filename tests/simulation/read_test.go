package simulation

import (
	"bytes"

	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/bench/desk"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
)

// private holds an answer against its reader: what is only an agent's and a person's is seen
// by those two. A reader that is neither sees no mark at all.
func (s *sim) private(o *op.Operation, res *op.Response, agent, person int) {
	if res == nil || res.Status >= 300 {
		return
	}
	rest := res.Body
	for {
		i := bytes.Index(rest, []byte("heron-a"))
		if i < 0 {
			return
		}
		s.saw("mark seen")
		a, p := int(rest[i+7]-'0'), int(rest[i+10]-'0')
		if a != agent && p != person {
			fail("%s shows agent %d and person %d what is between %d and %d: …%s", o.ID, agent, person, a, p, res.Body[max(0, len(res.Body)-len(rest)+i-200):len(res.Body)-len(rest)+i+11])
		}
		rest = rest[i+11:]
	}
}

// nobody is no party.
const nobody = -1

func (s *sim) agentReads(o *op.Operation, a party, path map[string]string) {
	s.private(o, s.do(call{op: o, who: a, path: path}), a.n, nobody)
}

func (s *sim) personReads(o *op.Operation, p party, path map[string]string) {
	s.private(o, s.do(call{op: o, who: p, path: path}), nobody, p.n)
}

// readsOf is an agent that looks at its deal.
func (s *sim) readsOf(d *watched, a party, at map[string]string) {
	s.agentReads(pick(s, []*op.Operation{deals.Current, deals.Current, deals.ReadMessages, deals.Wallet}), a, at)
}

// readsByPerson is a person who looks at a deal.
func (s *sim) readsByPerson(d *watched, p party, at map[string]string) {
	s.personReads(pick(s, []*op.Operation{deals.ReadDeal, deals.ReadStep, deals.ListDeals, deals.ReadFeed}), p, at)
}

// look is somebody who reads around.
func (s *sim) look() {
	w := pick(s, s.wants)
	at := map[string]string{"target_id": w.id}
	if len(w.bids) > 0 {
		at = pick(s, w.bids).at()
	}
	a := pick(s, s.agents[:])
	switch s.r.IntN(5) {
	case 0, 1:
		s.agentReads(pick(s, []*op.Operation{desk.Attention, desk.Me, desk.Brief, desk.OpenTargets, desk.Events, bids.Mine}), a, at)
	case 2:
		for _, b := range w.bids {
			if b.id == at["proposal_id"] {
				s.agentReads(bids.ReadAnswers, b.agent, at)
			}
		}
	case 3:
		s.personReads(pick(s, []*op.Operation{bids.Cards, bids.ReadDrafts, wants.Read, wants.List, bids.ReadCard}), w.person, at)
	default:
		o := pick(s, []*op.Operation{desk.Board, registry.List, registry.ReadPassport})
		s.private(o, s.do(call{op: o, path: map[string]string{"registry_no": registry.Number(1 + s.r.IntN(agents))}}), nobody, nobody)
	}
}

// stranger is a party that tries something on what is another's: it does not exist.
func (s *sim) stranger() {
	s.saw("stranger")
	if len(s.audit.order) > 0 && s.r.IntN(3) > 0 {
		d := s.audit.deals[pick(s, s.audit.order)]
		agent, person, _ := s.sides(d)
		at := onDeal(d, 1+s.r.IntN(len(d.Steps)))
		if s.r.IntN(2) == 0 {
			s.strangeAgent(s.agents[(agent.n+1+s.r.IntN(agents-1))%agents], at)
		} else {
			s.strangePerson(s.people[(person.n+1+s.r.IntN(people-1))%people], at)
		}
		return
	}
	w := pick(s, s.wants)
	if len(w.bids) == 0 {
		return
	}
	b := pick(s, w.bids)
	other := s.people[(w.person.n+1+s.r.IntN(people-1))%people]
	c := call{who: s.agents[(b.agent.n+1+s.r.IntN(agents-1))%agents], path: b.at(), body: m{}, not: true}
	switch s.r.IntN(8) {
	case 0:
		c.op, c.body = bids.FilePlan, m{"steps": b.body["steps"], "accept_rules": true}
	case 1:
		c.op = bids.Withdraw
	case 2:
		c.op, c.body = bids.ReadAnswers, nil
	case 3:
		c.op, c.who, c.body = bids.Name, other, m{"proposal_id": b.id}
	case 4:
		c.op, c.who, c.body = deals.Accept, other, m{"accept_rules": true}
	case 5:
		c.op, c.who, c.body = bids.ReadCard, other, nil
	case 6:
		c.op, c.who, c.body = wants.Read, other, nil
	default:
		c.op, c.who = wants.Close, other
	}
	s.do(c)
}

func (s *sim) strangeAgent(a party, at map[string]string) {
	c := call{who: a, path: at, body: m{}, not: true}
	switch s.r.IntN(10) {
	case 9:
		c.op, c.body, c.stream, c.headers = delivery.FileArtifact, nil, places(""), form
	case 0:
		c.op = deals.Sign
	case 1:
		c.op = deals.DeclineDeal
	case 2:
		c.op, c.body = deals.CheckIn, m{"changed": "a", "now": "b", "next": "c", "progress_percent": 0}
	case 3:
		c.op, c.body = deals.Current, nil
	case 4:
		c.op, c.body = deals.ReadMessages, nil
	case 5:
		c.op, c.body = deals.Reply, m{"reply": "Yes."}
	case 6:
		c.op, c.body = deals.Fail, m{"reason": "No."}
	case 7:
		c.op, c.body = deals.Withdraw, m{"reason": "No.", "kind": "abandonment"}
	default:
		c.op, c.body = deals.Restate, m{"declared_odds": 0.4}
	}
	s.do(c)
}

func (s *sim) strangePerson(p party, at map[string]string) {
	c := call{who: p, path: at, body: m{}, not: true}
	switch s.r.IntN(8) {
	case 6:
		c.op = delivery.Stop
	case 7:
		c.op, c.body = delivery.ReadDaily, nil
	case 0:
		c.op, c.body = deals.AnswerStep, m{"verdict": "approve", "score": 5}
	case 1:
		c.op, c.body = deals.EndDeal, m{"reason": "No."}
	case 2:
		c.op, c.body = deals.Write, m{"body": "Hello?"}
	case 3:
		c.op, c.body = deals.ReadDeal, nil
	case 4:
		c.op, c.body = deals.ReadStep, nil
	default:
		c.op, c.body = deals.Report, m{"text": "It asked for a password."}
	}
	s.do(c)
}
