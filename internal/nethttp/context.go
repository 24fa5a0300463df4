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

// A requestContext is the context of one request. Most handlers never ask it for
// more than values; until one does, it costs nothing to end it.
type requestContext struct {
	cfg   *Config
	conn  *Conn
	state atomic.Uint32

	mu    sync.Mutex
	host  exchange.Host // nil when the handler has returned
	stop  func() bool   // of the parent's notice
	done  chan struct{}
	err   error
	after []*afterFunc
}

// The states of a context.
const (
	quiet = iota // nobody has asked whether it is done
	live
	over // the handler has returned before anybody asked
)

// An afterFunc is a function that waits for the context to end.
type afterFunc struct{ f func() }

// Deadline implements context.Context.
func (c *requestContext) Deadline() (time.Time, bool) { return c.conn.ctx.Deadline() }

// Value implements context.Context.
func (c *requestContext) Value(key any) any {
	switch key {
	case http.ServerContextKey:
		return c.cfg.Server
	case http.LocalAddrContextKey:
		return c.conn.LocalAddr()
	}
	return c.conn.ctx.Value(key)
}

// Done implements context.Context.
func (c *requestContext) Done() <-chan struct{} {
	defer c.lock().Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

// Err implements context.Context.
func (c *requestContext) Err() error {
	defer c.lock().Unlock()
	return c.err
}

// AfterFunc lets contexts that are derived from this one do without a goroutine
// each: package context looks for it.
func (c *requestContext) AfterFunc(f func()) (stop func() bool) {
	defer c.lock().Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	a := &afterFunc{f: f}
	c.after = append(c.after, a)
	return func() bool { return c.forget(a) }
}

// forget takes a function back, and reports whether it was still waiting.
func (c *requestContext) forget(a *afterFunc) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.after, a)
	if i < 0 {
		return false
	}
	c.after = slices.Delete(c.after, i, i+1)
	return true
}

// lock locks the context, which ends with its client and its parent from the
// first time on.
func (c *requestContext) lock() *sync.Mutex {
	c.mu.Lock()
	switch {
	case c.state.CompareAndSwap(quiet, live):
		if parent := c.conn.ctx; parent.Done() != nil {
			c.stop = context.AfterFunc(parent, func() { c.end(parent.Err()) })
		}
		if c.host.OnGone(c.gone) {
			c.err = context.Canceled
		}
	case c.err == nil && c.state.Load() == over:
		c.err = context.Canceled
	}
	return &c.mu
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
	stop, after := c.stop, c.after
	c.stop, c.after = nil, nil
	if c.err == nil {
		c.err = err
		if c.done != nil {
			close(c.done)
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
