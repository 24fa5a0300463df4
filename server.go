package redline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/http1"
	"github.com/redline-go/redline/internal/transport"
)

// ErrServerClosed is returned by the serving methods after Shutdown or Close.
var ErrServerClosed = errors.New("redline: server closed")

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
	DefaultReadTimeout       = 30 * time.Second
	DefaultWriteTimeout      = 30 * time.Second
	DefaultIdleTimeout       = 75 * time.Second
	DefaultWriteBuffer       = 64 << 10
	DefaultMaxConns          = 100_000
)

// A Server serves HTTP/1.1. Its fields are read when it starts to serve and must
// not be changed afterwards. In every duration and bound, zero means the default
// and a negative value means none.
type Server struct {
	// Addr is the TCP address of ListenAndServe, host:port; ":8080" when empty.
	// "unix:/path" is a Unix socket.
	Addr string
	// Native answers requests. A [Router]'s Serve is one.
	Native Handler

	// Transport is one of Auto (also when empty), Uring, Epoll and Std.
	Transport string
	// Loops is the number of event loops; 0 means runtime.GOMAXPROCS, which
	// follows the affinity mask and the cgroup's quota.
	Loops int
	// CPUs pins the loops to these CPUs, in turn. Empty leaves the placement to
	// the kernel, within the process's affinity mask.
	CPUs []int

	// Limits bounds requests.
	Limits Limits
	// ReadHeaderTimeout is for a request's head: from accept for the first, from
	// its first byte for later ones.
	ReadHeaderTimeout time.Duration
	// ReadTimeout is for each wait for content of a request: not for the whole,
	// so that a slow upload that moves is let live.
	ReadTimeout time.Duration
	// WriteTimeout is for each wait for the client to take output.
	WriteTimeout time.Duration
	// IdleTimeout is how long a connection is kept between requests.
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
	// Refused, if set, is told of requests that were answered without the
	// handler because they are malformed or exceed a limit. It is called on an
	// event loop and must not block.
	Refused func(remote net.Addr, status int, reason string)
	// ConnState, if set, is told when a connection changes its state. It is
	// called on an event loop and must not block.
	ConnState func(remote net.Addr, s ConnState)

	mu       sync.Mutex
	t        transport.Transport
	chosen   string
	learns   bool // the transport has loops, which handlers can hold up
	stopping atomic.Bool
	stopped  chan struct{} // closed when stopping is set; nil until somebody asks
	running  bool
	closed   bool
	closing  sync.Once
	counters counters
	routes   []*route // of the routers that have served, for Stats
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
	return t.Listen(network, addr, transport.ListenOptions{FastOpen: s.FastOpen, DeferAccept: s.DeferAccept})
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
		addr = ":8080"
	}
	if _, err := s.Listen(addr); err != nil {
		return err
	}
	return s.Run()
}

// Serve serves on a given listener until Shutdown or Close. The listener stays
// the caller's, open; closing it does not end Serve.
func (s *Server) Serve(l net.Listener) error {
	t, err := s.start()
	if err != nil {
		return err
	}
	if err := t.Adopt(l); err != nil {
		return err
	}
	return s.Run()
}

// Run serves what Listen opened, until Shutdown or Close.
func (s *Server) Run() error {
	t, err := s.start()
	if err != nil {
		return err
	}
	s.mu.Lock()
	again := s.running
	s.running = true
	s.mu.Unlock()
	if again {
		return errRunning
	}
	err = t.Serve()
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
	case s.Native == nil:
		return nil, errors.New("redline: Server.Native is nil: there is no handler")
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
		Handler: (*dispatcher)(s), Limits: s.Limits, Closed: transport.ErrClosed, Server: s.Name,
		HeaderTimeout: orDefault(s.ReadHeaderTimeout, DefaultReadHeaderTimeout),
		ReadTimeout:   orDefault(s.ReadTimeout, DefaultReadTimeout),
		WriteTimeout:  orDefault(s.WriteTimeout, DefaultWriteTimeout),
		IdleTimeout:   orDefault(s.IdleTimeout, DefaultIdleTimeout),
		HighWater:     s.writeBuffer(),
		Stopping:      s.stopping.Load,
		Refused: func(remote net.Addr, status int, reason string) {
			s.counters.refused.Add(1)
			if s.Refused != nil {
				s.Refused(remote, status, reason)
			}
		},
	}
	if s.ConnState != nil {
		cfg.State = func(remote net.Addr, state http1.State) { s.ConnState(remote, ConnState(state)) }
	}
	return cfg
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

const (
	// shutdownPoll is how often Shutdown looks whether the last connection is
	// gone.
	shutdownPoll = 5 * time.Millisecond
	// shutdownSweep is how often it closes idle connections, and how long it
	// waits for those that are busy to be looked at.
	shutdownSweep = 100 * time.Millisecond
	// shutdownFresh is how long a connection that was just accepted may take to
	// send its first request before it counts as idle: its client was not
	// refused, and should not be cut off.
	shutdownFresh = 2 * time.Second
)

// Shutdown ends the server gracefully: no connection is accepted any more, idle
// ones are closed, exchanges in progress end and close theirs; streams are told
// by [Server.Stopping]. When ctx is done first, what is left is cut and its error
// returned. Hijacked connections are not touched.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	t := s.transport()
	if t == nil {
		s.refuseStart()
		return nil
	}
	t.StopAccepting()
	tick := time.NewTicker(shutdownPoll)
	defer tick.Stop()
	began := time.Now()
	var swept time.Time
	for t.Stats().Open > 0 {
		if now := time.Now(); now.Sub(swept) >= shutdownSweep {
			swept = now
			sweep(ctx, t, now.Sub(began) >= shutdownFresh)
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("shut down with %d connections open: %w", t.Stats().Open, ctx.Err()), s.Close())
		case <-tick.C:
		}
	}
	return s.Close()
}

// sweep closes the connections that are idle, those that have not had a request
// yet only if fresh is set.
func sweep(ctx context.Context, t transport.Transport, fresh bool) {
	ctx, cancel := context.WithTimeout(ctx, shutdownSweep)
	defer cancel()
	t.Each(func(session transport.Session, _ *buf.Queue) error {
		if h := session.(*http1.Session); h.Idle() && (fresh || !h.Fresh()) {
			return transport.ErrClosed
		}
		return nil
	}, ctx.Done())
}

// Stopping returns a channel that is closed when Shutdown or Close is called. A
// [Stream] that would go on for ever ends when it is: Shutdown waits for it.
func (s *Server) Stopping() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped == nil {
		s.stopped = make(chan struct{})
		if s.stopping.Load() {
			close(s.stopped)
		}
	}
	return s.stopped
}

func (s *Server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopping.Swap(true) && s.stopped != nil {
		close(s.stopped)
	}
}

// Close ends the server at once: listeners and connections are closed, and the
// contexts of exchanges in progress cancelled. It does not wait for handlers.
func (s *Server) Close() error {
	s.stop()
	t := s.transport()
	s.refuseStart()
	if t == nil {
		return nil
	}
	var err error
	s.closing.Do(func() { err = t.Close() })
	return err
}

func (s *Server) transport() transport.Transport {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.t
}

func (s *Server) refuseStart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// ConnState is the state of a connection, as in net/http.
type ConnState int

// The states of a connection.
const (
	StateNew      = ConnState(http1.StateNew)      // accepted
	StateActive   = ConnState(http1.StateActive)   // a request's head has come
	StateIdle     = ConnState(http1.StateIdle)     // between requests
	StateHijacked = ConnState(http1.StateHijacked) // no longer the server's
	StateClosed   = ConnState(http1.StateClosed)
)

// String returns the state's name.
func (c ConnState) String() string {
	return [...]string{"new", "active", "idle", "hijacked", "closed"}[c]
}
