package redline

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/redline-go/redline/internal/transport"
)

// Listen opens the listening socket of addr, "host:port" or "unix:/path", and returns its
// address. It may be called more than once, before Serve or Run. A server that has listened
// but never runs has to be closed. The error is ErrServerClosed, ErrServerRunning, or
// describes the invalid field or address; after such an error the server holds no more
// resources than before, and may be tried again.
func (s *Server) Listen(addr string) (net.Addr, error) { return s.listen(addr, nil) }

// listen is Listen, with the configuration of TLS if secure is not nil.
func (s *Server) listen(addr string, secure func() (*tls.Config, error)) (net.Addr, error) {
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
	o, err := s.listenOptions(secure)
	if err != nil {
		return nil, s.unopened(err)
	}
	at, err := t.Listen(network, addr, o)
	if err != nil {
		return nil, s.unopened(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		s.first = listening{at}
	}
	return at, nil
}

// listenOptions are the options of a listener.
func (s *Server) listenOptions(secure func() (*tls.Config, error)) (transport.ListenOptions, error) {
	o := transport.ListenOptions{FastOpen: s.FastOpen, DeferAccept: s.DeferAccept}
	if secure == nil {
		return o, nil
	}
	c, err := secure()
	if err == nil {
		o.NewSession = s.secure(c)
	}
	return o, err
}

func cutPrefix(s, prefix string) (string, bool) {
	if len(s) > len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):], true
	}
	return s, false
}

// ListenAndServe listens on Addr and serves until Shutdown or Close; then it
// returns ErrServerClosed. Its other errors are those of Listen and Run.
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

// Serve serves on a listener until Shutdown or Close. It closes the listener once before it
// returns, with any result. It is Adopt followed by Run.
//
// Closing the listener elsewhere ends Serve with net.ErrClosed, wrapped, as in net/http: its
// address is free when Close has returned, and connections are served on until the server
// is closed.
//
// For a *net.TCPListener or *net.UnixListener the transports share the socket. Any other
// listener may do anything in its Accept and with its connections: count them, read the
// PROXY protocol, encrypt, stay in memory. TransportStd serves it, which is logged to Logger
// if Transport left the choice; an error of its Accept ends Serve with that error. A server whose
// Transport is TransportUring or TransportEpoll refuses it. The tls.Config of a
// listener of crypto/tls must not offer "h2"; ServeTLS serves HTTPS on every transport.
func (s *Server) Serve(l net.Listener) error { return s.serve(l, nil) }

func (s *Server) serve(l net.Listener, secure func() (*tls.Config, error)) error {
	g := newGiven(l)
	defer g.Close() // its error does not matter: nothing accepts any more
	if err := s.adopt(g, secure); err != nil {
		return err
	}
	err := s.Run()
	if errors.Is(err, ErrServerClosed) && !g.isSocket() {
		<-g.closed // by the transport, which first accepts connections that wait there
	}
	return err
}

// Adopt adds a listener to the server, as Listen does for an address: any number of times,
// before Run. When it returns nil, everything that could keep the server from serving there
// has been done, and only Run has to be called: this is for a process that tells another
// that it is ready, see package restart. The listener then belongs to the server, which
// closes it when it ends; on an error it stays with the caller. The errors are those of
// Listen, and that of a Transport that cannot serve such a listener, see Serve.
func (s *Server) Adopt(l net.Listener) error { return s.adopt(newGiven(l), nil) }

func (s *Server) adopt(g *given, secure func() (*tls.Config, error)) error {
	s.opening.Lock()
	defer s.opening.Unlock()
	t, err := s.start(g.Listener)
	if err != nil {
		return err
	}
	o, err := s.listenOptions(secure)
	if err != nil {
		return s.unopened(err)
	}
	socket := g.isSocket()
	if socket {
		err = t.Adopt(g.Listener, o)
	} else {
		err = t.Adopt(g, o)
	}
	if err != nil {
		return s.unopened(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if socket {
		s.given = append(s.given, g)
	}
	if s.first == nil {
		s.first = g.Listener
	}
	if s.stopping.Load() {
		return ErrServerClosed // its transport is closed, and the listener too if the transport owns it
	}
	if socket {
		g.watch(func(err error) {
			if !s.stopping.Load() { // otherwise the server closes it, and accepts the backlog first
				t.Drop(g.Listener, err)
			}
		})
	}
	return nil
}

// unopened handles an error of the transport's Listen or Adopt. s.opening is held.
func (s *Server) unopened(err error) error {
	if s.stopping.Load() {
		return ErrServerClosed
	}
	return errors.Join(err, s.release())
}

// release discards a transport that has no listener, after an error: the server can be
// dropped, or tried again. s.opening is held.
func (s *Server) release() error {
	s.mu.Lock()
	t := s.t
	if s.first != nil || s.running || s.stopping.Load() {
		s.mu.Unlock()
		return nil // Close does or has done it
	}
	s.t, s.chosen = nil, ""
	s.closeReloaders()
	s.mu.Unlock()
	return t.Close()
}

// Run serves the listeners opened by Listen or added by Adopt, until Shutdown or Close;
// then it returns ErrServerClosed. As in net/http it returns as soon as one of them is
// called: a program that lets requests finish waits for Shutdown to return. A second call
// returns ErrServerRunning. Any other error says why nothing can be accepted any more, see
// Serve; the server then has to be closed.
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

// start creates the transport on the first call, before the server runs. given is the
// listener passed to Serve, or nil.
func (s *Server) start(given net.Listener) (transport.Transport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Load() {
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
	t, chosen, err := newTransport(name, s.transportConfig(), s.logger())
	if err != nil {
		return nil, err
	}
	if name != s.Transport && name == TransportStd {
		s.logger().Info("redline: transport", "transport", TransportStd,
			"because", fmt.Sprintf("a %T has its own Accept: its connections run on Go's poller", given))
	}
	s.t, s.chosen, s.learns = t, chosen, chosen != TransportStd
	return t, nil
}

// transportFor is the transport for a listener: Transport itself unless that leaves the
// choice and the listener requires another.
func (s *Server) transportFor(given net.Listener) (name Transport, err error) {
	if given == nil || isSocket(given) {
		return s.Transport, nil
	}
	name = s.Transport
	if s.t != nil {
		name = s.chosen
	}
	switch {
	case name == TransportUring || name == TransportEpoll:
		return "", fmt.Errorf("redline: transport %s cannot serve a %T, which has its own Accept: "+
			"set Server.Transport to redline.TransportStd, or pass only the *net.TCPListener or *net.UnixListener to Serve", name, given)
	case name == "" || name == TransportAuto:
		name = TransportStd
	}
	return name, nil
}

// Stopping returns a channel that is closed when Shutdown or Close is called. A [Stream]
// without an end of its own should end then: Shutdown waits for it.
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

// stop makes the server accept nothing more, and never start again.
func (s *Server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Swap(true) {
		return
	}
	if s.stopped != nil {
		close(s.stopped)
	}
	for _, g := range s.given {
		g.Close() // its error is of no use to the caller
	}
	s.closeReloaders()
}

// Close ends the server at once: listeners and connections are closed, and the
// contexts of exchanges in progress cancelled. It does not wait for handlers.
func (s *Server) Close() error {
	s.stop()
	t := s.transport()
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

// RegisterOnShutdown adds a function that Shutdown calls on its own goroutine when the
// listeners are closed, for example to tell hijacked connections to end. Shutdown does not
// wait for it.
func (s *Server) RegisterOnShutdown(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onShutdown = append(s.onShutdown, f)
}

// SetKeepAlivesEnabled sets whether connections may be used for more than one request,
// which is the default. If not, idle connections are closed soon after.
func (s *Server) SetKeepAlivesEnabled(v bool) {
	s.noKeepAlive.Store(!v)
	if t := s.transport(); t != nil && !v {
		go s.closeIdle(t) // ends by itself; the caller may be on a loop
	}
}

// closesConns reports whether answers are to close their connections.
func (s *Server) closesConns() bool { return s.stopping.Load() || s.noKeepAlive.Load() }
