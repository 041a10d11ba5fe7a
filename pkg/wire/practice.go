package wire

import (
	"context"

	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
)

// CreatePractice makes a practice target from its JSON object: the operator's tool
// (surface.md 1, bench.md 4.10).
func (x *Exchange) CreatePractice(ctx context.Context, body []byte) (id string, err error) {
	in, err := wants.ReadPractice(body)
	if err != nil {
		return "", err
	}
	err = x.Engine.Run(ctx, x.Clock.Now(), "bench", func(c *op.Call) error {
		w, err := wants.CreatePractice(c, in)
		id = w.ID
		return err
	})
	return id, err
}
