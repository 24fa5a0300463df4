package nethttp

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/learn"
)

// Config is shared by the handlers of one server. Its fields must not change while the
// server serves.
type Config struct {
	// Server is the value of http.ServerContextKey.
	Server *http.Server
	// Owner is passed to the function of Exchange.
	Owner any
	// Base is the parent of every request's context.
	Base context.Context
	// ConnContext, if not nil, derives the context of a connection's requests.
	ConnContext func(ctx context.Context, c net.Conn) context.Context
	// Options means that the handler answers OPTIONS *.
	Options bool
	// Log logs what net/http would write to Server.ErrorLog.
	Log func(format string, args ...any)
	// Panicked counts a panic other than http.ErrAbortHandler.
	Panicked func()
	// Overran is called for a request whose loop was taken over because its handler, about
	// which nothing is known, has not returned. It must not block.
	Overran func(method, path []byte)
}

// A call is one request with its response, as used by a handler.
//
// Handlers pass parts of it to other goroutines, so all code that uses the exchange holds
// mu, and finds x nil when the handler has returned.
type call struct {
	watch  learn.Watch // must be first: it is cast back
	req    http.Request
	url    url.URL
	ctx    requestContext
	writer hijackable

	mu   sync.Mutex
	x    *exchange.Exchange // nil after the handler has returned
	body *body              // nil if the request has none
}

// turns are those of the goroutines that use one exchange: one at a time reads and one
// writes, and both may wait for the client with the call's lock released. The lock guards
// them.
type turns struct{ reading, writing bool }

// take waits until *busy is false, and sets it; done clears it. c.mu is held.
func (c *call) take(busy *bool) {
	for *busy {
		r := c.writer.needs()
		if r.free == nil {
			r.free = sync.NewCond(&c.mu)
		}
		r.free.Wait()
	}
	*busy = true
}

func (c *call) done(busy *bool) {
	*busy = false
	if r := c.writer.rare; r != nil && r.free != nil {
		r.free.Broadcast()
	}
}

// lock is used by writers. Code that only changes a setting of the exchange, such as a
// deadline, takes only c.mu: it must not wait for a writer that waits for the client.
func (c *call) lock() {
	c.mu.Lock()
	c.take(&c.ctx.turns.writing)
}

func (c *call) unlock() {
	c.done(&c.ctx.turns.writing)
	c.mu.Unlock()
}

// An ending is how a call ends.
type ending uint8

const (
	abandoned ending = iota // the handler has panicked, or ended its goroutine
	refused                 // the handler was not called
	returned
)

// A Habit is what is known about a handler.
type Habit uint8

const (
	Known   Habit = iota // nothing is to be learned
	Unknown              // it is to be learned whether it blocks
	Blocks               // it is run off the loop
)

// Serve runs h for the request of x, and completes its response.
//
// From the first line on, the exchange is shared by all code that holds the call's lock,
// and giveBack ends that in every case.
func (cfg *Config) Serve(x *exchange.Exchange, h http.Handler, habit Habit) {
	c := &call{x: x}
	var how ending
	x.Session.Share(&c.mu)
	defer c.leave(cfg, &how)
	x.Stands = true
	if err := c.fill(cfg.Conn(x.Session.Connection())); err != nil {
		how = refused
		return
	}
	switch habit { // no other goroutine has the call yet
	case Blocks:
		x.Session.Release()
		x.Session.Detach()
		x.Session.Stretch() // timing starts here
	case Unknown:
		c.watch.Overran = overran
		x.Session.Watch(&c.watch)
	}
	if x.Method == exchange.MethodOptions && !cfg.Options && c.req.RequestURI == "*" {
		h = generalOptions
	}
	h.ServeHTTP(c.responseWriter(), &c.req)
	how = returned
}

// responseWriter is the writer in the form that the handler gets. A stream of HTTP/2 cannot
// be hijacked, and handlers tell by the type, as under net/http.
func (c *call) responseWriter() http.ResponseWriter {
	if c.x.Version >= exchange.HTTP2 && !c.x.Preface() {
		return &c.writer.writer
	}
	return &c.writer
}

// overran is told by a call's watch, by another goroutine than the handler's.
func overran(w *learn.Watch) {
	c := (*call)(unsafe.Pointer(w))
	if !c.mu.TryLock() {
		return // it is not the handler that runs
	}
	defer c.mu.Unlock()
	if c.x != nil {
		c.ctx.conn.cfg.Overran(c.x.MethodBytes(), c.x.PathBytes())
	}
}

// leave ends the call, even if a hook that it calls panics.
func (c *call) leave(cfg *Config, how *ending) {
	defer c.end(how)
	if *how == abandoned {
		c.report(cfg, recover())
	}
}

// report logs the panic of a handler; p is nil if the handler has ended its goroutine.
func (c *call) report(cfg *Config, p any) {
	if p == nil || p == http.ErrAbortHandler {
		return
	}
	cfg.Panicked()
	remote := c.req.RemoteAddr
	if remote == "" { // the panic was in a hook: there is no request yet
		remote = fmt.Sprint(c.x.Session.RemoteAddr())
	}
	stack := make([]byte, 64<<10)
	stack = stack[:runtime.Stack(stack, false)]
	cfg.Log("http: panic serving %v: %v\n%s", remote, p, stack)
}

// end completes the response, or cuts its connection, and returns the exchange.
func (c *call) end(how *ending) {
	defer c.forget()
	c.mu.Lock()
	if *how == abandoned && c.ctx.turns.writing && !c.x.Hijacked {
		c.x.Session.SetWriteDeadline(past) // nothing waits for a client that is cut
	}
	c.take(&c.ctx.turns.writing)
	defer c.giveBack()
	switch *how {
	case abandoned:
		c.x.Abort()
	case refused:
		c.refuse()
	case returned:
		if !c.x.Hijacked {
			c.writer.finish()
		}
	}
}

// refuse answers a request from which no net/http request can be made.
func (c *call) refuse() {
	x := c.x
	x.Status, x.Response.Close = http.StatusBadRequest, true
	x.Response.Replace(exchange.Line{Name: "Content-Type", Value: "text/plain; charset=utf-8"})
	x.Body = append(x.Body[:0], "400 Bad Request"...)
}

// giveBack takes the exchange away from any goroutine that may still have the call, and
// returns it to the code that uses it next: the session, or middleware around a mounted
// handler. c is locked.
func (c *call) giveBack() {
	defer c.unlock()
	if !c.x.Hijacked {
		c.interrupt()
	}
	c.x.Session.Share(nil)
	c.x = nil
}

// past is a deadline that ends every wait.
var past = time.Unix(1, 0)

// interrupt ends a Read that waits for the client, and returns when it has ended. c.mu is
// held.
func (c *call) interrupt() {
	if !c.ctx.turns.reading {
		return
	}
	c.x.Session.SetReadDeadline(past)
	c.take(&c.ctx.turns.reading)
	c.done(&c.ctx.turns.reading)
}

// forget releases what the request holds.
func (c *call) forget() {
	c.ctx.finish()
	if form := c.req.MultipartForm; form != nil {
		if err := form.RemoveAll(); err != nil && !os.IsNotExist(err) {
			c.ctx.conn.cfg.Log("http: remove the files of a form: %v", err)
		}
	}
}

// generalOptions answers OPTIONS * for the whole server.
var generalOptions http.HandlerFunc = func(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "0")
}

// caller returns the function outside of the libraries that called the writer, for a log
// message.
func caller() (function, file string, line int) {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		if !more || !strings.HasPrefix(frame.Function, ours) && !strings.HasPrefix(frame.Function, "net/http.") {
			return frame.Function, frame.File[strings.LastIndexByte(frame.File, '/')+1:], frame.Line
		}
	}
}

// ours is the prefix of the functions of this package.
const ours = "github.com/redline-go/redline/internal/nethttp."
