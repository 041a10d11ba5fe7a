package simulation

import (
	"slices"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/bench/money"
	"guildhall/pkg/bench/wants"
)

// sides are the parties of a deal.
func (s *sim) sides(d *watched) (agent, person party, mark string) {
	for _, a := range s.agents {
		if a.id == d.AgentID {
			agent = a
		}
	}
	for _, p := range s.people {
		if p.id == d.PersonID {
			person = p
		}
	}
	return agent, person, marked(agent, person)
}

func marked(agent, person party) string { return mark(agent.n, person.n) }

func onDeal(d *watched, n int) map[string]string {
	return map[string]string{"deal_id": d.ID, "target_id": d.TargetID, "step_id": d.Steps[n-1].ID}
}

// work is something one of the parties does to a deal: mostly what is due next.
func (s *sim) work(d *watched) {
	agent, person, mark := s.sides(d)
	n := 1 + s.r.IntN(len(d.Steps))
	o := d.Open()
	if o != nil && s.r.IntN(5) > 0 {
		n = o.Number
	}
	at := onDeal(d, n)
	if o != nil && s.r.IntN(4) > 0 {
		s.next(d, o, agent, person, mark)
		return
	}
	if d.Status == path.Picked && agent.n != s.absent && s.r.IntN(2) == 0 {
		s.do(call{op: deals.Sign, who: agent, path: at, body: m{}})
		return
	}
	if s.r.IntN(5) < 2 {
		s.byPerson(d, &d.Steps[n-1], person, mark, at)
		return
	}
	s.byAgent(d, &d.Steps[n-1], agent, mark, at)
}

// next is what brings a signed deal on.
func (s *sim) next(d *watched, o *path.Step, agent, person party, mark string) {
	at := onDeal(d, o.Number)
	switch {
	case o.State == path.Waiting && s.quiet(person) && len(s.audit.order) > 1:
		s.saw("silence")
	case o.State == path.Waiting:
		s.do(call{op: deals.AnswerStep, who: person, path: at, body: s.verdict(o, mark)})
	case s.r.IntN(50) == 0:
		s.do(call{op: deals.Fail, who: agent, path: at, body: m{"reason": "No.", "materiality_test": "adds_material_risk", "r109_exception": "unforeseeable_outside_failure"}})
	case d.Pulse.Percent < 100:
		s.pulse(d, agent, at)
		if d.Pulse.Percent < 100 && s.r.IntN(2) == 0 {
			s.pulse(d, agent, at)
		}
	case s.r.IntN(8) == 0:
		s.attach(d, agent, at, mark)
	case o.Kind == path.Execution && o.Ask == "APPROVE" && d.Steps[o.Number].Kind == path.Finish && s.r.IntN(4) > 0:
		s.do(call{op: delivery.FileSchedule, who: agent, path: at, body: s.mornings(mark)})
	default:
		s.do(call{op: delivery.File, who: agent, path: at, body: s.outcome(o, mark)})
	}
}

// mornings is a timed delivery of a few pieces.
func (s *sim) mornings(mark string) m {
	var pieces []m
	for range 1 + s.r.IntN(8) {
		pieces = append(pieces, m{"title": "A walk", "document": m{"blocks": []m{{"type": "paragraph", "text": "Walk, " + mark + "."}}}})
	}
	return m{"pieces": pieces, "note": "One each morning."}
}

// attach adds something to a step that hands nothing over: a stream that is held, or a file.
func (s *sim) attach(d *watched, agent party, at map[string]string, mark string) {
	if s.r.IntN(2) == 0 {
		s.do(call{op: delivery.File, who: agent, path: at, stream: "some bytes", headers: map[string]string{"Content-Type": "application/pdf", "X-Hold": "1"}})
		return
	}
	s.do(call{op: delivery.FileArtifact, who: agent, path: at, stream: places(mark), headers: form})
}

// form are the headers of places, a form with one small file.
var form = map[string]string{"Content-Type": "multipart/form-data; boundary=x"}

func places(mark string) string {
	return "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"places.txt\"\r\nContent-Type: text/plain\r\n\r\nThree places, " + mark + ".\r\n--x--\r\n"
}

// morning is a person with a timed delivery, who reads, pauses, goes on or stops, or moves to
// another part of the world.
func (s *sim) morning() {
	var with []*watched
	for _, id := range s.audit.order {
		if d := s.audit.deals[id]; slices.ContainsFunc(d.Steps, func(s path.Step) bool { return s.Schedule != "" }) {
			with = append(with, d)
		}
	}
	if len(with) == 0 || s.r.IntN(4) == 0 {
		s.do(call{op: account.Update, who: pick(s, s.people[:]), body: m{"timezone": pick(s, zones[:])}})
		return
	}
	d := pick(s, with)
	_, p, _ := s.sides(d)
	c := call{who: p, path: onDeal(d, 1), body: m{}}
	switch s.r.IntN(9) {
	case 0, 8:
		c.op = delivery.Pause
	case 1, 2:
		c.op = delivery.Resume
	case 3:
		c.op = delivery.Stop
	case 4, 5, 6:
		c.op, c.body = delivery.SetChannels, m{"channels": pick(s, [][]string{{}, {"email"}, {"text"}, {"text"}, {"email", "text"}})}
	default:
		s.personReads(delivery.ReadDaily, p, c.path)
		return
	}
	s.do(c)
}

func (s *sim) pulse(d *watched, agent party, at map[string]string) {
	percent := d.Pulse.Percent + 25
	if s.r.IntN(12) == 0 {
		percent = pick(s, path.Checkpoints)
	}
	s.do(call{op: deals.CheckIn, who: agent, path: at, body: m{"changed": "a", "now": "b", "next": "c", "progress_percent": min(100, percent)}})
}

func (s *sim) outcome(o *path.Step, mark string) m {
	if o.Ask == "APPROVE" && s.r.IntN(10) > 0 {
		return m{"note": "Here it is.", "document": m{"title": "The hold", "blocks": []m{{"type": "paragraph", "text": "Done, " + mark + "."}}}}
	}
	return m{"note": "Here it is, " + mark + "."}
}

func (s *sim) verdict(step *path.Step, mark string) m {
	switch s.r.IntN(16) {
	case 0, 1, 2, 3:
		return m{"verdict": "request_changes", "reason": "Again, " + mark + "."}
	case 4:
		if s.r.IntN(4) == 0 {
			return m{"verdict": "decline"}
		}
	case 5, 6:
		return m{"verdict": "approve"}
	}
	b := m{"verdict": "approve"}
	if step.Final() {
		b["score"] = 1 + s.r.IntN(10)
	}
	if step.Ask == "CHOOSE" && step.Kind == path.Execution {
		b["responses"] = []m{{"block_number": 1, "value": m{"choice": "b"}}}
	}
	return b
}

// byAgent is anything an agent may try.
func (s *sim) byAgent(d *watched, step *path.Step, agent party, mark string, at map[string]string) {
	c := call{who: agent, path: at}
	switch s.r.IntN(16) {
	case 0, 1:
		if agent.n == s.absent {
			return
		}
		c.op, c.body = deals.Sign, m{}
	case 2:
		if d.Status == path.Picked && s.r.IntN(2) == 0 {
			return
		}
		c.op, c.body = deals.DeclineDeal, m{"reason": "No, " + mark + "."}
	case 3, 4:
		c.op, c.body = deals.CheckIn, m{"changed": "a", "now": "b", "next": "c", "progress_percent": pick(s, path.Checkpoints)}
	case 5, 6:
		c.op, c.body = delivery.File, s.outcome(step, mark)
	case 7, 8:
		c.op, c.body = deals.Reply, m{"reply": "Yes, " + mark + "."}
	case 9, 10:
		c.op, c.body = deals.Restate, m{"declared_odds": 0.4}
	case 11, 12:
		c.op, c.body = deals.Flag, m{"blocked": "a, " + mark, "assuming": "b"}
	case 13:
		c.op, c.body = deals.Fail, m{"reason": "No.", "materiality_test": "adds_material_risk", "r109_exception": "unforeseeable_outside_failure"}
	case 14:
		c.op, c.body = deals.Withdraw, m{"reason": "No.", "kind": pick(s, []string{"compliance", "abandonment"})}
	default:
		s.readsOf(d, agent, at)
		return
	}
	s.do(c)
}

// byPerson is anything a person may try.
func (s *sim) byPerson(d *watched, step *path.Step, person party, mark string, at map[string]string) {
	c := call{who: person, path: at}
	switch s.r.IntN(14) {
	case 0, 1, 2:
		c.op, c.body = deals.AnswerStep, s.verdict(step, mark)
	case 3, 4, 5:
		c.op, c.body = deals.Write, m{"body": "Hello, " + mark + "?"}
	case 6, 7:
		c.op, c.body = deals.SaveDraft, m{"responses": []m{}}
	case 8:
		if d.Status == path.Signed && s.r.IntN(2) == 0 {
			return
		}
		c.op, c.body = deals.EndDeal, m{"reason": "No."}
	case 9, 10:
		c.op, c.body = deals.Report, m{"wall": 1 + s.r.IntN(11), "text": "It asked for a password, " + mark + "."}
	default:
		s.readsByPerson(d, person, at)
		return
	}
	s.do(c)
}

// over is what must hold of a deal, and of what is around it, when all is over.
func (s *sim) over(d *watched) {
	if d.Status != path.Ended || d.Timer.Set() {
		fail("deal %s is %s with timer %+v", d.ID, d.Status, d.Timer)
	}
	s.saw("end " + d.EndCause)
	if d.Voided {
		s.saw("scores voided")
	}
	for _, l := range d.lines {
		if l.Kind != money.Fund && l.State != money.Sent && l.State != money.Confirmed && l.State != money.Shown {
			fail("money that never moved: %+v", l)
		}
	}
	if w := s.audit.wants[d.TargetID]; w.DealID != "" || w.Status == wants.Open && w.BidID != "" {
		fail("want %+v after %s", w, d.EndCause)
	}
	if b := s.audit.bids[d.ProposalID]; b.Status == bids.Filed {
		fail("the bid of an ended deal is filed")
	}
}
