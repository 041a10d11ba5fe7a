package deals

import (
	"guildhall/pkg/bench/access"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
)

// Limits of a swap (bench.md 2.11).
const (
	MaxSwapName = 280 // characters of from and to
	MaxSwapWhy  = 500 // characters of why and material_declaration
	MaxSwaps    = 50  // of one grant
)

// SwapIn records an equivalent tool behind a grant.
type SwapIn struct {
	OfDeal
	GrantID  string `path:"grant_id"`
	From     string `json:"from,omitempty" doc:"The tool before, 1 to 280 characters."`
	To       string `json:"to,omitempty" doc:"The tool after, 1 to 280 characters."`
	Why      string `json:"why,omitempty" doc:"1 to 500 characters."`
	Material string `json:"material_declaration,omitempty" doc:"Why the change is not material, at most 500 characters."`
}

// Validate implements op.Validator.
func (in SwapIn) Validate() error {
	for _, f := range []struct {
		name, value string
		max         int
		needed      bool
	}{{"from", in.From, MaxSwapName, true}, {"to", in.To, MaxSwapName, true}, {"why", in.Why, MaxSwapWhy, true},
		{"material_declaration", in.Material, MaxSwapWhy, false}} {
		n := text.Len(text.Normalize(f.value))
		if n == 0 && f.needed {
			return fault.New(fault.Invalid, f.name+" is required", "A swap says from what, to what, and why.").At(f.name)
		}
		if n > f.max {
			return fault.InvalidField.At(f.name).Say(f.name+" is too long.").With("limit", f.max)
		}
		if err := screen(f.name, "swaps", f.value); err != nil {
			return err
		}
	}
	return nil
}

// Rows implements op.Prefetcher.
func (in SwapIn) Rows(account string) []table.Key { return in.with(account, access.Key) }

// SwapOut is the recorded swap. It opens no ask, moves no clock and no price.
type SwapOut struct {
	GrantID      string   `json:"grant_id"`
	DealID       string   `json:"deal_id"`
	Entry        SwapView `json:"swap_entry"`
	Count        int      `json:"swap_count"`
	DealReopened bool     `json:"deal_reopened"`
	PriceChanged bool     `json:"price_changed"`
	ClockMoved   bool     `json:"clock_moved"`
}

// RecordSwap records an equivalent swap behind a grant (bench.md 16.4, rule 107). The
// person sees it at the next review.
var RecordSwap = op.Declare(op.Meta{
	ID: "bench.grant.swap", Method: "POST", Path: "/api/bench/deals/{deal_id}/grants/{grant_id}/swap", Tool: "record_connector_swap",
	Auth: op.Maker, Scope: "deals:write", Idempotent: op.KeyRequired, Limit: &registry.Writes, Summary: "Record that you moved to an equivalent tool.",
	Faults:   []string{"from is required", "to is required", "why is required", "swaps must not contain secrets", "link_not_allowed", "deal is not active", "too_many_swaps"},
	Contract: "bench.md 16.4",
}, recordSwap)

func recordSwap(c *op.Call, in SwapIn) (SwapOut, error) {
	d, err := Mine(c, in.DealID)
	if err != nil {
		return SwapOut{}, err
	}
	x := &change{c: c, d: d}
	grants, err := x.theGrants()
	if err != nil {
		return SwapOut{}, err
	}
	g := grants.Find(in.GrantID)
	if g == nil {
		return SwapOut{}, fault.BareNotFound
	}
	if err := d.Swap(c.Now, d.Find(g.StepID, false)); err != nil {
		return SwapOut{}, err
	}
	if len(g.Swaps) >= MaxSwaps {
		return SwapOut{}, fault.New(fault.Conflict, "too_many_swaps", "This permission has been moved to other tools too often.")
	}
	s := access.Swap{From: text.Normalize(in.From), To: text.Normalize(in.To), Why: text.Normalize(in.Why), When: c.Now, Material: text.Normalize(in.Material)}
	g.Swaps = append(g.Swaps, s)
	x.data = map[record.Word]map[string]any{record.GrantSwapped: {"grant_id": g.ID}}
	return SwapOut{GrantID: g.ID, DealID: d.ID, Entry: swapView(s), Count: len(g.Swaps)}, x.commit()
}

func swapView(s access.Swap) SwapView {
	return SwapView{s.From, s.To, record.Time(s.When), s.Why, Given(s.Material)}
}
