package redline

import (
	"errors"
	"net"
	"reflect"
	"sync"
	"syscall"
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

// watch calls closed when the listener has been closed, with the error that its Accept would
// return. It is for one whose transport has a duplicate of the socket and never calls Accept.
// The Close waits until closed has returned, so the address is free when it returns.
//
// The goroutine waits for the socket to become writable, which a listening socket never
// does: only Close ends the wait, and connections do not wake it.
func (g *given) watch(closed func(err error)) {
	raw := waiter(g.Listener)
	if raw == nil {
		return
	}
	addr := g.Addr()
	tell := func(err error) {
		if errors.Is(err, net.ErrClosed) { // not if it has a deadline, or cannot wait
			closed(&net.OpError{Op: "accept", Net: addr.Network(), Addr: addr, Err: net.ErrClosed})
		}
	}
	go func() {
		// Within Control the descriptor stays open, and Close waits.
		tell(raw.Control(func(uintptr) {
			tell(raw.Write(func(uintptr) bool { return false }))
		}))
	}()
}

// waiter returns access to the socket of a listener that can wait, or nil. What SyscallConn
// returns refuses to wait for a listener, but is a struct that begins with what it returns
// for a connection.
func waiter(l net.Listener) syscall.RawConn {
	sc, ok := l.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	v := reflect.Indirect(reflect.ValueOf(raw))
	if v.Kind() != reflect.Struct || v.NumField() == 0 || !v.CanAddr() {
		return nil
	}
	begin := v.Field(0)
	w, _ := reflect.NewAt(begin.Type(), begin.Addr().UnsafePointer()).Interface().(syscall.RawConn)
	return w
}

func isSocket(l net.Listener) bool {
	switch l.(type) {
	case *net.TCPListener, *net.UnixListener:
		return true
	}
	return false
}
