package nethttp

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"

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

	cfg  *Config
	mu   sync.Mutex
	x    *exchange.Exchange // nil when the handler has returned
	body *body              // nil when the request has none
}

// lock is taken by who writes. Where there is a body, its reader and the writer
// wait for the client with mu free: then one writes at a time, and one reads.
func (c *call) lock() {
	c.mu.Lock()
	if c.body != nil {
		c.body.turn(&c.body.writing)
	}
}

func (c *call) unlock() {
	if c.body != nil {
		c.body.done(&c.body.writing)
	}
	c.mu.Unlock()
}

// Serve runs h for the request of x, and completes its response. A handler that
// is known to block is run off the loop.
func (cfg *Config) Serve(x *exchange.Exchange, h http.Handler, blocks bool) {
	c := &call{cfg: cfg, x: x}
	x.Stands = true
	returned := false
	defer c.leave(&returned)
	if err := c.fill(cfg.Conn(x.Session)); err != nil {
		c.x, returned = nil, true
		x.Status, x.Response.Close = http.StatusBadRequest, true
		x.Lines = append(x.Lines, exchange.Line{Name: "Content-Type", Value: "text/plain; charset=utf-8"})
		x.Body = append(x.Body, "400 Bad Request"...)
		return
	}
	if blocks {
		x.Session.Release()
		x.Session.Detach()
	}
	if x.Method == exchange.MethodOptions && !cfg.Options && c.req.RequestURI == "*" {
		h = generalOptions
	}
	h.ServeHTTP(&c.writer, &c.req)
	returned = true
}

// leave ends the call, however the handler did.
func (c *call) leave(returned *bool) {
	switch {
	case !*returned:
		c.fail(recover())
	case c.x != nil:
		c.finish()
	}
	c.ctx.finish()
	if form := c.req.MultipartForm; form != nil {
		if err := form.RemoveAll(); err != nil && !os.IsNotExist(err) {
			c.cfg.Log("http: remove the files of a form: %v", err)
		}
	}
}

// fail cuts the connection of a handler that panicked, or ended its goroutine
// (then p is nil).
func (c *call) fail(p any) {
	if p != nil && p != http.ErrAbortHandler {
		c.cfg.Panicked()
		stack := make([]byte, 64<<10)
		stack = stack[:runtime.Stack(stack, false)]
		c.cfg.Log("http: panic serving %v: %v\n%s", c.req.RemoteAddr, p, stack)
	}
	c.lock()
	defer c.unlock()
	c.x.Abort()
	c.close()
}

// close takes the exchange away from whoever may still have the call, and gives
// it back to who goes on with it: middleware around a mounted handler. c is
// locked.
func (c *call) close() {
	if c.body != nil {
		if !c.x.Hijacked {
			c.body.interrupt()
		}
		c.x.Session.Share(nil)
	}
	c.x = nil
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
