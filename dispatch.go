package redline

import (
	"net/http"
	"runtime/debug"

	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/learn"
)

// A HandlerFunc answers one request. It may block.
type HandlerFunc func(*Ctx)

// dispatcher is the server in its role as handler of the sessions.
type dispatcher Server

// handles is how many Ctx are allocated at once: 8 bytes per request.
const handles = 128

// A frame is attached to an exchange for handlers. It is reused together with the exchange;
// the Ctx that it hands out are not.
type frame struct {
	server  *Server
	ctxs    []Ctx
	route   *route
	inline  bool // the handler is not to be learned
	params  params
	recent  *route // the route of this exchange's last answer, if its path is literal,
	by      *Router
	method  exchange.Method // under this known method; MethodOther if there is none yet
	cancel  *requestContext
	asked   bool // the context has been requested
	streams bool // the response continues as a Stream
	values  map[any]any
}

// next returns a Ctx that has never been handed out. Reusing one would make a stale pointer
// to it valid, which must never happen.
func (f *frame) next() *Ctx {
	if len(f.ctxs) == 0 {
		f.ctxs = make([]Ctx, handles)
	}
	c := &f.ctxs[0]
	f.ctxs = f.ctxs[1:]
	return c
}

// ServeExchange implements exchange.Handler.
func (d *dispatcher) ServeExchange(x *exchange.Exchange) {
	if d.http != nil {
		d.serveHTTP(x)
		return
	}
	if x.Preface() { // for an http.Handler, which may speak HTTP/2 itself as under net/http
		x.Status, x.Lines = http.StatusHTTPVersionNotSupported, append(x.Lines, plainText)
		x.Body = append(x.Body, "HTTP version not supported\n"...)
		return
	}
	d.serve(x, d.Native)
}

// serve runs a native handler.
func (d *dispatcher) serve(x *exchange.Exchange, h HandlerFunc) {
	f, ok := x.Local.(*frame)
	if !ok {
		f = &frame{server: (*Server)(d)}
		x.Local = f
	}
	f.server = (*Server)(d) // exchanges are pooled across servers
	c := f.next()
	c.x = x
	defer d.leave(c, f)
	h(c)
}

// leave invalidates the Ctx, and answers for a handler that panicked.
func (d *dispatcher) leave(c *Ctx, f *frame) {
	if p := recover(); p != nil {
		d.panicked(c, f, p)
	}
	if d.learns && f.route != nil && !f.inline {
		f.route.habit.Held(c.x.Session.Held())
	}
	if f.cancel != nil && (!f.streams || c.x.Aborted || c.x.Hijacked) {
		f.cancel.finish()
	}
	c.x = nil
	f.route, f.values, f.cancel = nil, nil, nil
	f.streams, f.asked, f.inline = false, false, false
	f.params.reset()
}

// panicked logs a handler's panic and answers 500, or cuts an answer that has begun.
func (d *dispatcher) panicked(c *Ctx, f *frame, p any) {
	s := (*Server)(d)
	s.counters.panics.Add(1)
	x := c.x
	if p != ErrAbort {
		s.logger().Error("handler panicked",
			"panic", p, "method", string(x.MethodBytes()), "path", string(x.PathBytes()),
			"remote", x.Session.RemoteAddr(), "stack", string(debug.Stack()))
	}
	if x.HeadSent || x.Hijacked || f.streams || x.Subscribed || p == ErrAbort {
		x.Abort()
		return
	}
	x.ResetResponse()
	x.Status, x.Response.Close = 500, x.Version < exchange.HTTP2
	x.Lines = append(x.Lines, plainText)
	x.Body = append(x.Body, "Internal Server Error\n"...)
}

// A route is a handler with what has been learned about it.
type route struct {
	method, pattern string
	handler         HandlerFunc
	names           []string // of the pattern

	habit learn.Habit
	watch learn.Watch // tells habit
}

// serve runs the handler, off the loop if it is known to block.
func (r *route) serve(c *Ctx) {
	x := c.x
	if !r.habit.Blocks() {
		x.Session.Watch(&r.watch)
		r.handler(c)
		return
	}
	r.habit.Begin()
	defer func() { r.habit.Ran(x.Session.Stretch()) }() // also if it panics
	x.Session.Detach()
	x.Session.Stretch() // timing starts here
	r.handler(c)
}

// Blocking returns h as a handler that starts off the event loop. Use it for a handler that
// is known to block, so that nothing has to be learned.
func Blocking(h HandlerFunc) HandlerFunc {
	return func(c *Ctx) {
		c.exchange().Session.Detach()
		h(c)
	}
}

// Inline returns h as a handler that is never learned to block. Use it for a handler whose
// rare delays do not matter.
func Inline(h HandlerFunc) HandlerFunc {
	return func(c *Ctx) {
		c.frame().inline = true
		c.exchange().Session.Watch(nil)
		h(c)
	}
}
