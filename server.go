package redline

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"math"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/http1"
	"github.com/redline-go/redline/internal/learn"
	"github.com/redline-go/redline/internal/nethttp"
	"github.com/redline-go/redline/internal/transport"
)

// ErrServerClosed is returned by the serving methods after Shutdown or Close. It
// is net/http's, so that its callers need not be changed.
var ErrServerClosed = http.ErrServerClosed

// Limits bounds what one request may cost; see the fields. Zeros mean defaults,
// which are safe on the open internet.
type Limits = exchange.Limits

// The transports that a Server can be asked for.
const (
	Auto  = "auto"  // the best that this system allows
	Uring = "uring" // io_uring, Linux 6.1 or newer
	Epoll = "epoll" // Linux
	Std   = "std"   // Go's own poller, a goroutine a connection; every system
)

// Defaults of a Server's deadlines and bounds.
const (
	DefaultReadHeaderTimeout = 10 * time.Second
	DefaultStallTimeout      = 30 * time.Second
	DefaultIdleTimeout       = 75 * time.Second
	DefaultWriteBuffer       = 64 << 10
	DefaultMaxConns          = 100_000
)

// A Server serves HTTP/1.1, to an http.Handler or to native handlers. It has the
// fields and methods of http.Server under the same names and with the same
// meaning, and where that differs the field says so. Its fields are read when it
// starts to serve and must not be changed afterwards. In the durations and bounds
// that net/http does not have, zero means the default and a negative value none.
type Server struct {
	// Addr is the TCP address of ListenAndServe, host:port; ":http" when empty.
	// "unix:/path" is a Unix socket.
	Addr string
	// Handler answers requests; nil means http.DefaultServeMux.
	Handler http.Handler
	// Native answers requests in place of Handler. A [Router]'s Serve is one; an
	// http.Handler becomes one by [HTTP] or [Router.Mount].
	Native Handler

	// Transport is one of Auto (also when empty), Uring, Epoll and Std.
	Transport string
	// Loops is the number of event loops; 0 means runtime.GOMAXPROCS, which
	// follows the affinity mask and the cgroup's quota.
	Loops int
	// CPUs pins the loops to these CPUs, in turn. Empty leaves the placement to
	// the kernel, within the process's affinity mask.
	CPUs []int

	// Limits bounds requests. With Handler, Limits.MaxBodyBytes has no default:
	// bodies are read as they come, and http.MaxBytesReader bounds them.
	Limits Limits
	// MaxHeaderBytes is Limits.MaxHeadBytes by net/http's name, and used when
	// that is zero. The default is smaller, see there.
	MaxHeaderBytes int

	// ReadHeaderTimeout is for a request's head: from accept for the first, from
	// its first byte for later ones. Unlike net/http's it has a default.
	ReadHeaderTimeout time.Duration
	// ReadTimeout is for a whole request, body included, from its first byte.
	// Zero is none.
	ReadTimeout time.Duration
	// WriteTimeout is for a whole response, from the end of the request's head. A
	// [Stream] is not bound by it once its handler has returned. Zero is none.
	WriteTimeout time.Duration
	// StallTimeout is for each wait for content of a request, and for the client
	// to take output: whoever moves may go on. net/http has nothing like it. A
	// handler that sets a deadline with http.ResponseController replaces it.
	StallTimeout time.Duration
	// IdleTimeout is how long a connection is kept between requests. Its default
	// does not depend on ReadTimeout, as net/http's does.
	IdleTimeout time.Duration
	// WriteBuffer is how many bytes of output may wait for a client, on each
	// connection, before its handler has to.
	WriteBuffer int
	// MaxConns bounds the open connections: more wait in the kernel's backlog.
	MaxConns int
	// AcceptRate bounds the connections accepted a second; 0 means no bound.
	AcceptRate int

	// FastOpen is the queue length of TCP_FASTOPEN; 0 leaves it off.
	FastOpen int
	// DeferAccept accepts connections when their first bytes have come
	// (TCP_DEFER_ACCEPT).
	DeferAccept bool

	// Name is sent as the Server field; empty sends none.
	Name string
	// Logger is told of panics, and once of the transport; nil means
	// slog.Default().
	Logger *slog.Logger
	// ErrorLog, if set, gets what net/http would log: panics of Handler and what
	// it does wrong. If nil, Logger is told.
	ErrorLog *log.Logger
	// Refused, if set, is told of requests that were answered without the
	// handler because they are malformed or exceed a limit. It is called on an
	// event loop and must not block. A panic is logged, with its stack.
	Refused func(remote net.Addr, status int, reason string)
	// ConnState, if set, is told when a connection changes its state. It is
	// called on an event loop and must not block. The connection has addresses
	// and can be closed, no more. A panic is logged, with its stack, and ends the
	// connection; at StateNew and StateClosed it would end a process of net/http.
	ConnState func(c net.Conn, s http.ConnState)
	// BaseContext returns the context from which those of all requests to
	// Handler are derived; nil means context.Background(). It is called once.
	BaseContext func(l net.Listener) context.Context
	// ConnContext derives from it the context of the requests of a connection,
	// when the first of them comes. The connection is as for ConnState.
	ConnContext func(ctx context.Context, c net.Conn) context.Context
	// DisableGeneralOptionsHandler has Handler answer OPTIONS *, which gets 200
	// otherwise.
	DisableGeneralOptionsHandler bool
	// TLSConfig is reserved: a server that has one does not start.
	TLSConfig *tls.Config

	mu       sync.Mutex
	t        transport.Transport
	chosen   string
	learns   bool // the transport has loops, which handlers can hold up
	stopping atomic.Bool
	stopped  chan struct{} // closed when stopping is set; nil until somebody asks
	running  bool
	first    net.Listener   // for BaseContext
	given    []net.Listener // to Serve and Adopt
	closed   bool
	closing  sync.Once
	counters counters
	routes   []*route     // of the routers that have served, for Stats
	shapes   learn.Shapes // of the requests to Handler

	http        http.Handler    // Handler, or what nil means; nil with Native
	adapter     *nethttp.Config // what runs it, and what is mounted
	noKeepAlive atomic.Bool
	onShutdown  []func()
}

// Listen opens the listening socket of addr, host:port or "unix:/path", and
// returns its address. It may be called more than once, before Serve or Run. A
// server that has listened and never runs is to be closed.
func (s *Server) Listen(addr string) (net.Addr, error) {
	t, err := s.start()
	if err != nil {
		return nil, err
	}
	network := "tcp"
	if path, ok := cutPrefix(addr, "unix:"); ok {
		network, addr = "unix", path
	}
	at, err := t.Listen(network, addr, transport.ListenOptions{FastOpen: s.FastOpen, DeferAccept: s.DeferAccept})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		s.first = listening{at}
	}
	return at, nil
}

func cutPrefix(s, prefix string) (string, bool) {
	if len(s) > len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):], true
	}
	return s, false
}

// ListenAndServe listens on Addr and serves until Shutdown or Close; then it
// returns ErrServerClosed.
func (s *Server) ListenAndServe() error {
	addr := s.Addr
	if addr == "" {
		addr = ":http"
	}
	if _, err := s.Listen(addr); err != nil {
		return err
	}
	return s.Run()
}

// Adopt has the server serve on a given listener, as Listen does on an address:
// more than once, before Run. When it returns nil, everything that could have kept
// the server from serving there has been done, and Run has only to be called: for a
// process that tells another by [Ready] that it may go. The listener is closed by
// Shutdown and Close; on an error it stays the caller's.
func (s *Server) Adopt(l net.Listener) error {
	t, err := s.start()
	if err != nil {
		return err
	}
	if err := t.Adopt(l); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Load() {
		return ErrServerClosed
	}
	s.given = append(s.given, l)
	if s.first == nil {
		s.first = l
	}
	return nil
}

// Serve serves on a given listener until Shutdown or Close, and closes it before
// it returns: Adopt and Run. Closing it from elsewhere does not end Serve.
func (s *Server) Serve(l net.Listener) error {
	defer l.Close() // its descriptors were duplicated: nothing depends on it
	if err := s.Adopt(l); err != nil {
		return err
	}
	return s.Run()
}

// Run serves what Listen opened and Adopt was given, until Shutdown or Close. As in net/http it
// returns at once when one of them is called: a program that is to let requests
// end waits for Shutdown to return.
func (s *Server) Run() error {
	t, err := s.start()
	if err != nil {
		return err
	}
	s.mu.Lock()
	again, first := s.running, s.first
	s.running = true
	s.mu.Unlock()
	if again {
		return errRunning
	}
	if s.BaseContext != nil {
		if s.adapter.Base = s.BaseContext(first); s.adapter.Base == nil {
			panic("BaseContext returned a nil context")
		}
	}
	served := make(chan error, 1)
	go func() { served <- t.Serve() }()
	select {
	case err = <-served:
	case <-s.Stopping():
		return ErrServerClosed
	}
	if s.stopping.Load() && errors.Is(err, transport.ErrStopped) {
		return ErrServerClosed
	}
	return err
}

// errRunning is the answer to who listens or serves with a server that runs.
var errRunning = errors.New("redline: Server runs already: add its listeners with Listen before")

// start creates the transport on the first call, for use before the server runs.
func (s *Server) start() (transport.Transport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, ErrServerClosed
	case s.running:
		return nil, errRunning
	case s.t != nil:
		return s.t, nil
	case !exchange.ValidValue(s.Name):
		return nil, fmt.Errorf("redline: Server.Name %q: %w", s.Name, exchange.ErrFieldValue)
	case s.Native != nil && s.Handler != nil:
		return nil, errors.New("redline: Server has both Handler and Native: mount one under the other, see HTTP and Router.Mount")
	case s.TLSConfig != nil:
		return nil, errors.New("redline: Server.TLSConfig is reserved: this version speaks no TLS, put a proxy in front or leave it nil")
	}
	s.adapter = s.newAdapter()
	if s.Native == nil {
		s.http = s.handler()
	}
	cfg := s.sessionConfig()
	t, chosen, err := newTransport(s.Transport, transport.Config{
		Loops: orDefault(s.Loops, runtime.GOMAXPROCS(0)), Pin: s.CPUs,
		MaxConns: orDefault(s.MaxConns, DefaultMaxConns), AcceptRate: s.AcceptRate,
		NewSession: func(c transport.Conn) transport.Session { return http1.NewSession(c, cfg) },
		Log:        func(msg string, err error) { s.logger().Error(msg, "error", err) },
	}, s.logger())
	if err != nil {
		return nil, err
	}
	s.t, s.chosen, s.learns = t, chosen, chosen != Std
	return t, nil
}

func (s *Server) sessionConfig() *http1.Config {
	cfg := &http1.Config{
		Handler: (*dispatcher)(s), Limits: s.limits(), Closed: transport.ErrClosed, Late: transport.ErrDeadline, Server: s.Name,
		HeaderTimeout: orDefault(s.ReadHeaderTimeout, DefaultReadHeaderTimeout),
		ReadTimeout:   s.ReadTimeout,
		WriteTimeout:  s.WriteTimeout,
		StallTimeout:  orDefault(s.StallTimeout, DefaultStallTimeout),
		IdleTimeout:   orDefault(s.IdleTimeout, DefaultIdleTimeout),
		HighWater:     s.writeBuffer(),
		Stopping:      s.closesConns,
		Refused: func(remote net.Addr, status int, reason string) {
			s.counters.refused.Add(1)
			if s.Refused != nil {
				defer s.hooked(remote)
				s.Refused(remote, status, reason)
			}
		},
	}
	if s.ConnState != nil {
		cfg.State = func(h exchange.Host, state http1.State) (returned bool) {
			defer s.hooked(h.RemoteAddr())
			s.ConnState(s.adapter.Conn(h), http.ConnState(state))
			return true
		}
	}
	return cfg
}

// hooked keeps a panic of a hook from ending the process: it runs on a loop, for
// one connection of many.
func (s *Server) hooked(remote net.Addr) {
	if p := recover(); p != nil {
		s.counters.panics.Add(1)
		s.logf("http: panic serving %v: %v\n%s", remote, p, debug.Stack())
	}
}

// writeBuffer is WriteBuffer, written out.
func (s *Server) writeBuffer() int {
	if s.WriteBuffer < 0 {
		return math.MaxInt
	}
	return orDefault(s.WriteBuffer, DefaultWriteBuffer)
}

// orDefault replaces zero by the default, and a negative value by zero, which is
// none to those who get it.
func orDefault[T int | time.Duration](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return max(v, 0)
}

func (s *Server) logger() *slog.Logger {
	if s.Logger != nil {
		return s.Logger
	}
	return slog.Default()
}
