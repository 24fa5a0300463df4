package redline

import (
	"errors"
	"net"
	"sync"
	"time"
)

// A given listener is one passed to Serve or Adopt. Several parties may close it: Serve,
// the end of the server, and the transport if it calls its Accept. Only the first close has
// an effect.
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

// SetDeadline bounds its Accept, if the listener supports it.
func (g *given) SetDeadline(t time.Time) error {
	if l, ok := g.Listener.(interface{ SetDeadline(t time.Time) error }); ok {
		return l.SetDeadline(t)
	}
	return errors.ErrUnsupported
}

// isSocket reports whether the listener is nothing more than its socket, which a transport
// duplicates. For any other listener the transport calls Accept, and closes it.
func (g *given) isSocket() bool { return isSocket(g.Listener) }

func isSocket(l net.Listener) bool {
	switch l.(type) {
	case *net.TCPListener, *net.UnixListener:
		return true
	}
	return false
}
