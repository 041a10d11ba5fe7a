package ddb

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Usage is what the calls under one context cost according to DynamoDB itself. Emulators
// report capacity wrongly or not at all; package meter computes the same figures from the
// rows, by AWS's rules, and can be compared with this on a real table.
// Read the fields when the calls have returned.
type Usage struct {
	mu         sync.Mutex
	Attempts   int     // HTTP requests, the SDK's repetitions included
	ReadUnits  float64 // capacity units reported for reads
	WriteUnits float64 // capacity units reported for writes; refused writes are not reported
}

type usageKey struct{}

// WithUsage makes every call of a Store under the returned context count into the Usage.
func WithUsage(ctx context.Context) (context.Context, *Usage) {
	u := &Usage{}
	return context.WithValue(ctx, usageKey{}, u), u
}

// usageOf returns the context's Usage or nil; all methods of Usage take nil.
func usageOf(ctx context.Context) *Usage {
	u, _ := ctx.Value(usageKey{}).(*Usage)
	return u
}

// ask requests the consumed capacity only where somebody counts it.
func (u *Usage) ask() types.ReturnConsumedCapacity {
	if u == nil {
		return ""
	}
	return types.ReturnConsumedCapacityTotal
}

func (u *Usage) attempt() {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.Attempts++
}

func (u *Usage) add(reads, writes *types.ConsumedCapacity) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if reads != nil && reads.CapacityUnits != nil {
		u.ReadUnits += *reads.CapacityUnits
	}
	if writes != nil && writes.CapacityUnits != nil {
		u.WriteUnits += *writes.CapacityUnits
	}
}

func (u *Usage) read(c *types.ConsumedCapacity)  { u.add(c, nil) }
func (u *Usage) wrote(c *types.ConsumedCapacity) { u.add(nil, c) }

func (u *Usage) readEach(cs []types.ConsumedCapacity) {
	for i := range cs {
		u.read(&cs[i])
	}
}

func (u *Usage) wroteEach(cs []types.ConsumedCapacity) {
	for i := range cs {
		u.wrote(&cs[i])
	}
}
