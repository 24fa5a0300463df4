package redline

import (
	"context"
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

// A Transport names what moves bytes between sockets and handlers. The empty one is
// [TransportAuto].
type Transport string

// The transports that a Server can be asked for.
const (
	// TransportAuto is the best that this system allows: io_uring, or else epoll, or
	// else std. Where there is a choice, the Logger is told what it was, and why.
	TransportAuto Transport = "auto"
	// TransportUring is event loops on io_uring. It needs Linux 6.0 or newer, and a
	// container that does not forbid io_uring.
	TransportUring Transport = "uring"
	// TransportEpoll is event loops on epoll. It needs Linux.
	TransportEpoll Transport = "epoll"
	// TransportStd is Go's own poller, with two goroutines a connection, on every
	// system. It alone serves listeners with an Accept of their own.
	TransportStd Transport = "std"
)

// Limits bounds what one request may cost, before and while its handler runs. In
// every field zero means the default, which is safe on the open internet. Requests
// beyond a limit are answered without the handler where that has not begun, and
// counted in Stats.Refused; [Server.Refused] is told.
type Limits struct {
	// MaxHeadBytes bounds the request line and the header section together, in
	// bytes, line ends included: 431 beyond it. Default 64 KiB.
	MaxHeadBytes int
	// MaxFields bounds the number of field lines of a header section, and on their
	// own those of a trailer section: 431 beyond it. Default 128, at most 65,535.
	MaxFields int
	// MaxTargetBytes bounds the request target in bytes: 414 beyond it. Default
	// 8 KiB, which RFC 9112, 3 recommends as the least to support.
	MaxTargetBytes int
	// MaxBodyBytes bounds the content of a request in bytes, before any content
	// coding is undone: 413 beyond it, at the head when Content-Length says so, and
	// else when the handler has read that far ([ErrBodyTooLong]). Default 32 MiB;
	// negative means no limit. See also [Server.Limits].
	MaxBodyBytes int64
	// MaxTrailerBytes bounds a trailer section in bytes: 431 beyond it. Default
	// 8 KiB.
	MaxTrailerBytes int
	// MaxChunkExtBytes bounds what follows the size on one chunk line, in bytes
	// without the line end: 400 beyond it. Default 256.
	MaxChunkExtBytes int
	// MaxChunkOverhead bounds the framing of a chunked body that its content does
	// not justify, in bytes: 400 beyond it (CVE-2023-39326). Each chunk line adds
	// its length and each chunk takes off 16 bytes and twice its content, never
	// below zero. Default 16 KiB.
	MaxChunkOverhead int
}

// The sessions' limits have the same fields, or this does not compile.
var _ = exchange.Limits(Limits{})

// Defaults of a Server's deadlines and bounds: see its fields.
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
	// "unix:/path" is a Unix socket; its file is removed when the server ends.
	Addr string
	// Handler answers requests; nil means http.DefaultServeMux.
	Handler http.Handler
	// Native answers requests in place of Handler. A [Router]'s Serve is one; an
	// http.Handler becomes one by [HTTP] or [Router.Mount].
	Native HandlerFunc

	// Transport is what the server runs on; empty means TransportAuto.
	Transport Transport
	// Loops is the number of event loops; 0 means runtime.GOMAXPROCS, which
	// follows the affinity mask and the cgroup's quota.
	Loops int
	// CPUs pins the loops to these CPUs, in turn, which the process's affinity mask
	// has to allow. Empty leaves the placement to the kernel, within that mask.
	// TransportStd has no loops, so that Loops and CPUs do nothing there.
	CPUs []int

	// Limits bounds requests. With Handler, Limits.MaxBodyBytes has no default:
	// bodies are read as they come, and http.MaxBytesReader bounds them.
	Limits Limits
	// MaxHeaderBytes bounds a request's head as net/http does, which lets it be
	// 4096 bytes longer than this says: 431 beyond that. It is used when
	// Limits.MaxHeadBytes is zero, which is exact. When it is zero too, or
	// negative, the default holds, which is smaller than net/http's, see there.
	MaxHeaderBytes int

	// ReadHeaderTimeout is for a request's head: from accept for the first, from
	// its first byte for later ones; 408 beyond it. Unlike net/http's it has a
	// default, 10 s.
	ReadHeaderTimeout time.Duration
	// ReadTimeout is for a whole request, body included, from its first byte.
	// Zero is none.
	ReadTimeout time.Duration
	// WriteTimeout is for a whole response, from the end of the request's head. A
	// [Stream] is not bound by it once its handler has returned. Zero is none.
	WriteTimeout time.Duration
	// StallTimeout bounds how long a client that is waited for may stand still: whoever
	// moves may go on. Within each StallTimeout a client has to take 64 KiB of its
	// output, or all that is left, by what its system has acknowledged where that is
	// known; what is left behind a response may have twice the time. And within each
	// StallTimeout of waiting for content it has to send 4 KiB, or all that is left; the
	// waits of a request are added up, and the handler's own time does not count.
	// net/http has nothing like it. Default 30 s. A
	// handler that sets a deadline with http.ResponseController replaces it. A
	// client that takes nothing while the head of its next request has begun is
	// given ReadHeaderTimeout for that first, 408 behind what it does not take, and
	// then this.
	StallTimeout time.Duration
	// IdleTimeout is how long a connection is kept between requests. Its default, 75 s,
	// does not depend on ReadTimeout, as net/http's does.
	IdleTimeout time.Duration
	// WriteBuffer is how many bytes of output may wait for a client, on each
	// connection, before its handler has to, and before its next request is read.
	// [Ctx.Bytes] sends what is longer at once. Default 64 KiB.
	WriteBuffer int
	// MaxConns bounds the open connections: more wait in the kernel's backlog.
	// Default 100,000.
	MaxConns int
	// AcceptRate bounds the connections accepted a second; 0 means no bound.
	AcceptRate int

	// FastOpen is the queue length of TCP_FASTOPEN; 0 leaves it off. It and
	// DeferAccept are for sockets that the server opens, by Listen or
	// ListenAndServe: they do nothing to a listener given to Serve, and nothing on
	// TransportStd.
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

	opening sync.Mutex // held while a listener is added; before mu

	mu       sync.Mutex
	t        transport.Transport
	chosen   Transport
	learns   bool // the transport has loops, which handlers can hold up
	stopping atomic.Bool
	stopped  chan struct{} // closed when stopping is set; nil until somebody asks
	running  bool
	first    net.Listener // for BaseContext
	given    []*given     // to Serve and Adopt
	closing  sync.Once
	counters counters
	routes   []*route     // of the routers that have served, for Stats
	shapes   learn.Shapes // of the requests to Handler

	http        http.Handler    // Handler, or what nil means; nil with Native
	adapter     *nethttp.Config // what runs it, and what is mounted
	noKeepAlive atomic.Bool
	onShutdown  []func()
}

func (s *Server) sessionConfig() *http1.Config {
	cfg := &http1.Config{
		Handler: (*dispatcher)(s), Limits: exchange.Limits(s.limits()), Server: s.Name,
		HeaderTimeout: orDefault(s.ReadHeaderTimeout, DefaultReadHeaderTimeout),
		ReadTimeout:   s.ReadTimeout,
		WriteTimeout:  s.WriteTimeout,
		StallTimeout:  orDefault(s.StallTimeout, DefaultStallTimeout),
		IdleTimeout:   orDefault(s.IdleTimeout, DefaultIdleTimeout),
		HighWater:     s.writeBuffer(),
		Stopping:      s.closesConns,
		Watched:       s.ConnState != nil || s.ConnContext != nil,
		Refused: func(remote net.Addr, status int, reason string) {
			s.counters.refused.Add(1)
			if s.Refused != nil {
				defer s.hooked(func() net.Addr { return remote })
				s.Refused(remote, status, reason)
			}
		},
	}
	if s.ConnState != nil {
		cfg.State = func(h exchange.Session, state http1.State) (returned bool) {
			defer s.hooked(h.RemoteAddr)
			s.ConnState(s.adapter.Conn(h), http.ConnState(state))
			return true
		}
	}
	return cfg
}

// transportConfig is what the transport is told.
func (s *Server) transportConfig() transport.Config {
	cfg := s.sessionConfig()
	return transport.Config{
		Loops: orDefault(s.Loops, runtime.GOMAXPROCS(0)), Pin: s.CPUs,
		MaxConns: orDefault(s.MaxConns, DefaultMaxConns), AcceptRate: s.AcceptRate,
		HighWater:  s.writeBuffer(),
		NewSession: func(c transport.Conn) transport.Session { return http1.NewSession(c, cfg) },
		Log:        func(msg string, err error) { s.logger().Error(msg, "error", err) },
	}
}

// check says what is wrong with the fields.
func (s *Server) check() error {
	switch {
	case !exchange.ValidValue(s.Name):
		return fmt.Errorf("redline: Server.Name %q: %w", s.Name, exchange.ErrFieldValue)
	case s.Native != nil && s.Handler != nil:
		return errors.New("redline: Server has both Handler and Native: mount one under the other, see HTTP and Router.Mount")
	case s.Loops < 0:
		return fmt.Errorf("redline: Server.Loops is %d: say how many event loops there are to be, or 0 for one on each usable CPU", s.Loops)
	}
	if len(s.CPUs) > 0 {
		if err := checkCPUs(s.CPUs); err != nil {
			return fmt.Errorf("redline: Server.CPUs: %w: leave CPUs empty, and the kernel places the loops", err)
		}
	}
	return nil
}

// hooked keeps a panic of a hook from ending the process: it runs on a loop, for
// one connection of many. The address is asked for only then: it may wait for the
// client, where it is the client that says it (PROXY protocol).
func (s *Server) hooked(remote func() net.Addr) {
	if p := recover(); p != nil {
		s.counters.panics.Add(1)
		s.logf("http: panic serving %v: %v\n%s", remote(), p, debug.Stack())
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
