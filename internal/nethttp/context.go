package nethttp

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/exchange"
)

// A requestContext is the context of one request. Most handlers only ask it for values;
// until Done or similar is called, ending it costs nothing.
type requestContext struct {
	conn  *Conn
	x     *exchange.Exchange // its Session is used only while mu is held, which finish waits for
	state atomic.Uint32
	mu    sync.Mutex
	turns turns  // of the call, which has no room for them
	watch *watch // nil until Done, Err or AfterFunc is first called
}

// The states of a context.
const (
	quiet = iota // Done, Err and AfterFunc have not been called
	live
	over // the handler returned before any of them was called
)

// A watch is what a context needs in order to end before its request.
type watch struct {
	stop  func() bool // of the parent's notification
	done  chan struct{}
	err   error
	after []*afterFunc
}

// An afterFunc is a function that waits for the context to end.
type afterFunc struct{ f func() }

// Deadline implements context.Context.
func (c *requestContext) Deadline() (time.Time, bool) { return c.conn.ctx.Deadline() }

// Value implements context.Context.
func (c *requestContext) Value(key any) any {
	switch key {
	case http.ServerContextKey:
		return c.conn.cfg.Server
	case http.LocalAddrContextKey:
		return c.conn.LocalAddr()
	}
	return c.conn.ctx.Value(key)
}

// Done implements context.Context.
func (c *requestContext) Done() <-chan struct{} {
	w := c.lock()
	defer c.mu.Unlock()
	if w.done == nil {
		w.done = make(chan struct{})
		if w.err != nil {
			close(w.done)
		}
	}
	return w.done
}

// Err implements context.Context.
func (c *requestContext) Err() error {
	w := c.lock()
	defer c.mu.Unlock()
	return w.err
}

// AfterFunc allows derived contexts to work without a goroutine each: package context looks
// for it.
func (c *requestContext) AfterFunc(f func()) (stop func() bool) {
	w := c.lock()
	defer c.mu.Unlock()
	if w.err != nil {
		go f()
		return func() bool { return false }
	}
	a := &afterFunc{f: f}
	w.after = append(w.after, a)
	return func() bool { return c.forget(a) }
}

// forget removes a function, and reports whether it was still waiting.
func (c *requestContext) forget(a *afterFunc) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.watch.after, a)
	if i < 0 {
		return false
	}
	c.watch.after = slices.Delete(c.watch.after, i, i+1)
	return true
}

// lock locks the context. After its first call the context ends with its client and its
// parent.
func (c *requestContext) lock() *watch {
	c.mu.Lock()
	if c.watch != nil {
		return c.watch
	}
	w := new(watch)
	c.watch = w
	if !c.state.CompareAndSwap(quiet, live) {
		w.err = context.Canceled // the handler has returned
		return w
	}
	if parent := c.conn.ctx; parent.Done() != nil {
		w.stop = context.AfterFunc(parent, func() { c.end(parent.Err()) })
	}
	if c.x.Session.OnGone(c.gone) {
		w.err = context.Canceled
	}
	return w
}

func (c *requestContext) gone() { c.end(context.Canceled) }

// finish ends the context: the handler has returned.
func (c *requestContext) finish() {
	if !c.state.CompareAndSwap(quiet, over) {
		c.end(context.Canceled)
	}
}

// end ends a context that is live.
func (c *requestContext) end(err error) {
	c.mu.Lock()
	w := c.watch
	stop, after := w.stop, w.after
	w.stop, w.after = nil, nil
	if w.err == nil {
		w.err = err
		if w.done != nil {
			close(w.done)
		}
	}
	c.mu.Unlock()
	if stop != nil {
		stop()
	}
	for _, a := range after {
		go a.f()
	}
}
