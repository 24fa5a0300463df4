package std

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

const (
	acceptPause = 100 * time.Millisecond // when the system has no descriptors left
	drainGrace  = 20 * time.Millisecond  // for the backlog, in StopAccepting
)

// A Transport moves bytes with goroutines. It implements [transport.Transport].
type Transport struct {
	config transport.Config
	slots  chan struct{} // one for each connection that may be open; nil is no limit
	stop   chan struct{} // closed by Close

	accepted, refused, bytesIn, bytesOut atomic.Uint64

	refusals transport.Repeats // of Accept
	failed   chan error        // why a given listener accepts no more

	mu        sync.Mutex
	listeners []listener
	accepting sync.WaitGroup
	conns     map[*conn]struct{}
	serving   bool
	closed    bool
	halted    bool // StopAccepting was called
	next      time.Time
}

// A listener is one of the transport's own, or one that it was given and could not
// duplicate.
type listener struct {
	net.Listener
	given bool
}

var _ transport.Transport = (*Transport)(nil)

// New returns a transport that listens nowhere yet. Loops, Pin and Takeover mean
// nothing to it.
func New(config transport.Config) (*Transport, error) {
	t := &Transport{config: config, stop: make(chan struct{}), conns: map[*conn]struct{}{}, failed: make(chan error, 1)}
	if config.MaxConns > 0 {
		t.slots = make(chan struct{}, config.MaxConns)
	}
	return t, nil
}

// Listen implements [transport.Transport]. The options are hints that it does not
// take.
func (t *Transport) Listen(network, address string, _ transport.ListenOptions) (net.Addr, error) {
	lc := net.ListenConfig{KeepAlive: -1}
	l, err := lc.Listen(context.Background(), network, address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	if err := t.add(listener{Listener: l}); err != nil {
		l.Close()
		return nil, err
	}
	return l.Addr(), nil
}

// Adopt implements [transport.Transport]. It takes every listener.
func (t *Transport) Adopt(l net.Listener) error {
	dup, err := duplicate(l)
	if err != nil {
		return fmt.Errorf("adopt %s: %w", l.Addr(), err)
	}
	if dup == nil {
		return t.add(listener{l, true})
	}
	if err := t.add(listener{Listener: dup}); err != nil {
		dup.Close()
		return err
	}
	return nil
}

// duplicate returns a listener of its own on the socket of another one, nil if
// there is more to that one than its socket, or the system cannot.
func duplicate(l net.Listener) (net.Listener, error) {
	switch l.(type) {
	case *net.TCPListener, *net.UnixListener:
	default:
		return nil, nil
	}
	file, err := l.(interface{ File() (*os.File, error) }).File()
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil // Windows
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return net.FileListener(file)
}

func (t *Transport) add(l listener) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.serving || t.closed {
		return fmt.Errorf("listen on %s: %w", l.Addr(), transport.ErrStopped)
	}
	t.listeners = append(t.listeners, l)
	return nil
}

// Serve implements [transport.Transport].
func (t *Transport) Serve() error {
	t.mu.Lock()
	if t.serving || t.closed {
		t.mu.Unlock()
		return transport.ErrStopped
	}
	t.serving = true
	for _, l := range t.listeners {
		t.accepting.Go(func() { t.accept(l) })
	}
	t.mu.Unlock()
	select {
	case err := <-t.failed:
		return err
	case <-t.stop:
	}
	t.accepting.Wait()
	return transport.ErrStopped
}

// accept takes connections from a listener until it is closed.
func (t *Transport) accept(l listener) {
	returned := false
	defer func() {
		if returned {
			l.Close()
			return
		}
		t.accepting.Go(func() { t.accept(l) }) // NewSession has ended this goroutine
	}()
	for t.admit() {
		nc, err := l.Accept()
		if err == nil {
			t.accepted.Add(1)
			t.open(nc)
			continue
		}
		t.leave()
		if t.ends(l, err) {
			break
		}
		t.refusals.Log(t.config.Log, time.Now(), "accept connection", err)
		t.refused.Add(1)
		t.sleep(acceptPause)
	}
	returned = true
}

// ends reports whether an error of Accept is the last one. Of a given listener
// everything is that does not call itself temporary, as in net/http.
func (t *Transport) ends(l listener, err error) bool {
	t.mu.Lock()
	halted := t.halted || t.closed
	t.mu.Unlock()
	if halted || !l.given {
		return halted || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded)
	}
	var passing interface{ Temporary() bool }
	if errors.As(err, &passing) && passing.Temporary() {
		return false
	}
	select {
	case t.failed <- fmt.Errorf("accept connection: %w", err):
	default: // one is enough
	}
	return true
}

// admit waits until one more connection may be accepted.
func (t *Transport) admit() bool {
	if t.slots != nil {
		select {
		case t.slots <- struct{}{}:
		default:
			t.refused.Add(1)
			select {
			case t.slots <- struct{}{}:
			case <-t.stop:
				return false
			}
		}
	}
	if wait := t.early(); wait > 0 {
		t.refused.Add(1)
		t.sleep(wait)
	}
	return !t.stopped()
}

// early is how long a connection is too early for the accept rate, when up to a
// tenth of a second's worth may come at once.
func (t *Transport) early() time.Duration {
	if t.config.AcceptRate <= 0 {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if earliest := now.Add(-100 * time.Millisecond); t.next.Before(earliest) {
		t.next = earliest
	}
	t.next = t.next.Add(time.Second / time.Duration(t.config.AcceptRate))
	return t.next.Sub(now)
}

func (t *Transport) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.stop:
	}
}

// leave gives a connection's slot back.
func (t *Transport) leave() {
	if t.slots != nil {
		<-t.slots
	}
}

// open starts a connection.
func (t *Transport) open(nc net.Conn) {
	c := &conn{t: t, nc: nc, reading: true}
	c.change.L = &c.mu
	defer func() {
		if c.session == nil { // NewSession has not returned
			nc.Close()
			t.leave()
		}
	}()
	c.session = t.config.NewSession(c)
	t.mu.Lock()
	t.conns[c] = struct{}{}
	closed := t.closed
	t.mu.Unlock()
	if closed {
		c.Close(transport.Reset)
	}
	go c.read()
	go c.run()
}

// forget counts a connection off.
func (t *Transport) forget(c *conn) {
	t.mu.Lock()
	delete(t.conns, c)
	t.mu.Unlock()
	t.leave()
}

func (t *Transport) all() []*conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]*conn, 0, len(t.conns))
	for c := range t.conns {
		all = append(all, c)
	}
	return all
}

// StopAccepting implements [transport.Transport].
func (t *Transport) StopAccepting() {
	t.mu.Lock()
	first := !t.halted
	t.halted = true
	listeners, serving := t.listeners, t.serving
	t.mu.Unlock()
	for _, l := range listeners {
		d, ok := l.Listener.(interface{ SetDeadline(time.Time) error })
		if !first || serving && ok && d.SetDeadline(time.Now().Add(drainGrace)) == nil {
			continue // accept ends, and closes it
		}
		l.Close()
	}
	t.accepting.Wait()
}

// Each implements [transport.Transport].
func (t *Transport) Each(f func(s transport.Session, out *buf.Queue) error, stop <-chan struct{}) {
	var left sync.WaitGroup
	for _, c := range t.all() {
		left.Add(1)
		ok := c.post(task{drop: left.Done, run: func(out *buf.Queue) error {
			defer left.Done()
			select {
			case <-stop:
				return nil
			default:
				return f(c.session, out)
			}
		}})
		if !ok {
			left.Done()
		}
	}
	done := make(chan struct{})
	go func() { left.Wait(); close(done) }()
	select {
	case <-done:
	case <-stop:
	}
}

// Close implements [transport.Transport]. It does not wait for Feeds that run:
// they are told by Lost, and their connections are closed when they return.
func (t *Transport) Close() error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	t.closed = true
	close(t.stop)
	listeners := t.listeners
	t.mu.Unlock()
	for _, l := range listeners {
		l.Close() // accept may have closed it
	}
	t.accepting.Wait()
	for _, c := range t.all() {
		c.mu.Lock()
		c.stop()
		if c.busy {
			c.tellLost(transport.ErrStopped)
		}
		c.mu.Unlock()
	}
	return nil
}

func (t *Transport) stopped() bool {
	select {
	case <-t.stop:
		return true
	default:
		return false
	}
}

// Stats implements [transport.Transport].
func (t *Transport) Stats() transport.Stats {
	t.mu.Lock()
	n := len(t.conns)
	t.mu.Unlock()
	return transport.Stats{
		Open: int64(n), Accepted: t.accepted.Load(), Refused: t.refused.Load(),
		BytesIn: t.bytesIn.Load(), BytesOut: t.bytesOut.Load(),
	}
}
