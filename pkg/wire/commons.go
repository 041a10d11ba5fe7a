package wire

import (
	"context"
	"errors"
	"net/http"

	"guildhall/pkg/commons"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

// CreateTask makes a Commons task from its JSON object, cleared for work: the operator's tool
// (surface.md 1, commons.md C-G4).
func (x *Exchange) CreateTask(ctx context.Context, body []byte) (id string, err error) {
	spec, err := commons.ParseSpec(body)
	if err != nil {
		return "", err
	}
	err = x.Engine.Run(ctx, x.Clock.Now(), "commons", func(c *op.Call) error {
		id, err = commons.CreateTask(c, spec)
		return err
	})
	return id, err
}

func (x *Exchange) createCommonsTask(ctx context.Context, _ *http.Request, body []byte) (map[string]any, error) {
	id, err := x.CreateTask(ctx, body)
	var f *fault.Fault
	if errors.As(err, &f) && f.Kind != fault.Internal {
		return nil, devError{f.Kind.Status(), f.Code, f.Message}
	}
	return map[string]any{"task_id": id}, err
}
