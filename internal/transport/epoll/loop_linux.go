package epoll

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/sys"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/lead"
)

const (
	roundEvents = 128 // events fetched at once
	roundAccept = 64  // connections accepted at once
)

// A loop is one epoll instance with its connections. All but inbox, bell and the
// counters belongs to the leader, and is whole whenever foreign code runs.
type loop struct {
	t     *Transport
	index int
	poll  sys.Epoll
	role  *lead.Role
	bell  *lead.Bell
	inbox lead.Inbox[message]

	batch []message // taken from the inbox; batch[:at] are done
	at    int
	now   int64
	wheel clock.Wheel
	conns []*conn // by descriptor
	count int     // connections
	feeds int     // of them, those that are being fed
	gen   uint32

	listeners []*listener
	quitting  bool
	swept     int // conns[:swept] are closed, while quitting
	failure   error

	mu       sync.Mutex // held while a descriptor is closed, or asked about
	counters counters
}

// counters are written by hands now and then, and read by anybody.
type counters struct {
	accepted, stopped, read, sent atomic.Uint64
}

// A scratch is the part of a hand that only this transport uses.
type scratch struct {
	loop   *loop
	events []sys.Event
	n      int // events of the last poll
	vec    [][]byte
	read   int // bytes, since they were last counted
	sent   int
	wait   func(fd uintptr) bool
	idle   func() bool
	undo   func() // of pinning; nil when not pinned
}

func newScratch() *scratch {
	s := &scratch{events: make([]sys.Event, roundEvents), vec: make([][]byte, 0, sys.MaxVector)}
	s.wait = func(uintptr) bool { return s.fetch() > 0 }
	s.idle = func() bool { return s.loop.inbox.Empty() }
	return s
}

// fetch polls for events without waiting.
func (s *scratch) fetch() int {
	n, errno := s.loop.poll.Wait(s.events)
	if errno != 0 {
		n = 0 // EINTR: the next round asks again
	}
	s.n = n
	return n
}

// of returns the scratch of a hand.
func of(h *lead.Hand) *scratch { return h.Local.(*scratch) }

// pin ties the hand's thread to the loop's CPU, if it has one.
func (s *scratch) pin() {
	pin := s.loop.t.config.Pin
	if len(pin) == 0 {
		return
	}
	runtime.LockOSThread()
	undo, err := sys.Pin(pin[s.loop.index%len(pin)])
	if err != nil {
		runtime.UnlockOSThread()
		s.loop.t.log("loop runs unpinned", err)
		return
	}
	s.undo = undo
}

func (s *scratch) unpin() {
	if s.undo != nil {
		s.undo()
		s.undo = nil
		runtime.UnlockOSThread()
	}
}

// publish adds what the hand has counted to the loop's counters.
func (s *scratch) publish() {
	if s.read > 0 {
		s.loop.counters.read.Add(uint64(s.read))
		s.read = 0
	}
	if s.sent > 0 {
		s.loop.counters.sent.Add(uint64(s.sent))
		s.sent = 0
	}
}

// lead is what the loop's leader does, until it is deposed or the loop is done.
func (l *loop) lead(h *lead.Hand) {
	s, ok := h.Local.(*scratch)
	if !ok {
		s = newScratch()
		h.Local = s
	}
	s.loop = l
	s.pin()
	defer s.unpin()
	for l.round(h, s) {
		s.publish()
	}
	s.publish()
}

// round handles what there is to do, and waits if it is nothing. It reports
// whether the hand still leads.
func (l *loop) round(h *lead.Hand, s *scratch) bool {
	l.now = clock.Refresh()
	for l.at < len(l.batch) || !l.inbox.Empty() {
		if !l.message(h) {
			return false
		}
	}
	if l.wheel.Due(l.now) && !l.expire(h) {
		return false
	}
	if l.quitting {
		return l.quit(h)
	}
	if l.feeds > 0 {
		// Handlers that went on elsewhere need this processor too.
		runtime.Gosched()
	}
	if s.fetch() == 0 {
		s.publish()
		now, err := l.bell.Wait(h, l.wheel.Next(), s.wait, s.idle)
		if err != nil {
			l.failure, l.quitting = err, true
		}
		l.now = now
	}
	for i := range s.n {
		if !l.event(h, &s.events[i]) {
			return false
		}
	}
	return true
}

// message handles one message, the next of the batch.
func (l *loop) message(h *lead.Hand) bool {
	if l.at == len(l.batch) {
		l.batch, l.at = l.inbox.Take(l.batch), 0
		return true
	}
	m := l.batch[l.at]
	l.at++
	return l.deliver(h, m)
}

// event handles one event.
func (l *loop) event(h *lead.Hand, e *sys.Event) bool {
	if e.Gen() == 0 {
		return l.accept(h, int(e.Fd))
	}
	c := l.conns[e.Fd]
	if c == nil || c.gen != e.Gen() {
		return true // it is about a connection that is gone
	}
	if e.Events == sys.In && c.flags == known && c.more == nil && c.own == 0 {
		return l.read(h, c)
	}
	return l.rare(h, c, e.Events)
}

// put gives the loop a message, and reports whether it will read it.
func (l *loop) put(m message) bool {
	if !l.inbox.Put(m) {
		return false
	}
	l.bell.Ring()
	return true
}

// expire handles the timers that are due.
func (l *loop) expire(h *lead.Hand) bool {
	for {
		e := l.wheel.Pop(l.now)
		if e == nil {
			return true
		}
		if ln := l.listenerOf(e); ln != nil {
			l.listen(ln)
			continue
		}
		if !l.timeout(h, fromTimer(e)) {
			return false
		}
	}
}

// schedule puts the connection's timer where its deadline is, if it is not in the
// wheel before that anyway.
func (l *loop) schedule(c *conn) {
	d := c.deadline.Load()
	if d != 0 && (!c.timer.Set() || d < c.timer.Due()) {
		l.wheel.Add(&c.timer, d, l.now)
	}
}

// timeout handles a connection whose timer has come up.
func (l *loop) timeout(h *lead.Hand, c *conn) bool {
	switch {
	case !c.expired(l.now):
		l.schedule(c)
	case c.flags&(waitRead|waitWrite) != 0:
		l.signal(c, transport.ErrDeadline)
	case c.flags&busy != 0:
		// What it waits for does not come from here. Read and Flush will see.
	case c.flags&(lingering|closing) != 0:
		return l.drop(h, c, transport.ErrDeadline)
	default:
		c.deadline.Store(0)
		l.begin(h, c)
		err := c.session.Expired(&h.Out)
		return l.end(h, c, nil, 0, err)
	}
	return true
}

// signal ends the feeder's wait.
func (l *loop) signal(c *conn, err error) {
	c.flags &^= waitRead | waitWrite
	c.hand.Signal(err)
}

// localAddr returns the address of the connection's own end.
func (l *loop) localAddr(c *conn) net.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.closed.Load() != dead {
		if a, errno := sys.LocalAddr(int(c.fd)); errno == 0 {
			return a.Net()
		}
	}
	return l.t.addr()
}
