package request

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
)

// minPatience and minSteps are how long the end of a closed loop waits for answers, and how
// often it checks for them, at least.
const minPatience, minSteps = time.Second, 200

// A tail is the end of a closed loop: the window's distributions, which no longer grow, and
// the requests that were in flight when it ended.
//
// Requests that are answered now are not counted, while those that were in flight when the
// window began are. If they take more than twice as long as any in the window,
// their latencies are recorded: omitting them would favour the server. Requests that get
// no answer count as unanswered, and their ages are recorded as lower bounds of their
// latencies.
type tail struct {
	*loop
	hist, first, pieces *hdrhistogram.Histogram
	counts              []targetCount // of a scenario
	flights             []flight
	limit               int64  // twice the longest latency in the window
	answered            uint64 // of the recorder, when the flights were last checked
	unanswered, late    uint64
}

// flight is what a connection, or one of its streams, waits for: answers, or the end of its
// handshake.
type flight struct {
	c        *conn
	s        *requester // nil: not HTTP/2
	gen      int32
	sent     int64
	requests int // 0: a handshake
}

// newTail moves the window's distributions from the loop, which gets empty ones.
func newTail(l *loop) *tail {
	r := l.rec
	t := &tail{loop: l, hist: r.Hist, first: r.First, pieces: r.Pieces, limit: max(2*r.Hist.Max(), int64(drainFor)), answered: r.Answered}
	r.Hist, r.First, r.Pieces = tally.NewHistogram(), tally.NewHistogram(), tally.NewHistogram()
	if l.play != nil {
		t.counts, l.play.counts = l.play.counts, newCounts(len(l.play.counts))
	}
	if l.quota.want = 0; l.quota.done { // all requests are answered
		return t
	}
	for i := range l.conns {
		c := &l.conns[i]
		f := flight{c: c, gen: c.gen, sent: c.sent}
		switch {
		case c.phase != open && !c.owes():
			if f.sent = c.dialed; c.phase != waiting {
				t.flights = append(t.flights, f)
			}
		case c.mux != nil:
			for i := range c.mux.requesters {
				if s := &c.mux.requesters[i]; s.slot >= 0 || s.again {
					f.s, f.sent, f.requests = s, s.sent, 1
					t.flights = append(t.flights, f)
				}
			}
		case c.busy():
			f.requests = c.asked - c.done
			t.flights = append(t.flights, f)
		}
	}
	return t
}

// wait waits for the answers, and then returns the completed distributions to the loop.
func (t *tail) wait(step func() error, cut bool) error {
	patience := min(max(t.limit, int64(minPatience)), int64(t.spec.Timeout))
	if t.spec.Slow != (spec.Slow{}) { // an answer takes as long as the client makes it
		patience = int64(t.spec.Timeout)
	}
	if cut {
		patience = min(patience, int64(cutFor))
	}
	t.draining = true
	begin, more := t.Now(), true
	for steps := 0; more && len(t.flights) > 0; steps++ {
		// A thread that is hardly scheduled has not read all answers that have arrived.
		if past := t.Now() - begin; past >= patience && (steps >= minSteps || past >= int64(t.spec.Timeout)) {
			break
		}
		var err error
		if more, err = t.await(step); err != nil {
			return err
		}
		t.look()
	}
	now := t.Now()
	for _, f := range t.flights {
		if now-f.sent > t.limit {
			t.lose(f, max(f.requests, 1), now)
		}
	}
	t.addLate()
	t.rec.Hist, t.rec.First, t.rec.Pieces = t.hist, t.first, t.pieces
	if t.play != nil {
		t.play.counts = t.counts
	}
	return nil
}

// look removes the flights that have ended, and counts those among them without an answer.
func (t *tail) look() {
	var before, after int
	var ended []flight
	left := t.flights[:0]
	for _, f := range t.flights {
		before += f.requests
		if f.over() {
			ended = append(ended, f)
			continue
		}
		if f.s == nil && f.requests > 0 {
			f.requests = f.c.asked - f.c.done
		}
		after += f.requests
		left = append(left, f)
	}
	t.flights = left
	lost := before - after - int(t.rec.Answered-t.answered)
	t.answered = t.rec.Answered
	for _, f := range ended {
		if n := min(lost, f.requests); n > 0 {
			t.lose(f, n, t.Now())
			lost -= n
		}
	}
}

// over reports whether a flight no longer waits for anything.
func (f *flight) over() bool {
	switch {
	case f.s != nil: // it may be sent again, on the next connection
		return f.s.slot < 0 && !f.s.again || f.s.sent != f.sent
	case f.requests == 0:
		return f.c.gen != f.gen || f.c.phase == open
	}
	return !f.c.busy() || f.c.sent != f.sent
}

// lose counts the last n requests of a flight as unanswered; a handshake is one.
func (t *tail) lose(f flight, n int, now int64) {
	age := now - f.sent
	t.unanswered += uint64(n)
	tally.Record(t.hist, age, n)
	if f.requests == 0 {
		return
	}
	x := &f.c.exchange
	if f.s != nil {
		x = &f.s.exchange
	}
	if x.first > f.sent { // the answer has begun
		tally.Record(t.pieces, age, 1)
		tally.Record(t.first, x.first-f.sent, 1)
	}
	if t.play == nil {
		return
	}
	targets := x.turn.targets
	for _, target := range targets[max(0, len(targets)-n):] {
		c := &t.counts[target.Index()]
		c.errors++
		if t.play.constant == nil { // whose only target has the loop's own distribution
			tally.Record(c.hist, age, 1)
		}
	}
}

// addLate adds the latencies of answers that came after the window and took too long.
func (t *tail) addLate() {
	add := func(to, late *hdrhistogram.Histogram) (n uint64) {
		for _, bar := range late.Distribution() {
			if bar.Count > 0 && bar.From > t.limit {
				tally.Record(to, bar.To, int(bar.Count))
				n += uint64(bar.Count)
			}
		}
		return n
	}
	t.late = add(t.hist, t.rec.Hist)
	for i := range t.counts {
		add(t.counts[i].hist, t.play.counts[i].hist)
	}
}
