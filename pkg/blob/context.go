package blob

import "context"

type contextKey struct{}

// With puts a blob store into a context.
func With(ctx context.Context, s Store) context.Context {
	return context.WithValue(ctx, contextKey{}, s)
}

// From returns the blob store of a context. It panics where an operation or job did not
// declare that it touches blobs: that mistake shows in every test.
func From(ctx context.Context) Store {
	s, ok := ctx.Value(contextKey{}).(Store)
	if !ok {
		panic("blob: an operation uses the blob store without declaring it")
	}
	return s
}
