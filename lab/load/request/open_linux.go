package request

import (
	"math"
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/run"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
)

const (
	// sendsPerTurn is how many arrivals of a backlog are sent before answers are read:
	// each send delays the reading.
	sendsPerTurn = 8

	// wakeEarly is how long before an arrival is due the thread wakes and polls. The
	// kernel wakes it up to 50 microseconds late, and an idle core takes
	// as long again; the rest is reserve.
	wakeEarly = int64(300 * time.Microsecond)
)

// openLoop is the state of a loop whose requests are sent by a plan of arrivals.
type openLoop struct {
	*tally.Ledger
	queue *arrive.Queue
}

func newOpenLoop(order *spec.Spec, rec *tally.Recorder) *openLoop {
	return &openLoop{Ledger: tally.NewLedger(rec), queue: arrive.NewQueue(order.Places())}
}

// dispatch sends arrivals that are due, as far as connections are free, and returns the
// time at which there is more to send.
func (l *loop) dispatch(now int64) int64 {
	l.awake(now)
	for range sendsPerTurn {
		a, ok := l.open.queue.Take(now)
		if !ok {
			break
		}
		if l.common.HTTP2 != nil {
			now = l.dispatchStream(a, now)
			continue
		}
		c := &l.conns[a.Conn]
		if l.play != nil {
			l.play.compose(c, 1)
			now = l.Now()
		}
		c.arrival = l.open.Send(a, now)
		l.begin(c, now)
		now = l.Now()
	}
	for _, m := range l.dirty {
		m.dirty = false
		l.flushFrames(m.c)
	}
	l.dirty = l.dirty[:0]
	l.grow(now)
	return l.open.queue.Ready()
}

// dispatchStream passes an arrival to a requester of HTTP/2. It is sent with the other
// arrivals of its connection in this turn.
func (l *loop) dispatchStream(a arrive.Arrival, now int64) int64 {
	m, i := l.conns[a.Conn/l.spec.Streams].mux, a.Conn%l.spec.Streams
	s := &m.requesters[i]
	if l.broken = m.compose(s); l.broken != nil {
		return now
	}
	if l.play != nil {
		now = l.Now()
	}
	s.arrival = l.open.Send(a, now)
	m.arrive(i, now)
	return now
}

// next continues a connection that has nothing outstanding: with a
// pause, its end, or another request.
func (l *loop) next(c *conn, now int64) {
	think := l.think(c)
	switch {
	case l.ramp != nil && l.leaves(c):
		l.retire(c)
	case l.spec.PerConnection > 0 && int(c.parser.Count) >= l.spec.PerConnection:
		l.drop(c, now+think)
	case think > 0:
		c.until = now + think
		l.wake(c, c.until, wakeThink)
	default:
		l.ready(c, now)
	}
}

// think returns how long a user waits after its last answer, in nanoseconds.
func (l *loop) think(c *conn) int64 {
	if c.turn == nil || c.asked == 0 {
		return 0
	}
	return int64(c.turn.user.Think(c.turn.targets[c.asked-1]))
}

// ready lets a connection send its next request.
func (l *loop) ready(c *conn, now int64) {
	switch {
	case l.open != nil && (c.turn == nil || l.play.constant != nil || !c.turn.peek().Setup()):
		l.open.queue.Free(l.index(c), now)
	case l.spec.Idle && c.parser.Count > 0:
		c.held = true
		l.held++
	case l.quota.on && !l.draining:
		l.spend(c, now)
	case l.play != nil && !l.draining:
		l.play.compose(c, l.spec.Pipeline)
		l.begin(c, l.Now())
	default:
		l.begin(c, now)
	}
}

// lost updates the counts for a lost connection and its arrival, if it has one.
func (l *loop) lost(c *conn) {
	if c.mux != nil {
		c.mux.lost()
		return
	}
	if c.owes() {
		return
	}
	l.flight.Add(c.done-c.asked, l.Now())
	if c.held {
		c.held = false
		l.held--
	}
	if l.play != nil {
		l.play.lost(c)
	}
	if l.open != nil {
		l.open.Fail(&c.arrival)
		l.open.queue.Lost(l.index(c))
	}
}

// idle reports whether the loop waits only for time, not for answers.
func (l *loop) idle(now int64) bool {
	if l.open == nil && !l.spec.Idle && l.play == nil && l.spec.ConnectRate == 0 && l.ramp == nil || l.open != nil && l.open.queue.Waiting(now) > 0 {
		return false
	}
	return l.outstanding() == 0
}

// unfinished gives up an arrival that is still unanswered.
func (l *loop) unfinished(x *exchange, now int64) {
	if !x.arrival.Pending {
		return
	}
	l.open.GiveUp(x.arrival.Intended, now)
	if l.play != nil {
		l.play.unfinished(x, l.open, now)
	}
	x.arrival.Pending = false
}

// settle waits for the answers to all arrivals of the window, including those that were
// unsent when it ended, and gives up the rest.
func (l *loop) settle(r *run.Runner, res *spec.Result) (err error) {
	l.lastRight = l.Now() // a silent server ends the wait here, not the run
	patience := l.spec.Timeout
	if res.Cut {
		patience = min(patience, cutFor)
	}
	for end, more := l.Now()+int64(patience), true; more && !l.idle(l.Now()) && l.Now() < end; {
		if more, err = l.await(r.Step); err != nil {
			return err
		}
	}
	now := l.Now()
	for {
		intended, ok := l.open.queue.GiveUp(now)
		if !ok {
			break
		}
		l.open.Abandon(intended, now)
	}
	for i := range l.conns {
		c := &l.conns[i]
		l.unfinished(&c.exchange, now)
		if c.mux != nil {
			for i := range c.mux.requesters {
				l.unfinished(&c.mux.requesters[i].exchange, now)
			}
		}
	}
	sent := res.Open.Sent
	res.TimedOut = l.open.TimedOut
	l.describeAnswers(res)
	if res.FirstByte, err = tally.Encode(l.rec.FirstBytes(l.open.ServiceTimes)); err != nil {
		return err
	}
	if l.play != nil {
		if res.Targets, err = l.play.result(uint64(l.open.ServiceTimes.TotalCount()), l.rec.Hist); err != nil {
			return err
		}
		if res.Flows, err = l.flows(); err != nil {
			return err
		}
	}
	if res.Open, err = l.open.Result(); err != nil {
		return err
	}
	if res.Steps, err = l.open.Steps(); err != nil {
		return err
	}
	res.Open.Due, res.Open.Sent = l.open.queue.Due(math.MaxInt64-1), sent
	res.Histogram, err = tally.Encode(l.rec.Hist)
	return err
}
