package run

import "context"

type againKey struct{}

// WithAgain returns a context that carries a second cancellation: the end of the context cuts
// the window of a run short, and when again is then closed too, the run no longer waits for
// answers that are outstanding.
func WithAgain(ctx context.Context, again <-chan struct{}) context.Context {
	return context.WithValue(ctx, againKey{}, again)
}

// Again returns the second cancellation of WithAgain, nil if there is none.
func Again(ctx context.Context) <-chan struct{} {
	again, _ := ctx.Value(againKey{}).(<-chan struct{})
	return again
}
