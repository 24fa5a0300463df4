package request

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/h1"
	"github.com/redline-go/redline/lab/load/h2"
	"github.com/redline-go/redline/lab/load/run"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/load/tlsclient"
	"github.com/redline-go/redline/lab/load/wire"
)

const (
	bufferSize    = 256 << 10
	eventsPerPoll = 128
	dialArrears   = int64(10 * time.Millisecond) // longest delay that Spec.ConnectRate makes up for
	maxConnecting = 256                          // handshakes under way at once; more overflow listen queues
	maxAsking     = 64                           // connections that become idle at once

	retryRefused = int64(10 * time.Millisecond) // after a failed connect
	retryFailed  = int64(time.Millisecond)      // after a failed connection
	refusedFor   = int64(2 * time.Second)       // connects refused for this long end the run
	scanEvery    = int64(20 * time.Millisecond) // between checks for timeouts, and the longest wait
)

func wrap(doing string, err error) error { return fmt.Errorf("%s: %w", doing, err) }

// later is a connection with the time when it is due.
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
	spec     *spec.Spec
	ctx      context.Context
	done     <-chan struct{}
	base     time.Time // of Now
	poll     *wire.Poller
	dialer   *wire.Dialer
	rules    *h1.Rules
	rec      *tally.Recorder
	flight   tally.Flight
	open     *openLoop  // nil: a closed loop
	play     *play      // nil: one request, without a scenario
	ramp     *rampState // nil: all connections are active throughout
	template h1.Template
	learned  answer // the template's
	answers  tally.Answers
	reel     reel        // of requests, without a scenario
	repeats  bool        // all answers are the same, so that the template applies
	piece    []byte      // of streamed bodies
	buf      []byte      // of all reads
	common   wire.Common // of connections with TLS or HTTP/2
	request  *h2.Request // without a scenario
	dirty    []*mux      // with unsent frames of arrivals
	conns    []conn

	timers run.Timers
	quota  quota // of requests, in a closed loop
	polled int64 // time until which events have been processed
	retry  []later
	again  []again
	turn   []again // the list being processed, swapped with again

	thread tally.Thread // this one

	started      bool // requests are sent
	draining     bool // no new requests are sent
	resigned     bool // do not give up again
	made         int  // places that have had a connection, or are to get one now
	connecting   int
	standing     int // established connections
	most         int // the maximum of standing before the start
	held         int // established connections with conn.held
	owed         int // requests, or batches, that wait for a connection or a stream: see hold
	nextScan     int64
	deferred     int   // stalls that put off the next scan
	nextDial     int64 // when Spec.ConnectRate allows another connect
	broken       error // why the loop cannot continue
	refusedSince int64 // 0: the last connect succeeded
	lastRight    int64 // last time that something succeeded
	cause        error // the last error that was counted
}

func newLoop(ctx context.Context, order *spec.Spec) (l *loop, err error) {
	l = &loop{
		spec: order, ctx: ctx, done: ctx.Done(), base: time.Now(),
		rec:   tally.NewRecorder(),
		buf:   make([]byte, bufferSize),
		conns: make([]conn, order.Connections),
		retry: make([]later, 0, order.Connections),
	}
	for i := range l.conns {
		l.conns[i].fd = -1
	}
	l.common = wire.Common{BytesOut: &l.rec.BytesOut, MaxOwed: tlsclient.MaxOwed, KeepFrames: keptFrames, KeepPending: keptPending}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	sources, err := wire.ParseSources(order.Sources)
	if err != nil {
		return l, err
	}
	slow := order.Slow
	if slow.Connections == 0 {
		slow.Connections = order.Connections
	}
	if l.dialer, err = wire.NewDialer(wire.Config{
		Addr: order.Addr, Connections: order.Connections, Congestion: order.Congestion, Sources: sources,
		ReadBuffer: receiveBuffer(&slow), SlowReaders: slow.Connections,
	}); err != nil {
		return l, err
	}
	if l.poll, err = wire.NewPoller(eventsPerPoll); err != nil {
		return l, err
	}
	if order.Arrivals != nil {
		l.open = newOpenLoop(order, l.rec)
	}
	if order.Scenario != nil {
		if l.play, err = newPlay(order); err != nil {
			return l, err
		}
	}
	if order.TLS != nil {
		if l.common.TLS, err = tlsclient.For(order.TLS, order.HTTP2); err != nil {
			return l, err
		}
	}
	if order.HTTP2 {
		if err := l.newHTTP2(); err != nil {
			return l, err
		}
	}
	l.rules = newRules(order)
	l.prepare()
	if l.made = len(l.conns); order.Initial > 0 {
		l.made = order.Initial
		l.retry = l.retry[:l.made]
	}
	if order.Ramp != nil {
		l.ramp = newRampState(order)
		l.retry = l.retry[:l.ramp.want]
	}
	l.lastRight = l.Now()
	return l, nil
}

// prepare initializes the places of all connections.
func (l *loop) prepare() {
	l.repeats = l.play == nil || l.play.constant != nil
	var batch []byte
	if l.play != nil {
		batch = l.play.constant
	} else {
		l.reel = newReel(l.spec.Pipeline, l.spec.Request, l.spec.More...)
		batch, _ = l.reel.batch(0)
	}
	for i := range l.conns {
		c := &l.conns[i]
		c.parser.Rules, c.detour = l.rules, l.spec.Slow.Applies(i)
		if l.common.TLS != nil || l.common.HTTP2 != nil {
			l.newWire(c, i)
		}
		if c.mux != nil {
			l.retry = append(l.retry, later{c: c})
			continue
		}
		if l.repeats {
			c.out, c.asked = batch, l.spec.Pipeline
		}
		if l.play != nil {
			l.play.assign(l.spec, c, i)
		} else {
			c.follow = l.reel.place(i)
		}
		c.settle()
		l.retry = append(l.retry, later{c: c})
	}
}

// Close frees all descriptors.
func (l *loop) Close() error {
	for i := range l.conns {
		if c := &l.conns[i]; c.fd >= 0 {
			if c.wire != nil {
				l.hangUp(c)
			}
			// close(2) on a socket frees the descriptor whatever it returns.
			_ = unix.Close(c.fd)
			c.fd = -1
		}
	}
	if l.poll != nil {
		_ = l.poll.Close() // an error has no consequence
	}
	if l.play == nil {
		return nil
	}
	return l.play.close()
}

// Now returns the nanoseconds since the loop was made, monotonic.
func (l *loop) Now() int64 { return int64(time.Since(l.base)) }

// index returns the place of c, which is in its events.
func (l *loop) index(c *conn) int {
	return int((uintptr(unsafe.Pointer(c)) - uintptr(unsafe.Pointer(&l.conns[0]))) / unsafe.Sizeof(*c))
}

// later schedules another read of c in the next round.
func (l *loop) later(c *conn, flags uint32) {
	l.again = append(l.again, again{c: c, gen: c.gen, flags: flags})
}

// start sends the first requests, or begins the arrivals.
func (l *loop) start() {
	l.started = true
	l.lastRight = l.Now()
	l.thread.Slept(l.lastRight, l.lastRight)
	l.thread.Take()
	if l.open != nil {
		l.open.queue.Begin(l.spec.Arrivals.First(), l.Now(), math.MaxInt64)
	}
	for i := range l.conns {
		if c := &l.conns[i]; c.phase == open {
			l.enter(c, l.Now())
		}
	}
}

// outstanding returns how many connections wait for an answer.
func (l *loop) outstanding() (n int) {
	for i := range l.conns {
		if c := &l.conns[i]; c.owes() || c.phase == open && c.waits() {
			n++
		}
	}
	return n
}

// Spun returns the time of polls that found nothing, in nanoseconds.
func (l *loop) Spun() int64 { return l.poll.Spun }

// Until runs the loop up to a time, or until it gives up.
func (l *loop) Until(t int64) error {
	for {
		now := l.Now()
		if now >= t {
			return nil
		}
		l.awake(now)
		if err := l.upkeep(now); err != nil {
			return err
		}
		if l.complete() {
			return run.ErrComplete
		}
		wake := t
		if l.open != nil {
			wake = min(t, l.dispatch(now)-wakeEarly)
		}
		if due, ok := l.timers.Next(); ok {
			wake = min(wake, due)
		}
		l.polled = now
		if err := l.wait(now, l.sleep(now, wake)); err != nil {
			return err
		}
	}
}

// sleep returns until when the thread may sleep if there is no event.
func (l *loop) sleep(now, t int64) int64 {
	if l.dials() {
		return min(t, now+retryFailed)
	}
	return min(t, now+scanEvery)
}

// upkeep does what is due: cancellation, connects, timeouts.
func (l *loop) upkeep(now int64) error {
	select {
	case <-l.done:
		return run.ErrCancelled
	default:
	}
	if l.broken != nil {
		return l.broken
	}
	// Not timers that have become due since: if a connection was closed during the
	// think time, that event is processed before the request, however late this thread is.
	l.fire(l.polled)
	if l.dials() && now >= l.nextDial {
		if err := l.redial(now); err != nil {
			return err
		}
	}
	if now >= l.nextScan {
		l.nextScan, l.deferred = now+scanEvery, 0
		return l.scan(now)
	}
	return nil
}

// ending reports whether no more requests begin.
func (l *loop) ending() bool { return l.draining || l.quota.spent() }

// dials reports whether places wait for a connection.
func (l *loop) dials() bool { return len(l.retry) > 0 && (!l.ending() || l.owed > 0) }

// redial connects the places that are due.
func (l *loop) redial(now int64) error {
	due := l.retry
	l.retry = l.retry[:0]
	for _, r := range due {
		if l.ramp != nil && l.missing(r.c) {
			continue
		}
		if r.due > now || l.crowded() || now < l.nextDial || l.ending() && !r.c.owes() {
			l.retry = append(l.retry, r)
			continue
		}
		// A failing dial appends its place again; the element that it overwrites was read.
		if err := l.dial(r.c, now); err != nil {
			return err
		}
		if l.spec.ConnectRate > 0 {
			// Missed connects are made up for, but not all at once.
			l.nextDial = max(l.nextDial, now-dialArrears) + int64(float64(time.Second)/l.spec.ConnectRate)
		}
	}
	return nil
}

// crowded reports whether there are enough handshakes under way. Thousands of requests at
// once would permanently increase the server's memory, so idle connections are made
// in small groups.
func (l *loop) crowded() bool {
	return l.connecting >= maxConnecting || l.spec.Idle && l.connecting+l.standing-l.held >= maxAsking
}

// wait waits for events until a time, and processes them.
func (l *loop) wait(now, t int64) error {
	if _, _, err := l.poll.Wait(now, t, len(l.again) > 0); err != nil {
		return err
	}
	now = l.Now()
	l.slept(t, now)
	for i := range l.poll.Events {
		ev := &l.poll.Events[i]
		c := &l.conns[ev.Fd]
		if c.gen == ev.Pad && c.phase != waiting {
			l.event(c, ev.Events, now)
			if l.open != nil {
				l.dispatch(l.Now())
			}
		}
	}
	l.turn, l.again = l.again, l.turn[:0]
	for _, a := range l.turn {
		if a.c.gen == a.gen && a.c.phase >= handshaking {
			l.readable(a.c, a.flags)
		}
	}
	return nil
}
