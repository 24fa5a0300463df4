package sockets

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/sys"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/lead"
)

type atomicInt64 = atomic.Int64

// A Transport moves bytes between sockets and sessions. It implements [transport.Transport].
type Transport struct {
	config   transport.Config
	crew     *lead.Crew
	loops    []*Loop
	rate     rate
	maxFiles int          // descriptors that the process may have, read when the transport was created
	open     atomic.Int64 // connections, including those being accepted
	full     atomic.Bool  // a loop has stopped accepting because of MaxConns

	logger    *transport.Logger
	listening atomic.Int64 // listeners of all loops
	stopping  atomic.Bool  // StopAccepting was called, or Close
	deaf      chan error   // why there are no listeners any more

	mu      sync.Mutex
	state   state
	addrs   []net.Addr
	files   []string // Unix sockets that it has created
	failure error
}

type state uint8

const (
	created state = iota
	serving
	closed
)

var _ transport.Transport = (*Transport)(nil)

// New returns a transport without listeners. Close frees what it holds, even if it never
// served.
func New(config transport.Config, driver NewDriver) (*Transport, error) {
	if config.Loops < 1 {
		return nil, fmt.Errorf("create transport: invalid number of loops: %d", config.Loops)
	}
	if config.HighWater <= 0 {
		config.HighWater = highWater
	}
	t := &Transport{
		config: config, crew: lead.NewCrew(config.Takeover),
		logger: transport.NewLogger(config.Log), deaf: make(chan error, 1), maxFiles: sys.MaxFiles(),
	}
	if config.AcceptRate > 0 {
		t.rate.gap = int64(time.Second) / int64(config.AcceptRate)
		t.rate.next.Store(-burst) // the clock may have started just now
	}
	for i := range config.Loops {
		l := &Loop{t: t, index: i}
		l.wait = l.poll
		l.idle = func() bool { return !l.works() && l.inbox.Empty() }
		l.role = t.crew.Role(l.lead, l.exited)
		if err := l.create(driver); err != nil {
			return nil, errors.Join(fmt.Errorf("create loop: %w", err), t.free())
		}
		t.loops = append(t.loops, l)
	}
	return t, nil
}

// create creates the loop's driver, and looks up its optional interfaces.
func (l *Loop) create(driver NewDriver) (err error) {
	if l.driver, err = driver(l); err != nil {
		return err
	}
	l.receiver, _ = l.driver.(Receiver)
	l.batcher, _ = l.driver.(Batcher)
	l.requests, _ = l.driver.(Requests)
	l.registry, _ = l.driver.(Registry)
	l.bell, err = lead.NewBell(l.role, l.driver.Descriptor(), "loop")
	if err != nil && l.requests != nil {
		l.requests.Close()
	}
	return err
}

// Serve implements [transport.Transport]. When the last listener accepts no more, existing
// connections continue until Close.
func (t *Transport) Serve() error {
	t.mu.Lock()
	if t.state != created {
		t.mu.Unlock()
		return transport.ErrStopped
	}
	for _, l := range t.loops {
		l.put(message{kind: listenAll}) // a loop that has not begun cannot have ended
	}
	if err := t.crew.Start(); err != nil {
		t.mu.Unlock()
		return err
	}
	t.state = serving
	t.mu.Unlock()
	select {
	case err := <-t.deaf:
		return err
	case <-t.crew.Stopped():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state = closed
	t.unlink()
	if t.failure != nil {
		return fmt.Errorf("run loop: %w", t.failure)
	}
	return transport.ErrStopped
}

// Close implements [transport.Transport]. It returns when the loops have ended. Lost
// notifies running Feeds, which may continue; their connections are closed when they
// return.
func (t *Transport) Close() error {
	t.stopping.Store(true)
	t.mu.Lock()
	before := t.state
	t.state = closed
	t.unlink()
	t.mu.Unlock()
	if before == created {
		return t.free()
	}
	for _, l := range t.loops {
		l.put(message{kind: quitLoop})
	}
	<-t.crew.Stopped()
	return nil
}

// free closes the resources of a transport that never served.
func (t *Transport) free() error {
	var errs []error
	for _, l := range t.loops {
		l.closeListeners()
		if l.requests != nil {
			l.requests.Close()
		}
		l.inbox.Close()
		errs = append(errs, l.bell.Close())
	}
	return errors.Join(errs...)
}

// ended is called by each loop at its end. A loop that fails ends the others too.
func (t *Transport) ended(err error) {
	if err == nil {
		return
	}
	t.mu.Lock()
	t.failure = errors.Join(t.failure, err)
	t.mu.Unlock()
	for _, l := range t.loops {
		l.put(message{kind: quitLoop})
	}
}

// StopAccepting implements [transport.Transport].
func (t *Transport) StopAccepting() {
	t.stopping.Store(true)
	t.mu.Lock()
	t.unlink()
	if t.state == created {
		for _, l := range t.loops {
			l.closeListeners()
		}
	}
	serves := t.state == serving
	t.mu.Unlock()
	if !serves {
		return
	}
	t.ask(stopListening, nil)
}

// ask has every loop close listening sockets, all or those made of a listener, and returns
// when that is done.
func (t *Transport) ask(k kind, of net.Listener) {
	all := make([]chan struct{}, len(t.loops))
	for i, l := range t.loops {
		all[i] = make(chan struct{})
		l.put(message{kind: k, ends: &ends{of: of, done: all[i]}})
	}
	for _, done := range all {
		<-done
	}
}

// Each implements [transport.Transport].
func (t *Transport) Each(f func(s transport.Session, out *buf.Queue) error, stop <-chan struct{}) {
	e := &each{f: f, stop: stop, done: make(chan struct{})}
	e.left.Store(int64(len(t.loops)))
	for _, l := range t.loops {
		l.put(message{kind: visitAll, each: e})
	}
	select {
	case <-e.done:
	case <-stop:
	}
}

// Stats implements [transport.Transport].
func (t *Transport) Stats() transport.Stats {
	s := transport.Stats{Open: t.open.Load(), Loops: len(t.loops)}
	for _, l := range t.loops {
		s.Accepted += l.counters.accepted.Load()
		s.Refused += l.counters.stopped.Load()
		s.BytesIn += l.counters.read.Load()
		s.BytesOut += l.counters.sent.Load()
		s.Takeovers += l.role.Stats.Takeovers.Load()
		s.Detached += l.role.Stats.Detached.Load()
		s.Spared += l.role.Stats.Spared.Load()
		s.Stayed += l.counters.stayed.Load()
		s.Rounds += l.counters.rounds.Load()
		s.Fetches += l.counters.fetches.Load()
	}
	return s
}

// enter counts a connection, if one more is allowed.
func (t *Transport) enter() bool {
	n := t.open.Add(1)
	if limit := t.config.MaxConns; limit > 0 && n > int64(limit) {
		t.open.Add(-1)
		return false
	}
	return true
}

// left uncounts a connection, and lets loops accept again that had stopped.
func (t *Transport) left() {
	t.open.Add(-1)
	if t.full.Load() && t.full.CompareAndSwap(true, false) {
		for _, l := range t.loops {
			l.put(message{kind: resumeAccept})
		}
	}
}

// addr is the first address that the transport listens on.
func (t *Transport) addr() net.Addr {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.addrs) == 0 {
		return &net.UnixAddr{Net: "unix"}
	}
	return t.addrs[0]
}

// log reports an error without waiting for it to be written.
func (t *Transport) log(msg string, err error) { t.logger.Log(msg, err) }
