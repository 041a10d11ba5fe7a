package simulation

import (
	"context"
	"fmt"
	"time"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/drip"
	"guildhall/pkg/bench/money"
	"guildhall/pkg/op"
	"guildhall/pkg/pay"
	"guildhall/pkg/pay/simulated"
)

// day is what months are made of.
const day = 24 * time.Hour

// spans are how far the clock moves at once; a seed's temper says how many of them it uses.
var spans = []time.Duration{time.Minute, 20 * time.Minute, 6 * time.Hour, 2 * day, 9 * day}

// pass moves the clock and sweeps it badly: on time, late, twice or not at all.
func (s *sim) pass() {
	target := s.now.Add(time.Duration(s.r.Int64N(int64(spans[s.r.IntN(3+s.temper)]))) + time.Millisecond)
	switch s.r.IntN(8) {
	case 0: // nobody looks: the rows stay for the next sweep
		s.saw("sweep missed")
	case 1:
		s.at(target)
		s.saw("sweep twice")
		s.sweepNow()
		s.sweepNow()
	case 2, 3, 4:
		s.at(target)
		s.saw("sweep late")
		s.sweepNow()
	default:
		s.punctual(target)
	}
	s.at(target)
	if s.r.IntN(2) == 0 {
		s.notices()
	}
}

// maxPunctual bounds the sweeps of one pass; those of the rest are late.
const maxPunctual = 4

// punctual sweeps at each time something is due, within the minute.
func (s *sim) punctual(target time.Time) {
	n := maxPunctual
	if s.seed%4 == 0 { // in such an exchange everybody is on time
		n *= 5
	}
	for range n {
		due, ok := s.audit.earliest()
		if !ok || due.After(target) {
			return
		}
		if due.After(s.now) {
			s.at(due.Add(time.Duration(s.r.IntN(60)) * time.Second))
		}
		s.saw("sweep on time")
		s.sweepNow()
	}
	s.at(target)
	s.sweepNow()
}

// misbehave spoils one of the processor's next calls, now and then.
func (s *sim) misbehave() {
	if s.faults && s.r.IntN(6) == 0 {
		mode := []simulated.Mode{simulated.ModeFail, simulated.ModeTimeout}[s.r.IntN(2)]
		must(s.bank.SetMode(mode, 1))
		s.saw("pay " + string(mode))
	}
}

// elsewhere is what happens at the processor without anybody here: a payout account is closed
// for a while, or a payer's bank takes a payment back.
func (s *sim) elsewhere() {
	if len(s.audit.order) > 0 && s.r.IntN(3) == 0 {
		if d := s.audit.deals[pick(s, s.audit.order)]; d.Charge != "" {
			must(s.bank.Dispute(d.Charge, "fraudulent"))
			s.saw("dispute")
		}
		return
	}
	ready := s.r.IntN(3) == 0
	must(s.bank.SetReady(s.agents[s.r.IntN(payable)].id, ready))
	s.saw("payout account changed")
}

// notices delivers what the processor has to tell, in an order it chooses.
func (s *sim) notices() {
	_, err := s.bank.Deliver(context.Background(), func(_ context.Context, h simulated.Webhook) error {
		s.trouble()
		res := s.send(deals.Hook, &op.Request{Body: h.Body, Header: func(n string) string {
			if n == "Stripe-Signature" {
				return h.Signature
			}
			return ""
		}})
		s.calm()
		s.log("notice", res.Status)
		if res.Status != 200 {
			s.saw("notice refused")
			return fmt.Errorf("status %d: %s", res.Status, res.Body)
		}
		s.saw("notice taken")
		return nil
	})
	must(err)
}

// shuffled is the order of notices: any, with one left out or repeated now and then.
func (s *sim) shuffled(n int) []int {
	order := s.r.Perm(n)
	if n > 0 && s.faults {
		switch s.r.IntN(6) {
		case 0:
			s.saw("notice held back")
			return order[1:]
		case 1:
			s.saw("notice repeated")
			return append(order, order[0])
		}
	}
	return order
}

// ledger sums what the processor really moved.
func (s *sim) ledger() (paidIn, paidOut, paidBack int64) {
	for _, b := range s.checkouts {
		c, err := s.bank.GetCheckout(context.Background(), b)
		must(err)
		if c.Status == pay.Paid {
			paidIn += c.AmountCents
		}
	}
	for _, c := range s.bank.Effects() {
		switch c.Kind {
		case simulated.Transfer:
			paidOut += c.AmountCents
		case simulated.Refund:
			paidBack += c.AmountCents
		}
	}
	return paidIn, paidOut, paidBack
}

// wallets holds every agent's sums against its deals.
func (s *sim) wallets() {
	released := map[string]int64{}
	for _, d := range s.audit.deals {
		released[d.AgentID] += d.Money.Released
	}
	for _, a := range s.agents {
		rows, err := s.audit.Get(context.Background(), money.WalletKey(a.id))
		must(err)
		if c := rows[0].Counters; c["held"] != 0 || c["released"] != released[a.id] || c["transferred"] != released[a.id] {
			fail("the deals of %s released %d, its wallet says %v", a.id, released[a.id], c)
		}
	}
}

// finish lets all clocks run out without faults, and counts the money.
func (s *sim) finish() {
	s.faults = false
	s.restart()
	must(s.bank.SetMode(simulated.ModeOK, 0))
	for _, p := range s.agents[:payable] {
		must(s.bank.SetReady(p.id, true))
	}
	for range 1000 {
		s.notices()
		due, ok := s.audit.earliest()
		if !ok {
			break
		}
		s.at(due.Add(time.Duration(s.r.Int64N(int64(3 * day)))))
		s.sweepNow()
	}
	s.at(s.now.Add(4 * day)) // notices that were refused come again
	s.notices()
	s.sweepNow()
	if n := len(s.audit.clocks); n != 0 {
		fail("%d clocks wait for nothing: %v", n, s.audit.clocks)
	}
	for _, d := range s.audit.drips {
		if s.saw("drip " + d.Status); d.Status == drip.Delivering {
			fail("the timed delivery of deal %s waits for ever", d.DealID)
		}
	}
	var released, returned int64
	for _, id := range s.audit.order {
		d := s.audit.deals[id]
		s.over(d)
		released, returned = released+d.Money.Released, returned+d.Money.Returned
	}
	s.wallets()
	in, out, back := s.ledger()
	if out != released || back < returned || in != out+back {
		fail("paid in %d, out %d, back %d; the deals released %d and returned %d", in, out, back, released, returned)
	}
}
