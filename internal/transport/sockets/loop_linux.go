package sockets

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/sys"
	"github.com/redline-go/redline/internal/transport/lead"
)

const (
	roundAccept = 64 // connections accepted in one go
	// stuckPause is how long a loop waits after the kernel has refused something
	// temporarily.
	stuckPause = time.Millisecond
	// roundTime is how long a round may take for messages, timers, functions and walks
	// together before events get their turn, and roundLook how many calls of each kind are
	// between two looks at the clock. So each kind gets on in every round.
	roundTime = 200 * time.Microsecond
	roundLook = 8
)

// A Loop is one driver with its connections. Everything except inbox, bell and the counters
// belongs to the leader, and is consistent whenever foreign code runs.
type Loop struct {
	t      *Transport
	index  int
	driver Driver
	// The optional interfaces of the driver; nil if it does not implement them.
	receiver Receiver
	batcher  Batcher
	requests Requests
	registry Registry

	role  *lead.Role
	bell  *lead.Bell
	inbox lead.Inbox[message]

	batch []message // taken from the inbox; batch[:at] are done
	at    int
	now   int64
	began int64 // when the round began
	left  bool  // the round has left timers or functions that are due
	wheel clock.Wheel
	conns []*Conn // by descriptor
	count int     // connections
	feeds int     // connections that are being fed
	fed   *Conn   // which was fed last
	call  uint64  // the number of that call
	gen   uint32

	walks   []*job // the first one is in progress
	jobs    agenda
	running *job // whose function runs, perhaps on a hand that has lost the lead; nil if none does

	listeners []*Listener
	stops     []message // messages of StopAccepting that wait for the driver
	quitting  bool
	stopped   bool // the driver's requests are being cancelled
	owed      int  // bytes counted as sent that were not sent
	swept     int  // conns[:swept] are closed, while quitting
	failure   error

	wait func(fd uintptr) bool // for the bell
	idle func() bool

	resting  atomic.Int64 // feeders that stay and wait for input, less goroutines that have left their Feed
	counters counters
}

// counters are written occasionally by hands, and read by any goroutine.
type counters struct {
	accepted, stopped, stayed, read, sent, rounds, fetches atomic.Uint64
}

// pin ties a hand's thread to the loop's CPU, if it has one. Hand.Local undoes it.
func (l *Loop) pin(h *lead.Hand) {
	pin := l.t.config.Pin
	if len(pin) == 0 {
		return
	}
	runtime.LockOSThread()
	undo, err := sys.Pin(pin[l.index%len(pin)])
	if err != nil {
		runtime.UnlockOSThread()
		l.t.log("loop runs unpinned", err)
		return
	}
	h.Local = undo
}

// unpin reverses it, if the caller is the hand: foreign code may share it.
func unpin(h *lead.Hand) {
	if undo, ok := h.Local.(func() bool); ok && undo() {
		h.Local = nil
		runtime.UnlockOSThread()
	}
}

// publish adds the counts of a hand to the loop's counters.
func (l *Loop) publish(h *lead.Hand) {
	if h.Read > 0 {
		l.counters.read.Add(uint64(h.Read))
		h.Read = 0
	}
	if h.Sent > 0 {
		l.counters.sent.Add(uint64(h.Sent))
		h.Sent = 0
	}
}

// lead is the work of the loop's leader, until it is deposed or the loop is done.
func (l *Loop) lead(h *lead.Hand) {
	l.pin(h)
	defer unpin(h)
	l.inherit(h)
	for l.round(h) {
		l.publish(h)
	}
	l.publish(h)
}

// round handles pending work, and waits if there is none. It reports whether the hand still
// leads.
func (l *Loop) round(h *lead.Hand) bool {
	l.counters.rounds.Add(1)
	l.now = clock.Refresh()
	l.began, l.left = l.now, false
	h.Sent -= l.owed
	l.owed = 0
	if !l.messages(h) {
		return false
	}
	if l.wheel.Due(l.now) && !l.expire(h) {
		return false
	}
	if l.nextJob() != nil && !l.runJobs(h) {
		return false
	}
	if l.walking() && !l.walk(h) {
		return false
	}
	if l.works() {
		runtime.Gosched() // other goroutines may have little time left, too
	}
	if l.quitting {
		if !l.quit(h) {
			return false
		}
		if l.requests == nil || l.requests.Drained() {
			l.stop(h)
			return false
		}
	}
	if l.feeds > int(l.resting.Load()) {
		// Handlers that continued off the loop also need this processor.
		runtime.Gosched()
	}
	l.publish(h)
	now, err := l.bell.Wait(h, l.wakeBy(), l.wait, l.idle) // which begins with a fetch
	if err != nil {
		l.Fail(err)
	}
	l.now = now
	for {
		e, ok := l.driver.Next()
		if !ok {
			return true
		}
		if !l.event(h, e) {
			return false
		}
	}
}

// spent reports, after n calls of one kind, whether it is time for events. What is left waits
// for the next round.
func (l *Loop) spent(n int) bool {
	return n%roundLook == 0 && clock.Refresh()-l.began >= int64(roundTime)
}

// works reports whether the round has left anything but events.
func (l *Loop) works() bool { return l.left || l.at < len(l.batch) || l.walking() }

// fetch reports whether there is work: events, or the end of a loop whose driver has
// failed.
func (l *Loop) fetch() bool {
	l.counters.fetches.Add(1)
	return l.driver.Fetch() || l.failure != nil
}

// poll is fetch for a loop that waits if there is nothing: only briefly if the kernel has
// refused something.
func (l *Loop) poll(uintptr) bool {
	if l.fetch() {
		return true
	}
	if l.requests != nil && l.requests.Stuck() {
		l.bell.Until(clock.Nano() + int64(stuckPause))
	}
	return false
}

// messages handles the messages of the inbox, as many as there is time for; messages caused by
// these wait for the next round, so that events get their turn.
func (l *Loop) messages(h *lead.Hand) bool {
	if l.at == len(l.batch) && !l.inbox.Empty() {
		l.batch, l.at = l.inbox.Take(l.batch), 0
	}
	for n := 1; l.at < len(l.batch); n++ {
		m := l.batch[l.at]
		l.at++
		if !l.deliver(h, m) {
			return false
		}
		if l.spent(n) {
			return true
		}
	}
	return true
}

// event handles one event.
func (l *Loop) event(h *lead.Hand, e Event) bool {
	c := e.Conn
	switch {
	case c == nil:
		return l.accept(h, e.Listener)
	case e.Events == In && c.Usual():
		return l.read(h, c)
	}
	return l.rare(h, c, e.Events)
}

// Conn returns the connection with a descriptor and a generation, nil if it is gone.
func (l *Loop) Conn(fd int32, gen uint32) *Conn {
	if int(fd) < len(l.conns) {
		if c := l.conns[fd]; c != nil && c.gen == gen {
			return c
		}
	}
	return nil
}

// Listener returns the listener with a descriptor.
func (l *Loop) Listener(fd int) *Listener {
	for _, ln := range l.listeners {
		if ln.fd == fd {
			return ln
		}
	}
	return nil
}

// put gives the loop a message. A loop that has ended dismisses it: nobody has to look at the
// result, which is whether the loop will read the message.
func (l *Loop) put(m message) bool {
	if !l.inbox.Put(m) {
		l.dismiss(m)
		return false
	}
	l.bell.Ring()
	return true
}

// expire handles the timers that are due, as many as there is time for.
func (l *Loop) expire(h *lead.Hand) bool {
	for n := 1; !l.left; n++ {
		e := l.wheel.Pop(l.now)
		if e == nil {
			return true
		}
		if ln := l.listenerOf(e); ln != nil {
			l.listen(ln)
		} else if !l.timeout(h, fromTimer(e)) {
			return false
		}
		l.left = l.spent(n)
	}
	return true
}

// schedule makes the connection's timer fire at a deadline, or before.
func (l *Loop) schedule(c *Conn, d int64) {
	if d != 0 && (!c.timer.Set() || d < c.timer.Due()) {
		l.wheel.Add(&c.timer, d, l.now)
	}
}

// timeout handles a connection whose timer has fired.
func (l *Loop) timeout(h *lead.Hand, c *Conn) bool {
	switch {
	case c.flags&busy != 0:
		l.waits(c) // ends waits that are over, and covers later ones
	case !passed(&c.deadline, l.now):
		l.schedule(c, c.deadline.Load())
	case c.flags&lingering != 0:
		return l.drop(h, c, nil) // its session has been notified
	default:
		c.deadline.Store(0)
		l.begin(h, c)
		err := c.session.Expired(&h.Out)
		return l.end(h, c, nil, 0, err)
	}
	return true
}
