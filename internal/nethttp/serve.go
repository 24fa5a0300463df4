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

	"github.com/redline-go/redline/internal/exchange"
)

// Config is what the handlers of one server share. Its fields are not changed
// while it serves.
type Config struct {
	// Server is the value of http.ServerContextKey.
	Server *http.Server
	// Base is the parent of every request's context.
	Base context.Context
	// ConnContext, if not nil, derives the context of a connection's requests.
	ConnContext func(ctx context.Context, c net.Conn) context.Context
	// Options says that the handler answers OPTIONS *.
	Options bool
	// Log is told what net/http would write to Server.ErrorLog.
	Log func(format string, args ...any)
	// Panicked counts a panic that is no http.ErrAbortHandler.
	Panicked func()
}

// A call is one request in the hands of a handler, with its response.
//
// Handlers hand parts of it to other goroutines, so everything that reaches the
// exchange does it with mu held, and finds x nil when the handler has returned.
type call struct {
	req    http.Request
	url    url.URL
	ctx    requestContext
	writer writer

	cfg   *Config
	mu    sync.Mutex
	x     *exchange.Exchange // nil when the handler has returned
	body  *body              // nil when the request has none
	turns turns
}

// turns are those of the goroutines that use one exchange: one reads at a time and
// one writes, and either may wait for the client with the call's lock free. The lock
// guards them.
type turns struct{ reading, writing bool }

// take waits until nobody else does what busy says, and sets it; done clears it.
// c.mu is held.
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

// lock is taken by who writes. Who only says something about the exchange, as a
// deadline, takes c.mu alone: it must not wait for a writer who waits for the client.
func (c *call) lock() {
	c.mu.Lock()
	c.take(&c.turns.writing)
}

func (c *call) unlock() {
	c.done(&c.turns.writing)
	c.mu.Unlock()
}

// An ending is how a call ends.
type ending uint8

const (
	abandoned ending = iota // the handler has panicked, or ended its goroutine
	refused                 // it was not called
	returned
)

// Serve runs h for the request of x, and completes its response. A handler that
// is known to block is run off the loop.
//
// From the first line on the exchange is shared, by whoever has the call's lock, and
// whatever happens giveBack takes that back.
func (cfg *Config) Serve(x *exchange.Exchange, h http.Handler, blocks bool) {
	c := &call{cfg: cfg, x: x}
	var how ending
	x.Session.Share(&c.mu)
	defer c.leave(&how)
	x.Stands = true
	if err := c.fill(cfg.Conn(x.Session)); err != nil {
		how = refused
		return
	}
	if blocks { // nobody else has the call yet
		x.Session.Release()
		x.Session.Detach()
		x.Session.Stretch() // what comes from here on counts
	}
	if x.Method == exchange.MethodOptions && !cfg.Options && c.req.RequestURI == "*" {
		h = generalOptions
	}
	h.ServeHTTP(&c.writer, &c.req)
	how = returned
}

// leave ends the call. That a hook panics that is told of it changes nothing.
func (c *call) leave(how *ending) {
	defer c.end(how)
	if *how == abandoned {
		c.report(recover())
	}
}

// report tells of a handler that panicked; p is nil when it has ended its goroutine.
func (c *call) report(p any) {
	if p == nil || p == http.ErrAbortHandler {
		return
	}
	c.cfg.Panicked()
	remote := c.req.RemoteAddr
	if remote == "" { // it was a hook: there is no request yet
		remote = fmt.Sprint(c.x.Session.RemoteAddr())
	}
	stack := make([]byte, 64<<10)
	stack = stack[:runtime.Stack(stack, false)]
	c.cfg.Log("http: panic serving %v: %v\n%s", remote, p, stack)
}

// end completes the response, or has its connection cut, and gives the exchange
// back.
func (c *call) end(how *ending) {
	defer c.forget()
	c.mu.Lock()
	if *how == abandoned && c.turns.writing && !c.x.Hijacked {
		c.x.Session.SetWriteDeadline(past) // nobody waits for a client that is cut
	}
	c.take(&c.turns.writing)
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

// refuse answers a request of which none of net/http's can be made.
func (c *call) refuse() {
	x := c.x
	x.Status, x.Response.Close = http.StatusBadRequest, true
	x.Response.Replace(exchange.Line{Name: "Content-Type", Value: "text/plain; charset=utf-8"})
	x.Body = append(x.Body[:0], "400 Bad Request"...)
}

// giveBack takes the exchange away from whoever may still have the call, and gives
// it back to who goes on with it: the session, or middleware around a mounted
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

// interrupt ends a Read that waits for the client, and returns when it has. c.mu is
// held.
func (c *call) interrupt() {
	if !c.turns.reading {
		return
	}
	c.x.Session.SetReadDeadline(past)
	c.take(&c.turns.reading)
	c.done(&c.turns.reading)
}

// forget lets go of what the request holds.
func (c *call) forget() {
	c.ctx.finish()
	if form := c.req.MultipartForm; form != nil {
		if err := form.RemoveAll(); err != nil && !os.IsNotExist(err) {
			c.cfg.Log("http: remove the files of a form: %v", err)
		}
	}
}

// generalOptions answers OPTIONS * for the whole server.
var generalOptions http.HandlerFunc = func(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "0")
}

// caller returns the function outside of the libraries that called the writer,
// for a complaint.
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

// ours is how the functions of this package begin.
const ours = "github.com/redline-go/redline/internal/nethttp."
