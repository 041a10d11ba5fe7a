package simulated

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"guildhall/pkg/pay"
)

// memory is a Storage that survives a restart of the processor and now and then is full.
type memory struct {
	data []byte
	r    *rand.Rand
}

func (m *memory) Load() ([]byte, error) { return m.data, nil }

func (m *memory) Save(data []byte) error {
	if m.r.IntN(20) == 0 {
		return errors.New("disk full")
	}
	m.data = data
	return nil
}

// payout is one job that wants a transfer made, as the exchange's job would: it tries its
// key while that is safe, looks before it tries after a day, and raises the attempt only
// after a refusal.
type payout struct {
	request pay.TransferRequest
	first   time.Time // of the first try
	done    bool
}

func (w *payout) step(t *testing.T, p *Processor, now time.Time) {
	if w.done {
		return
	}
	if w.first.IsZero() {
		w.first = now
	} else if now.Sub(w.first) >= pay.KeySafe {
		_, there, err := p.FindTransfer(t.Context(), w.request.Key, w.request.DealID)
		if err != nil || there {
			w.done = there
			return
		}
		w.first = now
	}
	_, err := p.Transfer(t.Context(), w.request)
	if errors.Is(err, pay.ErrRefused) {
		w.request.Attempt++
	}
	w.done = err == nil
}

// fund pays one checkout of 1000 cents, however often it takes until that could be saved.
func fund(t *testing.T, p *Processor) string {
	t.Helper()
	again := func(do func() error) {
		for do() != nil {
		}
	}
	var made pay.Checkout
	again(func() (err error) {
		made, err = p.CreateCheckout(t.Context(), pay.CheckoutRequest{Key: "c", AmountCents: 1000, Description: "d", SuccessURL: "u", CancelURL: "u"})
		return err
	})
	again(func() error { return p.Complete(made.ID, pay.Paid) })
	again(func() (err error) { made, err = p.GetCheckout(t.Context(), made.ID); return err })
	again(func() error { return p.SetReady("m", true) })
	return made.PaymentID
}

// TestAJobThatLooksBeforeItRetriesMovesEachAmountOnce runs payouts over a processor that
// fails, times out, forgets keys, cannot save and is restarted, and counts the money.
func TestAJobThatLooksBeforeItRetriesMovesEachAmountOnce(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 2))
		c, store := newClock(), &memory{r: rand.New(rand.NewPCG(seed, 3))}
		p := open(t, c, store)
		payment := fund(t, p)
		account := p.s.Makers["m"]
		var jobs []*payout
		for i := range 5 {
			jobs = append(jobs, &payout{request: pay.TransferRequest{Key: fmt.Sprint("release/", i), AccountID: account,
				AmountCents: int64(100*(i+1)) / 2, DealID: "deal-1", PaymentID: payment}})
		}
		for round := 0; round < 400; round++ {
			switch r.IntN(8) {
			case 0:
				p.SetMode([]Mode{ModeFail, ModeTimeout}[r.IntN(2)], 1+r.IntN(2))
			case 1:
				p = open(t, c, store)
			case 2:
				p.SetReady("m", r.IntN(3) > 0)
			default:
				jobs[r.IntN(len(jobs))].step(t, p, c.Now())
			}
			c.Advance(time.Duration(r.IntN(10)) * time.Hour)
		}
		sent := map[string]int{}
		var moved int64
		for _, tr := range p.s.Transfers {
			sent[tr.Key]++
			moved += tr.Amount
		}
		from := p.s.Payments[payment]
		if moved != from.Transferred || p.s.Balance != from.Amount-moved || from.left() < 0 {
			t.Fatalf("seed %d: %d moved, payment %+v, balance %d", seed, moved, from, p.s.Balance)
		}
		for _, w := range jobs {
			if n := sent[w.request.Key]; n > 1 || (w.done && n != 1) {
				t.Fatalf("seed %d: %s was sent %d times, done %v", seed, w.request.Key, n, w.done)
			}
		}
		if len(sent) < len(jobs) {
			t.Errorf("seed %d: only %d of %d payouts were made", seed, len(sent), len(jobs))
		}
	}
}
