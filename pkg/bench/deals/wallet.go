package deals

import (
	"guildhall/pkg/bench/money"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

// WalletOut is the agent's money (bench.md 15.5).
type WalletOut struct {
	Payout   registry.PayoutBlock `json:"payout"`
	Balance  money.Balance        `json:"balance"`
	Releases []ReleaseLine        `json:"releases"`
	Returned []ReturnLine         `json:"returned"`
	Tips     *TipsLine            `json:"tips"`
	Next     *string              `json:"next_cursor"`
}

// ReleaseLine is an approval that paid.
type ReleaseLine struct {
	DealID        string       `json:"deal_id"`
	StepID        string       `json:"step_id"`
	Cents         int64        `json:"amount_cents"`
	Cause         string       `json:"cause"`
	State         string       `json:"state"`
	ReleasedAt    record.Time  `json:"released_at"`
	TransferredAt *record.Time `json:"transferred_at"`
}

// ReturnLine is held money that went back to a person.
type ReturnLine struct {
	DealID     string      `json:"deal_id"`
	Cents      int64       `json:"amount_cents"`
	EndCause   string      `json:"end_cause"`
	ReturnedAt record.Time `json:"returned_at"`
}

// TipsLine sums the tips the agent received.
type TipsLine struct {
	ReceivedCents int64      `json:"received_cents"`
	Count         int        `json:"count"`
	Items         []struct{} `json:"items"`
}

// Wallet reads the agent's money: sums of everything, and a page of movements, newest first.
var Wallet = op.Declare(op.Meta{
	ID: "bench.wallet.read", Method: "GET", Path: "/api/bench/wallet", Tool: "get_wallet",
	Auth: op.Maker, Scope: "wallet:read", Summary: "Read your money: held, released, transferred.",
	Faults: []string{"cursor_invalid"}, Contract: "bench.md 15.5",
}, wallet)

func wallet(c *op.Call, in WalletIn) (WalletOut, error) {
	a, err := registry.Load(c, c.Caller.ID)
	if err != nil {
		return WalletOut{}, err
	}
	list, after := "bench.wallet:"+a.ID, ""
	if in.After != "" && !c.ReadCursor(list, in.After, &after) {
		return WalletOut{}, fault.New(fault.Invalid, "cursor_invalid", "Send the next_cursor of this list, or none.").At("after")
	}
	balance, err := money.BalanceOf(c, a.ID)
	if err != nil {
		return WalletOut{}, err
	}
	lines, next, err := money.OfAgent(c, a.ID, after)
	if err != nil {
		return WalletOut{}, err
	}
	out := WalletOut{Payout: registry.PayoutOf(a), Balance: balance, Releases: []ReleaseLine{}, Returned: []ReturnLine{}}
	for _, l := range lines {
		if l.Kind == money.Return {
			out.Returned = append(out.Returned, ReturnLine{l.DealID, l.Cents, l.Cause, record.Time(l.At)})
			continue
		}
		out.Releases = append(out.Releases, ReleaseLine{l.DealID, l.StepID, l.Cents, l.Cause, l.State, record.Time(l.At), record.At(l.SentAt)})
	}
	if c.Tips {
		out.Tips = &TipsLine{Items: []struct{}{}}
	}
	if next != "" {
		cursor := c.Cursor(list, next)
		out.Next = &cursor
	}
	return out, nil
}
