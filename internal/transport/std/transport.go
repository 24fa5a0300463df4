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
	"github.com/redline-go/redline/internal/serial"
	"github.com/redline-go/redline/internal/transport"
)

// A Transport moves bytes with goroutines. It implements [transport.Transport].
type Transport struct {
	config transport.Config
	slots  chan struct{} // one for each connection that may be open; nil is no limit
	high   int           // Config.HighWater
	halt   chan struct{} // closed by StopAccepting, and by Close
	stop   chan struct{} // closed by Close

	accepted, refused, bytesIn, bytesOut atomic.Uint64

	loop serial.Loop // for walks

	refusals transport.Repeats // of Accept
	failed   chan error        // why Serve is to return

	mu        sync.Mutex
	listeners []*listener
	live      int // listeners that still accept, of those with which Serve has begun
	accepting sync.WaitGroup
	conns     map[*conn]struct{}
	serving   bool
	closed    bool
	next      time.Time
}

var _ transport.Transport = (*Transport)(nil)

// New returns a transport without listeners. It ignores Loops, Pin and Takeover.
func New(config transport.Config) (*Transport, error) {
	t := &Transport{
		config: config, high: config.HighWater,
		halt: make(chan struct{}), stop: make(chan struct{}),
		conns: map[*conn]struct{}{}, failed: make(chan error, 1),
	}
	if t.high <= 0 {
		t.high = highWater
	}
	if config.MaxConns > 0 {
		t.slots = make(chan struct{}, config.MaxConns)
	}
	return t, nil
}

// Listen implements [transport.Transport]. It ignores the options that are hints.
func (t *Transport) Listen(network, address string, o transport.ListenOptions) (net.Addr, error) {
	lc := net.ListenConfig{KeepAlive: -1}
	l, err := lc.Listen(context.Background(), network, address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	if err := t.add(&listener{Listener: l, makes: o.NewSession}); err != nil {
		l.Close()
		return nil, err
	}
	return l.Addr(), nil
}

// Adopt implements [transport.Transport]. It accepts every listener.
func (t *Transport) Adopt(l net.Listener, o transport.ListenOptions) error {
	dup, err := duplicate(l)
	if err != nil {
		return fmt.Errorf("adopt %s: %w", l.Addr(), err)
	}
	if dup == nil {
		return t.add(&listener{Listener: l, given: true, makes: o.NewSession})
	}
	if err := t.add(&listener{Listener: dup, of: l, makes: o.NewSession}); err != nil {
		dup.Close()
		return err
	}
	return nil
}

// Drop implements [transport.Transport].
func (t *Transport) Drop(l net.Listener, why error) {
	t.mu.Lock()
	var dropped []*listener
	for _, d := range t.listeners {
		if d.of == l {
			d.why = why
			dropped = append(dropped, d)
		}
	}
	t.mu.Unlock()
	closeAll(dropped) // their Accepts end, and so does Serve with the last
}

// duplicate returns a separate listener on the socket of another one, nil if that one is
// more than its socket, or the system does not support it.
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

func (t *Transport) add(l *listener) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.serving || t.closed {
		return fmt.Errorf("listen on %s: %w", l.Addr(), transport.ErrStopped)
	}
	if l.makes == nil {
		l.makes = t.config.NewSession
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
	t.serving, t.live = true, len(t.listeners)
	if !t.isHalted() {
		for _, l := range t.listeners {
			t.accepting.Go(func() { t.accept(l) })
		}
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

func (t *Transport) all() []*conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]*conn, 0, len(t.conns))
	for c := range t.conns {
		all = append(all, c)
	}
	return all
}

// Each implements [transport.Transport].
func (t *Transport) Each(f func(s transport.Session, out *buf.Queue) error, stop <-chan struct{}) {
	var left sync.WaitGroup
	for _, c := range t.all() {
		left.Add(1)
		ok := c.visit(task{drop: left.Done, run: func(out *buf.Queue) error {
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

// Close implements [transport.Transport]. It does not wait for running Feeds: Lost notifies
// them, and their connections are closed when they return.
func (t *Transport) Close() error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	t.closed = true
	t.halts()
	close(t.stop)
	t.loop.Close()
	listeners := t.listeners
	t.mu.Unlock()
	closeAll(listeners)
	for _, c := range t.all() { // open closes later ones
		c.end()
	}
	t.accepting.Wait()
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
