package pay

import "context"

type contextKey struct{}

type port struct {
	processor Processor
	secrets   []string
}

// With puts a processor, and the secrets its webhooks are signed with (current first),
// into a context.
func With(ctx context.Context, p Processor, webhookSecrets ...string) context.Context {
	return context.WithValue(ctx, contextKey{}, port{p, webhookSecrets})
}

// From returns the processor of a context. It panics where an operation or job did not
// declare that it touches payments: that mistake shows in every test.
func From(ctx context.Context) Processor { return from(ctx).processor }

// WebhookSecrets returns the secrets webhooks are checked with.
func WebhookSecrets(ctx context.Context) []string { return from(ctx).secrets }

func from(ctx context.Context) port {
	p, ok := ctx.Value(contextKey{}).(port)
	if !ok {
		panic("pay: an operation uses payments without declaring it")
	}
	return p
}
