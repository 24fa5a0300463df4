package redline

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"strings"

	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/nethttp"
)

// HTTP returns h as a native handler. h behaves as under net/http. The Ctx must not be used
// while h runs; after that, the calling handler may continue to use the Ctx, but not memory
// that it borrowed before.
func HTTP(h http.Handler) HandlerFunc {
	return func(c *Ctx) {
		x := c.exchange()
		x.Local.(*frame).server.adapter.Serve(x, h, nethttp.Known)
	}
}

// guests takes the place of the server for native handlers that run under another one.
var guests = func() *Server {
	s := new(Server)
	s.adapter = s.newAdapter()
	return s
}()

// ServeHTTP implements http.Handler: it runs h under any net/http server, for a service
// that migrates one handler at a time, and in tests with net/http/httptest.
func (h HandlerFunc) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g := nethttp.NewGuest(w, r)
	(*dispatcher)(guests).serve(&g.X, h)
	g.Finish()
}

// Mount adds an http.Handler for every method and every path below prefix, which is a
// pattern without a rest. The handler sees paths with the prefix; see http.StripPrefix.
func (r *Router) Mount(prefix string, h http.Handler) {
	native := HTTP(h)
	prefix = strings.TrimSuffix(prefix, "/")
	if prefix != "" {
		r.Handle("", prefix, native)
	}
	r.Handle("", prefix+"/{"+mounted+"...}", native)
}

// mounted is the name of the rest parameter of a mounted path.
const mounted = "mounted"

// newAdapter creates the adapter that runs http.Handlers on exchanges.
func (s *Server) newAdapter() *nethttp.Config {
	return &nethttp.Config{
		Server: s.twin(), Owner: s, Base: context.Background(), ConnContext: s.ConnContext,
		Options: s.DisableGeneralOptionsHandler, Log: s.logf,
		Panicked: func() { s.counters.panics.Add(1) }, Overran: s.shapes.Overran,
	}
}

// twin is the http.Server that handlers find in their context: it has the settings of this
// server, and does not run.
func (s *Server) twin() *http.Server {
	return &http.Server{
		Addr: s.Addr, Handler: s.handler(), DisableGeneralOptionsHandler: s.DisableGeneralOptionsHandler,
		ReadTimeout: s.ReadTimeout, ReadHeaderTimeout: s.ReadHeaderTimeout, WriteTimeout: s.WriteTimeout,
		IdleTimeout: s.IdleTimeout, MaxHeaderBytes: s.MaxHeaderBytes, ErrorLog: s.ErrorLog,
		BaseContext: s.BaseContext, ConnContext: s.ConnContext, ConnState: s.ConnState,
	}
}

func (s *Server) handler() http.Handler {
	if s.Handler == nil {
		return http.DefaultServeMux
	}
	return s.Handler
}

// logf logs what net/http would write to ErrorLog.
func (s *Server) logf(format string, args ...any) {
	if s.ErrorLog != nil {
		s.ErrorLog.Printf(format, args...)
		return
	}
	s.logger().Error(fmt.Sprintf(format, args...))
}

// headSlop is how many bytes more than MaxHeaderBytes net/http accepts for a head.
const headSlop = 4096

// limits returns the Limits with the settings of net/http applied.
func (s *Server) limits() Limits {
	l := s.Limits
	if l.MaxHeadBytes == 0 && s.MaxHeaderBytes > 0 {
		l.MaxHeadBytes = min(s.MaxHeaderBytes, math.MaxInt32-headSlop) + headSlop
	}
	if l.MaxBodyBytes == 0 && s.Native == nil {
		l.MaxBodyBytes = -1
	}
	return l
}

// serveHTTP runs the server's http.Handler, off the loop if similar requests are known to
// block.
func (d *dispatcher) serveHTTP(x *exchange.Exchange) {
	s := (*Server)(d)
	if !d.learns {
		s.adapter.Serve(x, d.http, nethttp.Known)
		return
	}
	habit := s.shapes.Find(x.MethodBytes(), x.PathBytes())
	if habit == nil {
		s.adapter.Serve(x, d.http, nethttp.Unknown)
		s.shapes.Held(x.MethodBytes(), x.PathBytes(), x.Session.Held())
		return
	}
	habit.Begin()
	defer func() { s.shapes.Ran(habit, x.Session.Stretch()) }() // also if it ends its goroutine
	s.adapter.Serve(x, d.http, nethttp.Blocks)
}

// listening is a listener that has an address, for BaseContext.
type listening struct{ addr net.Addr }

// Addr implements net.Listener.
func (l listening) Addr() net.Addr { return l.addr }

// Accept implements net.Listener: the server accepts.
func (l listening) Accept() (net.Conn, error) { return nil, net.ErrClosed }

// Close implements net.Listener: see [Server.Shutdown].
func (l listening) Close() error { return net.ErrClosed }
