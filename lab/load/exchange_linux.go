package load

import (
	"errors"
	"fmt"

	"github.com/redline-go/redline/lab/load/h1"
	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/tally"
)

var (
	errReset     = errors.New("connection reset by the server")
	errClosed    = errors.New("connection closed by the server")
	errShort     = errors.New("connection closed within an answer")
	errLength    = errors.New("answer of another length than expected")
	errBody      = errors.New("answer with another body than expected")
	errMalformed = errors.New("malformed answer")
	errHeader    = errors.New("answer whose head, or trailers, do not end")
	errChunk     = errors.New("answer with broken chunks")
	errEndless   = errors.New("answer whose body does not end")
	errTimeout   = errors.New("no answer in time")
	errUnasked   = errors.New("bytes that no request asked for")
	errCancelled = errors.New("cancelled")
)

// statusError is an answer of another status than expected.
type statusError struct{ got, want int }

func (e *statusError) Error() string {
	return fmt.Sprintf("answer of status %d, expected %d", e.got, e.want)
}

// exchange is a request with its answer, or a batch of them, whatever protocol
// carries it: what becomes of it is counted in one way.
type exchange struct {
	sent    int64         // time when it began
	first   int64         // time of the first byte of an answer that comes in pieces; 0: none does
	turn    *turn         // of a scenario
	arrival tally.Arrival // of an open loop
}

// answer is a complete answer as a protocol found it.
type answer struct {
	verdict h1.Verdict
	failed  string // the check of the scenario that failed; empty: none
	status  int
}

// answer counts a complete answer, which failed a check or not. target is of a
// scenario.
func (l *loop) answer(x *exchange, target *scenario.Target, a answer, now int64) {
	switch {
	case a.failed != "":
		l.rec.Errors[tally.KindCheck]++
		l.cause = &checkError{target: target.Name(), check: a.failed}
		if l.counted(x, target) {
			l.play.counts[target.Index()].failed[a.failed]++
		}
	case a.verdict == h1.Right:
		l.right(x, target, 1, now)
		return
	case a.verdict == h1.BadStatus:
		l.rec.Errors[tally.KindStatus]++
		l.cause = &statusError{got: a.status, want: l.spec.Expect.Status}
	case a.verdict == h1.BadLength:
		l.rec.Errors[tally.KindLength]++
		l.cause = errLength
	default:
		l.rec.Errors[tally.KindBody]++
		l.cause = errBody
	}
	x.first = 0
	l.rec.Answered++
	if l.open != nil {
		l.open.Fail(&x.arrival)
	}
}

// lostExchange counts the failure of an outstanding request for its target.
func (l *loop) lostExchange(x *exchange, target *scenario.Target) {
	if l.counted(x, target) {
		l.play.counts[target.Index()].errors++
	}
}

// counted reports whether what becomes of a target's request belongs to the window:
// in an open loop by the time at which it was due, in a closed one always, for
// there the window begins with new counts. Setup is counted whenever it comes.
func (l *loop) counted(x *exchange, target *scenario.Target) bool {
	return l.open == nil || target.Setup() || l.open.Within(x.arrival.Intended)
}

// right counts answers that were.
func (l *loop) right(x *exchange, target *scenario.Target, n int, now int64) {
	l.rec.Answered += uint64(n)
	l.lastRight = now
	if target != nil && l.play.constant == nil && l.rightTarget(x, target, now) {
		return
	}
	l.rec.Requests += uint64(n)
	if x.first != 0 {
		l.inPieces(x, now)
	}
	if l.open != nil {
		l.open.Right(&x.arrival, now)
		return
	}
	l.rec.Latency(now-x.sent, n)
}

// rightTarget counts a right answer for its target. It reports whether that was
// setup, of which nothing else is recorded.
func (l *loop) rightTarget(x *exchange, target *scenario.Target, now int64) (setup bool) {
	setup = target.Setup()
	if l.counted(x, target) {
		since := x.sent
		if l.open != nil && !setup {
			since = x.arrival.Intended
		}
		count := &l.play.counts[target.Index()]
		count.requests++
		tally.Record(count.hist, now-since, 1)
	}
	if setup {
		x.first = 0
	}
	return setup
}

// inPieces records the first byte of an answer that more than one read brought.
func (l *loop) inPieces(x *exchange, now int64) {
	if l.open == nil || l.open.Within(x.arrival.Intended) {
		since := x.sent
		if l.open != nil {
			since = x.arrival.Sent
		}
		tally.Record(l.rec.First, x.first-since, 1)
		tally.Record(l.rec.Pieces, now-since, 1)
	}
	x.first = 0
}
