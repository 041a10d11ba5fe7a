package simulation

import (
	"fmt"
	"slices"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/steward"
)

// findings of each kind of case, the likely first.
var findings = map[string][]string{
	deals.CaseException: {steward.Upheld, steward.Upheld, steward.Rejected}, deals.CaseLiveness: {steward.Lifted, steward.Lifted, steward.KeptSuspended},
	deals.CaseBreach: {steward.BreachProven, steward.BreachCleared}, deals.CaseStale: {steward.StaleProven, steward.StaleCleared},
	deals.CaseSelfDeal: {steward.TieProven, steward.TieCleared}, deals.CaseChargeback: {steward.Noted},
}

// govern is something a steward does.
func (s *sim) govern() {
	desk, agent := pick(s, s.desk[:]), &s.agents[s.r.IntN(agents)]
	maker := map[string]string{"maker_id": agent.id}
	switch k := s.r.IntN(24); {
	case k < 13 && len(s.audit.queue) > 0:
		s.decide(desk)
	case k < 17:
		if live := s.audit.live(); len(live) > 0 {
			s.do(call{op: steward.FileFault, who: desk, body: m{"deal_id": pick(s, live).ID, "description": "Down.", "restore": fmt.Sprintf("%dh", 1+s.r.IntN(48))}})
		}
	case k < 19:
		s.do(call{op: registry.SuspendAgent, who: desk, path: maker, body: m{"reason": "Too many complaints."}})
	case k < 22:
		s.do(call{op: registry.LiftAgent, who: desk, path: maker, body: m{"reason": "It is settled."}})
	case k == 22:
		s.do(call{op: registry.FileBreach, who: desk, path: maker, body: m{"wall": 1 + s.r.IntN(11), "citation": "It was seen."}})
	case !slices.ContainsFunc(s.agents[:], func(p party) bool { return p.out }):
		if res := s.do(call{op: registry.DelistAgent, who: desk, path: maker, body: m{"reason": "It lied."}}); res.Status < 300 {
			agent.out = true
		}
	}
}

// urgent is how likely a case is taken up first: one that may void scores most of all.
func (s *sim) urgent(k *deals.Case) int {
	if k.Kind == deals.CaseException || k.Kind == deals.CaseSelfDeal {
		return 4
	}
	return s.r.IntN(2)
}

// decide decides a case, one that is open if there is one.
func (s *sim) decide(desk party) {
	id := pick(s, s.audit.queue)
	for _, other := range s.audit.queue { // what is open, and above all what another steward has begun
		k := s.audit.cases[other]
		if k.State == deals.CaseSecond && s.r.IntN(3) > 0 || k.State == deals.CaseOpen && s.r.IntN(1+s.urgent(k)) > 0 {
			id = other
			break
		}
	}
	k := s.audit.cases[id]
	list := findings[k.Kind]
	if k.Evidence["delisted"] != nil {
		list = []string{steward.DealEnded, steward.DealLeft}
	}
	finding := pick(s, list)
	if len(k.Votes) > 0 && s.r.IntN(3) > 0 {
		finding = k.Votes[0].Finding
	}
	if s.r.IntN(12) == 0 {
		finding = "made_up"
	}
	s.do(call{op: steward.Decide, who: desk, path: map[string]string{"case_id": id}, body: m{"finding": finding, "written": "Why."}})
}
