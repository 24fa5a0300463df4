package load

import (
	"math"
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
)

const (
	// sendsPerTurn bounds what is sent of a backlog before answers are read: each
	// send delays the time at which they are.
	sendsPerTurn = 8

	// wakeEarly is how long before an arrival is due the thread is awake and
	// polls. The kernel wakes it up to 50 microseconds after the time it asked
	// for, and an idle core takes as long again; the rest is reserve.
	wakeEarly = int64(300 * time.Microsecond)
)

// openLoop is what a loop has beside its connections when requests come from a
// plan, and not from answers.
type openLoop struct {
	*ledger
	queue *arrive.Queue
}

func newOpenLoop(spec *Spec, rec *recorder) *openLoop {
	return &openLoop{ledger: newLedger(rec), queue: arrive.NewQueue(spec.Connections)}
}

// dispatch sends what is due, as far as connections are free, and returns the
// time from which on there is more to send.
func (l *loop) dispatch(now int64) int64 {
	for range sendsPerTurn {
		a, ok := l.open.queue.Take(now)
		if !ok {
			break
		}
		c := &l.conns[a.Conn]
		c.arrival = l.open.sent(a, now)
		l.begin(c, now)
		now = l.now()
	}
	return l.open.queue.Ready()
}

// next gives a connection that has nothing outstanding what is next for it.
func (l *loop) next(c *conn, now int64) {
	switch {
	case l.open != nil:
		l.open.queue.Free(l.index(c), now)
	case l.spec.Idle && c.parser.count > 0:
		c.held = true
		l.held++
	default:
		l.begin(c, now)
	}
}

// lost takes note of a connection that is gone, with the arrival that it
// carried, if it did.
func (l *loop) lost(c *conn) {
	if c.held {
		c.held = false
		l.held--
	}
	if l.open != nil {
		l.open.failed(&c.arrival)
		l.open.queue.Lost(l.index(c))
	}
}

// idle reports whether there is nothing to wait for but time.
func (l *loop) idle(now int64) bool {
	if l.open == nil && !l.spec.Idle || l.open != nil && l.open.queue.Waiting(now) > 0 {
		return false
	}
	return l.outstanding() == 0
}

// settle waits for the answers to all arrivals of the window, those that were
// not even sent when it ended too, and gives up on the rest.
func (r *runner) settle(res *Result) (err error) {
	l := r.loop
	l.lastRight = l.now() // a server that is silent is given up here, and the run with it is not
	patience := r.spec.Timeout
	if res.Cut {
		patience = min(patience, cutFor)
	}
	for end := l.now() + int64(patience); !l.idle(l.now()) && l.now() < end; {
		if err := r.until(l.now() + int64(time.Millisecond)); err != nil {
			return err
		}
	}
	now := l.now()
	for {
		intended, ok := l.open.queue.GiveUp(now)
		if !ok {
			break
		}
		l.open.unfinished(intended, now)
	}
	for i := range l.conns {
		if c := &l.conns[i]; c.arrival.pending {
			l.open.unfinished(c.arrival.intended, now)
			c.arrival.pending = false
		}
	}
	sent := res.Open.Sent
	if res.Open, err = l.open.result(); err != nil {
		return err
	}
	res.Open.Due, res.Open.Sent = l.open.queue.Due(math.MaxInt64-1), sent
	res.Histogram, err = encode(l.rec.hist)
	return err
}
