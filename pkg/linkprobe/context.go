package linkprobe

import "context"

type (
	proberKey   struct{}
	transferKey struct{}
)

// With puts a prober into a context.
func With(ctx context.Context, p Prober) context.Context {
	return context.WithValue(ctx, proberKey{}, p)
}

// From returns the prober of a context, Off where there is none: probing is an addition that an operator switches on.
func From(ctx context.Context) Prober {
	if p, ok := ctx.Value(proberKey{}).(Prober); ok {
		return p
	}
	return Off{}
}

// WithTransfer says which hosts archives may come from in probes of this context; without it linkgate.DefaultTransfer.
func WithTransfer(ctx context.Context, hosts []string) context.Context {
	return context.WithValue(ctx, transferKey{}, hosts)
}

// Transfer is the list of WithTransfer, nil for the default.
func Transfer(ctx context.Context) []string {
	hosts, _ := ctx.Value(transferKey{}).([]string)
	return hosts
}
