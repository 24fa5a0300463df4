package redline

import (
	"errors"
	"net"
	"sync"
	"time"
)

// A given listener is one of Serve or Adopt. Several have reason to close it: Serve,
// the end of the server, and the transport where that calls its Accept. The first of
// them does.
type given struct {
	net.Listener
	once   sync.Once
	err    error
	closed chan struct{}
}

func newGiven(l net.Listener) *given { return &given{Listener: l, closed: make(chan struct{})} }

// Close implements net.Listener.
func (g *given) Close() error {
	g.once.Do(func() {
		defer close(g.closed)
		g.err = g.Listener.Close()
	})
	return g.err
}

// SetDeadline bounds its Accept, where the listener can.
func (g *given) SetDeadline(t time.Time) error {
	if l, ok := g.Listener.(interface{ SetDeadline(t time.Time) error }); ok {
		return l.SetDeadline(t)
	}
	return errors.ErrUnsupported
}

// isSocket reports whether there is no more to the listener than its socket, of
// which a transport makes a duplicate. Of any other it calls Accept, and closes it.
func (g *given) isSocket() bool { return isSocket(g.Listener) }

func isSocket(l net.Listener) bool {
	switch l.(type) {
	case *net.TCPListener, *net.UnixListener:
		return true
	}
	return false
}
