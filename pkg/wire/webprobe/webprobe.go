// Package webprobe gives a function that judges links the network stage of the link gate: a blank import is enough.
package webprobe

import (
	"context"

	"guildhall/pkg/config"
	"guildhall/pkg/linkprobe"
	"guildhall/pkg/linkprobe/web"
	"guildhall/pkg/op"
	"guildhall/pkg/wire/lambda"
)

func init() { lambda.Provide(op.Links, config.Probe, open) }

func open(o lambda.Opening) (lambda.Port, error) {
	p := web.New(web.Options{Now: o.Now, Bootstrap: o.Config.Links.Bootstrap})
	return func(ctx context.Context) context.Context { return linkprobe.With(ctx, p) }, nil
}
