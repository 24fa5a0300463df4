package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	bufferSize    = 256 << 10
	eventsPerPoll = 128
	maxConnecting = 256 // handshakes under way at once; more overflow listen queues
	maxAsking     = 64  // connections on their way to be idle at once

	retryRefused = int64(10 * time.Millisecond)  // after a failed connect
	retryFailed  = int64(time.Millisecond)       // after a failed connection
	refusedFor   = int64(2 * time.Second)        // connects refused for this long end the run
	scanEvery    = int64(20 * time.Millisecond)  // between looks for timeouts, and the longest wait
	spinFor      = int64(100 * time.Microsecond) // polling before the thread goes to sleep
	spinMost     = int64(5 * time.Microsecond)   // of one poll; what is longer was another thread's time
)

var (
	errReset     = errors.New("connection reset by the server")
	errClosed    = errors.New("connection closed by the server")
	errShort     = errors.New("connection closed within an answer")
	errLength    = errors.New("answer of another length than expected")
	errBody      = errors.New("answer with another body than expected")
	errMalformed = errors.New("malformed answer")
	errTimeout   = errors.New("no answer in time")
	errUnasked   = errors.New("bytes that no request asked for")
	errCancelled = errors.New("cancelled")
)

// statusError is an answer of another status than expected.
type statusError struct{ got, want int }

func (e *statusError) Error() string {
	return fmt.Sprintf("answer of status %d, expected %d", e.got, e.want)
}

func wrap(doing string, err error) error { return fmt.Errorf("%s: %w", doing, err) }

// later is a connection with the time when its turn comes.
type later struct {
	c   *conn
	due int64
}

// again is a connection that stopped before its socket was empty.
type again struct {
	c     *conn
	gen   int32
	flags uint32
}

// loop is the event loop: one thread, one epoll instance, all connections.
type loop struct {
	spec     *Spec
	ctx      context.Context
	done     <-chan struct{}
	base     time.Time // of now
	epfd     int
	dialer   *dialer
	rules    *rules
	sink     *sink
	rec      *recorder
	open     *openLoop // nil: a closed loop
	template template
	batch    []byte // Spec.Pipeline requests
	buf      []byte // of all reads
	conns    []conn
	events   []unix.EpollEvent

	retry  []later
	again  []again
	turn   []again // the list that is worked through, swapped with again
	parked int64   // since when there is nothing to do; 0: there is
	spun   int64   // nanoseconds polled without a result
	last   int64   // time of the last round if that one only polled

	started      bool // requests are sent
	draining     bool // no new ones are
	connecting   int
	standing     int
	held         int // of them, those with conn.held
	nextScan     int64
	refusedSince int64 // 0: the last connect succeeded
	lastRight    int64 // last time that something succeeded
	cause        error // the last error that was counted
}

func newLoop(ctx context.Context, spec *Spec) (*loop, error) {
	d, err := newDialer(spec)
	if err != nil {
		return nil, err
	}
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, wrap("create epoll instance", err)
	}
	l := &loop{
		spec: spec, ctx: ctx, done: ctx.Done(), base: time.Now(), epfd: epfd, dialer: d,
		rec:    newRecorder(),
		batch:  bytes.Repeat(spec.Request, spec.Pipeline),
		buf:    make([]byte, bufferSize),
		conns:  make([]conn, spec.Connections),
		events: make([]unix.EpollEvent, eventsPerPoll),
		retry:  make([]later, 0, spec.Connections),
	}
	l.sink = &sink{rec: l.rec}
	if spec.Arrivals != nil {
		l.open = newOpenLoop(spec, l.rec)
	}
	l.rules = newRules(spec, l.sink)
	for i := range l.conns {
		c := &l.conns[i]
		c.fd, c.parser.rules = -1, l.rules
		l.retry = append(l.retry, later{c: c})
	}
	l.lastRight = l.now()
	return l, nil
}

// close frees all descriptors.
func (l *loop) close() {
	for i := range l.conns {
		if c := &l.conns[i]; c.fd >= 0 {
			_ = unix.Close(c.fd) // nothing to be done about an error
			c.fd = -1
		}
	}
	_ = unix.Close(l.epfd)
}

// now is nanoseconds since the loop was made, monotonic.
func (l *loop) now() int64 { return int64(time.Since(l.base)) }

// wall is nanoseconds since 1970, as the stamps of events are.
func (l *loop) wall() int64 { return time.Now().UnixNano() }

// index is the place of c, which its events carry.
func (l *loop) index(c *conn) int {
	return int((uintptr(unsafe.Pointer(c)) - uintptr(unsafe.Pointer(&l.conns[0]))) / unsafe.Sizeof(*c))
}

// later puts c up for another read in the next round.
func (l *loop) later(c *conn, flags uint32) {
	l.again = append(l.again, again{c: c, gen: c.gen, flags: flags})
}

// start sends the first requests, or lets the first arrivals come.
func (l *loop) start() {
	l.started = true
	l.lastRight = l.now()
	if l.open != nil {
		l.open.queue.Begin(l.spec.Arrivals.First(), l.now(), math.MaxInt64)
	}
	for i := range l.conns {
		if c := &l.conns[i]; c.phase == open {
			l.next(c, l.now())
		}
	}
}

// outstanding is how many connections wait for an answer.
func (l *loop) outstanding() (n int) {
	for i := range l.conns {
		if c := &l.conns[i]; c.phase == open && (c.done < l.spec.Pipeline || c.off < len(l.batch)) {
			n++
		}
	}
	return n
}

// until runs the loop up to a time, or to the end of all hope.
func (l *loop) until(t int64) error {
	for {
		now := l.now()
		if l.last != 0 {
			l.spun += min(now-l.last, spinMost)
			l.last = 0
		}
		if now >= t {
			return nil
		}
		if err := l.upkeep(now); err != nil {
			return err
		}
		wake := t
		if l.open != nil {
			wake = min(t, l.dispatch(now)-wakeEarly)
		}
		n, err := l.poll(now, wake)
		if err != nil {
			return err
		}
		if n > 0 {
			now = l.now()
		}
		for i := range l.events[:n] {
			ev := &l.events[i]
			c := &l.conns[ev.Fd]
			if c.gen == ev.Pad && c.phase != waiting {
				l.event(c, ev.Events, now)
				if l.open != nil {
					l.dispatch(l.now())
				}
			}
		}
		l.turn, l.again = l.again, l.turn[:0]
		for _, a := range l.turn {
			if a.c.gen == a.gen && a.c.phase == open {
				l.readable(a.c, a.flags)
			}
		}
	}
}

// poll waits for events. While there is traffic it only polls: a thread that
// sleeps in epoll_wait has to be woken by the server's send, which costs the
// server microseconds that are none of its own. After spinFor without an event
// it sleeps, so that idle streams leave the core alone.
func (l *loop) poll(now, t int64) (int, error) {
	n, errno := pollNow(l.epfd, l.events)
	if errno != 0 && errno != unix.EINTR {
		return 0, wrap("wait for events", errno)
	}
	if errno == unix.EINTR {
		n = 0
	}
	if n > 0 || len(l.again) > 0 {
		l.parked = 0
		return n, nil
	}
	if l.parked == 0 {
		l.parked = now
	}
	wait := min(t-now, scanEvery)
	if len(l.retry) > 0 && !l.draining {
		wait = min(wait, retryFailed)
	}
	if now-l.parked < spinFor || wait < int64(time.Millisecond) {
		l.last = now
		return 0, nil
	}
	n, err := unix.EpollWait(l.epfd, l.events, int(wait/int64(time.Millisecond)))
	if err != nil && !errors.Is(err, unix.EINTR) {
		return 0, wrap("wait for events", err)
	}
	if n > 0 {
		l.parked = 0
	}
	return max(n, 0), nil
}

// upkeep does what is due: cancellation, connects, timeouts.
func (l *loop) upkeep(now int64) error {
	select {
	case <-l.done:
		return errCancelled
	default:
	}
	if len(l.retry) > 0 && !l.draining {
		if err := l.redial(now); err != nil {
			return err
		}
	}
	if now >= l.nextScan {
		l.nextScan = now + scanEvery
		return l.scan(now)
	}
	return nil
}

// redial connects places whose time has come.
func (l *loop) redial(now int64) error {
	due := l.retry
	l.retry = l.retry[:0]
	for _, r := range due {
		if r.due > now || l.crowded() {
			l.retry = append(l.retry, r)
			continue
		}
		// A failing dial puts its place back, and what it overwrites was read.
		if err := l.dial(r.c, now); err != nil {
			return err
		}
	}
	return nil
}

// crowded reports whether there are enough handshakes under way. A server with
// thousands of requests at once would keep the memory that it needs for that,
// so idle connections come in small groups, as they do in life.
func (l *loop) crowded() bool {
	return l.connecting >= maxConnecting || l.spec.Idle && l.connecting+l.standing-l.held >= maxAsking
}

// scan looks for what takes too long.
func (l *loop) scan(now int64) error {
	timeout := int64(l.spec.Timeout)
	if l.idle(now) {
		l.lastRight = now
	}
	for i := range l.conns {
		c := &l.conns[i]
		if now-c.sent <= timeout {
			continue
		}
		switch {
		case c.phase == connecting:
			l.connectFailed(c, unix.ETIMEDOUT, now)
		case c.phase == open && (c.done < l.spec.Pipeline || c.off < len(l.batch)):
			l.cause = errTimeout
			l.fail(c, kindTimeout, now+retryFailed)
		}
	}
	if l.refusedSince != 0 && now-l.refusedSince > refusedFor {
		return l.cause
	}
	// Half as much again, so that a connection that replaced a stalled one has
	// its chance.
	if !l.draining && now-l.lastRight > timeout+timeout/2 {
		cause := l.cause
		if cause == nil {
			cause = errTimeout
		}
		return fmt.Errorf("no right answer for %v: %w", time.Duration(now-l.lastRight).Round(time.Millisecond), cause)
	}
	return nil
}
