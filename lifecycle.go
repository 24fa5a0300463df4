package redline

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/http1"
	"github.com/redline-go/redline/internal/transport"
)

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

// Listen opens the listening socket of addr, host:port or "unix:/path", and
// returns its address. It may be called more than once, before Serve or Run. A
// server that has listened and never runs is to be closed.
func (s *Server) Listen(addr string) (net.Addr, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	t, err := s.start(nil)
	if err != nil {
		return nil, err
	}
	network := "tcp"
	if path, ok := cutPrefix(addr, "unix:"); ok {
		network, addr = "unix", path
	}
	at, err := t.Listen(network, addr, transport.ListenOptions{FastOpen: s.FastOpen, DeferAccept: s.DeferAccept})
	if err != nil {
		return nil, errors.Join(err, s.release())
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

// Serve serves on a given listener until Shutdown or Close, and closes it before
// it returns: Adopt and Run.
//
// Of a *net.TCPListener or *net.UnixListener the transports share the descriptor:
// closing it from elsewhere does not end Serve. Any other listener may do what it
// likes in its Accept and with its connections: count them, read who is behind a
// proxy, encrypt, stay in memory. It is served by Std, which Logger is told when
// Transport left the choice; what ends its Accept ends Serve, with that error, as
// in net/http. A server whose Transport is Uring or Epoll refuses it. Connections of
// crypto/tls are served, with Request.TLS nil: the tls.Config must not offer "h2".
func (s *Server) Serve(l net.Listener) error {
	defer l.Close() // what of it is served beyond this is a duplicate
	if err := s.Adopt(l); err != nil {
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
	s.opening.Lock()
	defer s.opening.Unlock()
	t, err := s.start(l)
	if err != nil {
		return err
	}
	if err := t.Adopt(l); err != nil {
		return errors.Join(err, s.release())
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

// release lets go of a transport that listens nowhere, after an error: the server
// can be dropped, or tried again. s.opening is held.
func (s *Server) release() error {
	s.mu.Lock()
	t := s.t
	if s.first != nil || s.running || s.stopping.Load() {
		s.mu.Unlock()
		return nil // Close does, or has done
	}
	s.t, s.chosen = nil, ""
	s.mu.Unlock()
	return t.Close()
}

// Run serves what Listen opened and Adopt was given, until Shutdown or Close. As in
// net/http it returns at once when one of them is called: a program that is to let requests
// end waits for Shutdown to return.
func (s *Server) Run() error {
	t, err := s.start(nil)
	if err != nil {
		return err
	}
	s.mu.Lock()
	again, first := s.running, s.first
	s.running = true
	s.mu.Unlock()
	if again {
		return ErrServerRunning
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

// start creates the transport on the first call, for use before the server runs.
// given is the listener that Serve was given, nil for others.
func (s *Server) start(given net.Listener) (transport.Transport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrServerClosed
	}
	if s.running {
		return nil, ErrServerRunning
	}
	name, err := s.transportFor(given)
	if err != nil || s.t != nil {
		return s.t, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	s.adapter = s.newAdapter()
	if s.Native == nil {
		s.http = s.handler()
	}
	cfg := s.sessionConfig()
	t, chosen, err := newTransport(name, transport.Config{
		Loops: orDefault(s.Loops, runtime.GOMAXPROCS(0)), Pin: s.CPUs,
		MaxConns: orDefault(s.MaxConns, DefaultMaxConns), AcceptRate: s.AcceptRate,
		NewSession: func(c transport.Conn) transport.Session { return http1.NewSession(c, cfg) },
		Log:        func(msg string, err error) { s.logger().Error(msg, "error", err) },
	}, s.logger())
	if err != nil {
		return nil, err
	}
	if name != s.Transport && name == TransportStd {
		s.logger().Info("redline: transport", "transport", TransportStd,
			"because", fmt.Sprintf("a %T accepts by itself: its connections run on Go's own poller", given))
	}
	s.t, s.chosen, s.learns = t, chosen, chosen != TransportStd
	return t, nil
}

// transportFor is the transport for a listener, Transport itself unless that leaves
// the choice and the listener does not.
func (s *Server) transportFor(given net.Listener) (name Transport, err error) {
	switch given.(type) {
	case nil, *net.TCPListener, *net.UnixListener:
		return s.Transport, nil
	}
	name = s.Transport
	if s.t != nil {
		name = s.chosen
	}
	switch {
	case name == TransportUring || name == TransportEpoll:
		return "", fmt.Errorf("redline: transport %s cannot serve a %T, which accepts by itself: "+
			"set Server.Transport to redline.TransportStd, or give Serve the *net.TCPListener or *net.UnixListener alone", name, given)
	case name == "" || name == TransportAuto:
		name = TransportStd
	}
	return name, nil
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

// Shutdown ends the server gracefully: no connection is accepted any more, idle
// ones are closed, exchanges in progress end and close theirs; streams are told
// by [Server.Stopping]. When ctx is done first, what is left is cut and its error
// returned. Hijacked connections are not touched.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	s.mu.Lock()
	hooks := s.onShutdown
	s.mu.Unlock()
	for _, f := range hooks {
		go f()
	}
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
	if s.stopping.Swap(true) {
		return
	}
	if s.stopped != nil {
		close(s.stopped)
	}
	for _, l := range s.given {
		l.Close() // what is closed already says so, which is no news
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

// RegisterOnShutdown adds a function that Shutdown calls, on a goroutine of its
// own: to tell hijacked connections that it is time to end. Shutdown does not
// wait for it.
func (s *Server) RegisterOnShutdown(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onShutdown = append(s.onShutdown, f)
}

// SetKeepAlivesEnabled says whether connections may be used for more than one
// request; they may unless this says otherwise.
//
// When they may not, idle ones are closed, soon after.
func (s *Server) SetKeepAlivesEnabled(v bool) {
	s.noKeepAlive.Store(!v)
	if t := s.transport(); t != nil && !v {
		go sweep(context.Background(), t, true) // it ends by itself, and the caller may be on a loop
	}
}

// closesConns reports whether answers are to close their connections.
func (s *Server) closesConns() bool { return s.stopping.Load() || s.noKeepAlive.Load() }
