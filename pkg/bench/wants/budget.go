package wants

import (
	"context"

	"guildhall/pkg/blob"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// MaxFileBytes is the budget of a want: what all files of it and of its deals hold together,
// the person's attachments and step files and the agent's artifacts and images alike
// (bench.md 4.1, 13.6).
const MaxFileBytes = 100 << 20 // bytes

// OverBudget refuses a file for which the want has no room left.
var OverBudget = fault.New(fault.TooLarge, "target_budget_exceeded", "The files of this want would take more than 100 MB together.")

// budget is the one row that says what the files of a want weigh. Every upload rewrites it
// in its own commit, so that uploads that meet decide one after the other.
type budget struct {
	Used int64 `json:"used_bytes"`
}

// BudgetKey is the row of a want's budget.
func BudgetKey(target string) table.Key { return table.Key{PK: Partition(target), SK: "BUDGET"} }

// UsedBytes is what the files of a want weigh together.
func UsedBytes(c *op.Call, target string) (int64, error) {
	b, _, err := op.Load[budget](c, BudgetKey(target))
	return b.Used, err
}

// room tells whether a file of bytes still fits, and what was used before it.
func room(c *op.Call, target string, bytes int64) (b budget, err error) {
	if b, _, err = op.Load[budget](c, BudgetKey(target)); err == nil && b.Used+bytes > MaxFileBytes {
		err = OverBudget.With("target_usage_bytes", b.Used).With("target_budget_bytes", int64(MaxFileBytes))
	}
	return b, err
}

// Spend counts a file of bytes in the budget of a want, or refuses it with OverBudget. It is
// the only way in: TakeUpload calls it for rules that name a target.
func Spend(c *op.Call, target string, bytes int64) error {
	b, err := room(c, target, bytes)
	if err != nil {
		return err
	}
	b.Used += bytes
	c.Put(BudgetKey(target), b)
	return nil
}

// GiveBack returns the room of a file that nobody was handed and that is deleted.
func GiveBack(c *op.Call, target string, bytes int64) error {
	b, _, err := op.Load[budget](c, BudgetKey(target))
	if err != nil {
		return err
	}
	b.Used = max(0, b.Used-bytes)
	c.Put(BudgetKey(target), b)
	return nil
}

// discard removes the bytes of an upload of which nothing was committed. A store that does
// not answer keeps them: nobody will ever name them.
func discard(c *op.Call, key string) {
	c.Undo(func(ctx context.Context) { _ = blob.From(c).Delete(ctx, key) })
}
