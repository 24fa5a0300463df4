package redline

import (
	"context"
)

// A requestContext is the context of one request. It is made when it is asked
// for, and never used again.
type requestContext struct {
	context.Context
	cancel context.CancelCauseFunc
}

// finish ends the context: the response is complete.
func (r *requestContext) finish() { r.cancel(context.Canceled) }

// Context returns the request's context. It is cancelled, with cause ErrGone,
// within a second after the client has left, also when nobody reads or writes,
// and when the handler returns.
func (c *Ctx) Context() context.Context { return c.requestContext() }

func (c *Ctx) requestContext() *requestContext {
	x := c.exchange()
	f := x.Local.(*frame)
	if f.cancel == nil {
		ctx, cancel := context.WithCancelCause(context.Background())
		f.cancel = &requestContext{Context: ctx, cancel: cancel}
		x.Host.OnGone(func() { cancel(ErrGone) })
	}
	return f.cancel
}
