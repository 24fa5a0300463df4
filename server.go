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

	"github.com/redline-go/redline/certs"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/learn"
	"github.com/redline-go/redline/internal/nethttp"
	"github.com/redline-go/redline/internal/tlsio"
	"github.com/redline-go/redline/internal/transport"
)

// A Transport names the implementation that moves bytes between sockets and handlers. The
// empty string means [TransportAuto].
type Transport string

// The transports of a Server.
const (
	// TransportAuto is the best that this system allows: io_uring, otherwise epoll,
	// otherwise std. If there was a choice, it is logged to Logger with the reason.
	TransportAuto Transport = "auto"
	// TransportUring is event loops on io_uring. It needs Linux 6.0 or newer, and a
	// container that does not forbid io_uring.
	TransportUring Transport = "uring"
	// TransportEpoll is event loops on epoll. It needs Linux.
	TransportEpoll Transport = "epoll"
	// TransportStd is Go's own poller, with two goroutines per connection, on every system.
	// Only this transport serves listeners through their own Accept.
	TransportStd Transport = "std"
)

// Limits bounds what one request may cost, before and while its handler runs. In every
// field zero means the default, which is safe on the open internet. A request that exceeds
// a limit is answered without the handler, if the handler has not begun, and counted in
// Stats.Refused; [Server.Refused] is called.
type Limits struct {
	// MaxHeadBytes bounds the request line and the header section together, in bytes,
	// including line ends; beyond it the answer is 431. Over HTTP/2, a compressed header
	// block of more than four times as much (at least 64 KiB, and at most 1 MiB unless
	// MaxHeadBytes is greater) ends the connection. Default 64 KiB.
	MaxHeadBytes int
	// MaxFields bounds the number of field lines of a header section, and separately those
	// of a trailer section; beyond it the answer is 431. Default 128, at most 65,535.
	MaxFields int
	// MaxTargetBytes bounds the request target in bytes; beyond it the answer is 414.
	// By default only MaxHeadBytes bounds it, as in net/http; RFC 9112, 3 recommends to
	// support at least 8,000.
	MaxTargetBytes int
	// MaxBodyBytes bounds the content of a request in bytes, before any content coding is
	// decoded; beyond it the answer is 413. It applies at the head if Content-Length
	// exceeds it, and otherwise when the handler has read that far ([ErrBodyTooLong]).
	// Default 32 MiB; negative means no limit. See also [Server.Limits].
	MaxBodyBytes int64
	// MaxTrailerBytes bounds a trailer section in bytes; beyond it the answer is 431.
	// Default 8 KiB.
	MaxTrailerBytes int
	// MaxChunkExtBytes bounds what follows the size on one chunk line, in bytes without the
	// line end; beyond it the answer is 400. Default 256.
	MaxChunkExtBytes int
	// MaxChunkOverhead bounds the framing of a chunked body that its content does not
	// justify, in bytes; beyond it the answer is 400 (CVE-2023-39326). Each chunk line adds
	// its length, and each chunk subtracts 16 bytes and twice its content, never below
	// zero. Default 16 KiB.
	MaxChunkOverhead int
}

// Compile-time check: the sessions' limits have the same fields.
var _ = exchange.Limits(Limits{})

// Defaults of a Server's deadlines and bounds: see its fields.
const (
	DefaultReadHeaderTimeout = 10 * time.Second
	DefaultStallTimeout      = 30 * time.Second
	DefaultIdleTimeout       = 75 * time.Second
	DefaultWriteBuffer       = 64 << 10
	DefaultMaxConns          = 100_000
)

// A Server serves HTTP/1.1 and HTTP/2 to an http.Handler or to native handlers. It has the fields and
// methods of http.Server under the same names and with the same meaning; where a field
// differs, its comment says so. Its fields are read when it starts to serve and must not be
// changed afterwards. In durations and bounds that net/http does not have, zero means the
// default and a negative value means none.
type Server struct {
	// Addr is the TCP address of ListenAndServe, host:port; ":http" when empty.
	// "unix:/path" is a Unix socket; its file is removed when the server ends.
	Addr string
	// Handler answers requests; nil means http.DefaultServeMux.
	Handler http.Handler
	// Native answers requests instead of Handler. It may be a [Router]'s Serve; [HTTP] and
	// [Router.Mount] turn an http.Handler into a native handler.
	Native HandlerFunc

	// Transport selects the transport; empty means TransportAuto.
	Transport Transport
	// Loops is the number of event loops; 0 means runtime.GOMAXPROCS, which
	// follows the affinity mask and the cgroup's quota.
	Loops int
	// CPUs pins the loops to these CPUs, in turn; the process's affinity mask has to allow
	// them. If empty, the kernel places the loops within that mask. TransportStd has no
	// loops: Loops and CPUs have no effect there.
	CPUs []int

	// Limits bounds requests. With Handler, Limits.MaxBodyBytes has no default: bodies are
	// read as they arrive, and http.MaxBytesReader bounds them.
	Limits Limits
	// MaxHeaderBytes bounds a request's head as in net/http, which allows 4096 bytes more
	// than this value; beyond that the answer is 431. It is used only if
	// Limits.MaxHeadBytes, which is exact, is zero. If both are zero, or this one is
	// negative, the default of Limits.MaxHeadBytes applies, which is smaller than
	// net/http's.
	MaxHeaderBytes int

	// ReadHeaderTimeout bounds the time for a request's head, measured from accept for the
	// first request and from its first byte for later ones; beyond it the answer is 408.
	// Unlike net/http's it has a default, 10 s.
	ReadHeaderTimeout time.Duration
	// ReadTimeout bounds the time for a whole request, including its body, from its first
	// byte. Zero means none.
	ReadTimeout time.Duration
	// WriteTimeout bounds the time for a whole response, from the end of the request's
	// head until the client has accepted its end. It does not apply to a [Stream] once its
	// handler has returned. Over HTTP/1 the first write behind it fails; over HTTP/2 the stream
	// is reset when it passes, whatever the handler is doing. Zero means none.
	WriteTimeout time.Duration
	// StallTimeout bounds how long the server waits for a client that makes no progress; a
	// client that makes progress may continue. Within each StallTimeout a client has to
	// accept 64 KiB of its output, or all that remains, as acknowledged by its system if
	// that is known; the output that remains after a response may take twice the time.
	// Within each StallTimeout spent waiting for content the client has to send 4 KiB, or
	// all that remains. The waits of a request are added up; the time of the handler does
	// not count. net/http has no counterpart. Default 30 s.
	//
	// A deadline set with http.ResponseController replaces StallTimeout until the handler
	// returns; after that, the earlier one counts. While output waits for the client, no other
	// deadline runs: the time of a head, or of an idle connection, begins when it was accepted.
	StallTimeout time.Duration
	// IdleTimeout is how long a connection is kept between requests. Its default, 75 s,
	// does not depend on ReadTimeout, as net/http's does.
	IdleTimeout time.Duration
	// WriteBuffer is how many bytes of output may wait for a client, on each connection,
	// before its handler has to wait, and before its next request is read. [Ctx.Bytes]
	// sends longer bodies at once. Default 64 KiB.
	WriteBuffer int
	// MaxConns bounds the number of open connections; further ones wait in the kernel's
	// backlog. Default 100,000.
	MaxConns int
	// MaxStreams bounds the number of requests that one connection of HTTP/2 may have in
	// progress, including those that the client has reset and whose handlers still run. Default
	// 250.
	MaxStreams int
	// ExtendedConnect announces and accepts extended CONNECT over HTTP/2 (RFC 8441, 3 and 4):
	// requests with the method CONNECT whose protocol is in Header[":protocol"]. Browsers with a
	// connection of HTTP/2 to the server then open every wss:// URL of it by such a request, not
	// by GET with Upgrade over HTTP/1.1. Set it only if all handlers of WebSockets understand
	// that: libraries that hijack the connection refuse it (golang/go#71128). Without it,
	// browsers open a connection of HTTP/1.1 for each WebSocket, and extended CONNECT is
	// malformed, as in net/http by default.
	ExtendedConnect bool
	// AcceptRate bounds the number of connections accepted per second; 0 means no bound.
	AcceptRate int

	// FastOpen is the queue length of TCP_FASTOPEN; 0 turns it off. FastOpen and
	// DeferAccept apply to sockets that the server opens, by Listen or ListenAndServe. They
	// have no effect on a listener given to Serve, or on TransportStd.
	FastOpen int
	// DeferAccept accepts connections only when their first bytes have arrived
	// (TCP_DEFER_ACCEPT).
	DeferAccept bool

	// TLSConfig configures TLS, for ListenTLS and the other methods with that suffix, which
	// use a copy of it. They add to NextProtos what Protocols asks for; a configuration that
	// GetConfigForClient returns names its own. Sessions are resumed and their ticket keys
	// rotated by crypto/tls.
	TLSConfig *tls.Config
	// Protocols is the set of protocols to serve; nil means HTTP/1 and, over TLS, HTTP/2. A
	// connection that speaks another one is closed, also if TLSConfig has negotiated it.
	Protocols *http.Protocols

	// Name is sent as the Server field; empty sends none.
	Name string
	// Logger logs panics, and once the choice of transport; nil means slog.Default().
	Logger *slog.Logger
	// ErrorLog, if set, gets what net/http would log: panics of Handler and its misuse of
	// the API. If nil, Logger is used.
	ErrorLog *log.Logger
	// Refused, if set, is called for requests that were answered without the handler
	// because they are malformed or exceed a limit. It is called on an event loop and must
	// not block. A panic is logged, with its stack.
	Refused func(remote net.Addr, status int, reason string)
	// ConnState, if set, is called when a connection changes its state. A connection with TLS
	// is new when its handshake is complete; if that fails, ConnState is not called for it. It is called on an
	// event loop and must not block. The connection has addresses and can be closed,
	// nothing else. A panic is logged, with its stack, and ends the connection; in
	// net/http, a panic at StateNew or StateClosed ends the process.
	ConnState func(c net.Conn, s http.ConnState)
	// BaseContext returns the context from which those of all requests to
	// Handler are derived; nil means context.Background(). It is called once.
	BaseContext func(l net.Listener) context.Context
	// ConnContext derives from it the context for the requests of a connection, when the
	// first of them arrives. The connection is limited as for ConnState.
	ConnContext func(ctx context.Context, c net.Conn) context.Context
	// DisableGeneralOptionsHandler passes OPTIONS * to Handler; otherwise it gets 200.
	DisableGeneralOptionsHandler bool

	opening sync.Mutex // held while a listener is added; locked before mu

	mu        sync.Mutex
	t         transport.Transport
	chosen    Transport
	learns    bool // the transport has loops, which handlers can block
	stopping  atomic.Bool
	stopped   chan struct{} // closed when stopping is set; nil until it is requested
	running   bool
	first     net.Listener      // for BaseContext
	given     []*given          // passed to Serve and Adopt
	reloaders []*certs.Reloader // of the files given to ListenTLS
	closing   sync.Once
	counters  counters
	loops     []*Loop      // of subscriptions
	routes    []*route     // of the routers that have served, for Stats
	shapes    learn.Shapes // of the requests to Handler

	http        http.Handler     // Handler or its default; nil with Native
	adapter     *nethttp.Config  // runs it, and mounted handlers
	sessions    *exchange.Config // of all connections
	handshakes  *tlsio.Handshakes
	noKeepAlive atomic.Bool
	idleSweeps  atomic.Uint64 // calls that close idle connections
	onShutdown  []func()
}

func (s *Server) sessionConfig() *exchange.Config {
	cfg := &exchange.Config{
		Handler: (*dispatcher)(s), Limits: exchange.Limits(s.limits()).WithDefaults(), Server: s.Name, ExtendedConnect: s.ExtendedConnect,
		HeaderTimeout: orDefault(s.ReadHeaderTimeout, DefaultReadHeaderTimeout),
		ReadTimeout:   s.ReadTimeout,
		WriteTimeout:  s.WriteTimeout,
		StallTimeout:  orDefault(s.StallTimeout, DefaultStallTimeout),
		IdleTimeout:   orDefault(s.IdleTimeout, DefaultIdleTimeout),
		HighWater:     s.writeBuffer(),
		Stopping:      s.closesConns,
		MaxStreams:    s.MaxStreams,
		Streams:       &s.counters.streams,
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
		cfg.State = func(h exchange.Conn, state exchange.State) (returned bool) {
			defer s.hooked(h.RemoteAddr)
			s.ConnState(s.adapter.Conn(h), http.ConnState(state))
			return true
		}
	}
	return cfg
}

// transportConfig is the configuration of the transport.
func (s *Server) transportConfig() transport.Config {
	s.sessions, s.handshakes = s.sessionConfig(), tlsio.NewHandshakes(0, 0)
	return transport.Config{
		Loops: orDefault(s.Loops, runtime.GOMAXPROCS(0)), Pin: s.CPUs,
		MaxConns: orDefault(s.MaxConns, DefaultMaxConns), AcceptRate: s.AcceptRate,
		HighWater:  s.writeBuffer(),
		NewSession: s.inClear(),
		Log:        func(msg string, err error) { s.logger().Error(msg, "error", err) },
	}
}

// check returns an error that describes invalid fields.
func (s *Server) check() error {
	switch {
	case !exchange.ValidValue(s.Name):
		return fmt.Errorf("redline: Server.Name %q: %w", s.Name, exchange.ErrFieldValue)
	case s.Native != nil && s.Handler != nil:
		return errors.New("redline: Server has both Handler and Native: set only one, and mount the other, see HTTP and Router.Mount")
	case s.Protocols != nil && !s.Protocols.HTTP1() && !s.Protocols.HTTP2() && !s.Protocols.UnencryptedHTTP2():
		return errProtocols
	case s.Loops < 0:
		return fmt.Errorf("redline: Server.Loops is %d: set the number of event loops, or 0 for one per usable CPU", s.Loops)
	}
	if len(s.CPUs) > 0 {
		if err := checkCPUs(s.CPUs); err != nil {
			return fmt.Errorf("redline: Server.CPUs: %w: leave CPUs empty to let the kernel place the loops", err)
		}
	}
	return nil
}

// hooked keeps a panic of a hook from ending the process: hooks run on a loop, for one of
// many connections. The address is requested only after a panic, because it may wait for
// the client if the client supplies it (PROXY protocol).
func (s *Server) hooked(remote func() net.Addr) {
	if p := recover(); p != nil {
		s.counters.panics.Add(1)
		s.logf("http: panic serving %v: %v\n%s", remote(), p, debug.Stack())
	}
}

// writeBuffer is the effective WriteBuffer.
func (s *Server) writeBuffer() int {
	if s.WriteBuffer < 0 {
		return math.MaxInt
	}
	return orDefault(s.WriteBuffer, DefaultWriteBuffer)
}

// orDefault replaces zero with the default, and a negative value with zero, which its users
// take as none.
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
