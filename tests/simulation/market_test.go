package simulation

import (
	"slices"

	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/pay"
)

// maxWants is how many wants an exchange comes to.
const maxWants = 9

// market is a step on the way from a want to a deal: mostly the next one, now and then any.
// hire tells that bids may be accepted.
func (s *sim) market(w *want, hire bool) {
	now := s.audit.wants[w.id]
	open := slices.DeleteFunc(slices.Clone(w.bids), func(b *offer) bool {
		a := s.audit.bids[b.id]
		return a.Status != bids.Filed || a.Round != now.Round
	})
	switch k := s.r.IntN(20); {
	case !hire && len(open) == 0:
		return
	case k == 0 && hire && len(s.wants) < maxWants:
		s.postBy(pick(s, s.people[:]))
		return
	case k < 4 && hire && len(w.bids) > 0:
		s.whim(w, pick(s, w.bids))
		return
	case now.takesBids() && (len(open) == 0 || k < 6):
		s.bidOn(w, pick(s, s.agents[:]))
		return
	case len(open) == 0:
		if hire && k < 10 {
			s.do(call{op: wants.Repost, who: w.person, path: map[string]string{"target_id": w.id}, body: m{}})
		}
		return
	}
	s.forward(pick(s, open), hire)
}

// bidOn files a bid.
func (s *sim) bidOn(w *want, a party) {
	body := s.plan(w, mark(a.n, w.person.n))
	if s.r.IntN(20) == 0 {
		body["total_ask_cents"] = 1
	}
	res := s.do(call{op: bids.FileProposal, who: a, path: map[string]string{"target_id": w.id}, body: body})
	if res.Status != 201 {
		return
	}
	var out struct {
		ID string `json:"proposal_id"`
	}
	read(res, &out)
	w.bids = append(w.bids, &offer{id: out.ID, want: w, agent: a, body: body})
}

// forward takes a bid one step on.
func (s *sim) forward(b *offer, hire bool) {
	a, person := s.audit.bids[b.id], b.want.person
	switch {
	case s.quiet(person) && s.r.IntN(4) == 0:
	case a.NamedAt == nil:
		s.do(call{op: bids.Name, who: person, path: b.at(), body: m{"proposal_id": b.id}})
	case a.HandedAt == nil:
		s.do(call{op: bids.Answer, who: person, path: b.at(), body: m{"send": s.r.IntN(4) > 0,
			"answers": []m{{"ordinal": 1, "answer": "The one with the duck."}}}})
	case a.PlanAt == nil:
		s.do(call{op: bids.FilePlan, who: s.now1(b.agent), path: b.at(), body: m{"steps": b.body["steps"], "accept_rules": true}})
	case hire && a.CheckoutID == "":
		s.accept(b)
	case hire:
		s.settleUp()
	}
}

// now1 is an agent as it is now.
func (s *sim) now1(p party) party { return s.agents[p.n] }

func (s *sim) accept(b *offer) {
	res := s.do(call{op: deals.Accept, who: b.want.person, path: b.at(), body: m{"accept_rules": true}})
	if res.Status != 201 {
		return
	}
	var out struct {
		ID string `json:"checkout_id"`
	}
	if read(res, &out); out.ID == "" {
		return
	}
	s.checkouts, s.open = append(s.checkouts, out.ID), append(s.open, out.ID)
	if s.r.IntN(2) > 0 {
		s.settleUp()
	}
}

// settleUp is a person at the processor's page, and what the processor tells then.
func (s *sim) settleUp() {
	if len(s.open) == 0 {
		return
	}
	i := s.r.IntN(len(s.open))
	how := []pay.CheckoutStatus{pay.Paid, pay.Paid, pay.Paid, pay.Paid, pay.Paid, pay.Paid, pay.Failed, pay.Expired}[s.r.IntN(8)]
	if s.bank.Complete(s.open[i], how) == nil {
		s.saw("checkout " + string(how))
	}
	s.open = slices.Delete(s.open, i, i+1)
	if s.r.IntN(4) > 0 {
		s.notices()
	}
}

// whim is something that need not fit.
func (s *sim) whim(w *want, b *offer) {
	person, at := w.person, b.at()
	switch s.r.IntN(12) {
	case 0:
		s.do(call{op: bids.Withdraw, who: s.now1(b.agent), path: at, body: m{}})
	case 1:
		s.do(call{op: bids.Reject, who: person, path: at, body: m{"reason": "Not this one."}})
	case 2:
		s.do(call{op: bids.Unname, who: person, path: at})
	case 3, 4:
		s.question(b)
	case 5:
		if s.r.IntN(2) == 0 {
			s.do(call{op: wants.Close, who: person, path: at, body: m{}})
		}
	case 6:
		s.do(call{op: wants.AddNote, who: person, path: at, body: m{"note": "By the window."}})
	case 7:
		s.do(call{op: wants.Repost, who: person, path: at, body: m{}})
	case 8:
		s.accept(b)
	case 9:
		s.do(call{op: bids.Name, who: person, path: at, body: m{"proposal_id": b.id}})
	case 10:
		s.do(call{op: bids.FilePlan, who: s.now1(b.agent), path: at, body: m{"steps": b.body["steps"], "accept_rules": true}})
	case 11:
		if s.r.IntN(2) == 0 {
			s.bidOn(w, s.now1(b.agent))
			return
		}
		s.do(call{op: bids.Unname, who: person, path: at})
	}
}

// question is a person who asks a finalist, and the agent that answers.
func (s *sim) question(b *offer) {
	if b.question != "" || s.r.IntN(4) == 0 {
		s.reply(b)
		return
	}
	res := s.do(call{op: bids.Ask, who: b.want.person, path: b.at(), body: m{"question": "Is there a garden, " + b.mark() + "?"}})
	if res.Status == 201 {
		var out struct {
			Ref string `json:"question_ref"`
		}
		read(res, &out)
		if b.question = out.Ref; s.r.IntN(2) == 0 {
			s.reply(b)
		}
	}
}

// reply answers the question that was asked last, or one that nobody asked.
func (s *sim) reply(b *offer) {
	ref := b.question
	if ref == "" {
		ref = "1"
	}
	s.do(call{op: bids.Reply, who: s.now1(b.agent), path: b.at(), body: m{"question_ref": ref, "answer": "There is, " + b.mark() + "."}})
	b.question = ""
}
