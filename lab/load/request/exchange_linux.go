package request

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/redline-go/redline/lab/load/h1"
	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
)

var (
	errReset     = errors.New("connection reset by the server")
	errClosed    = errors.New("connection closed by the server")
	errShort     = errors.New("connection closed in the middle of an answer")
	errLength    = errors.New("answer of another length than expected")
	errBody      = errors.New("answer with another body than expected")
	errMalformed = errors.New("malformed answer")
	errHeader    = errors.New("answer whose head or trailers do not end")
	errChunk     = errors.New("answer with broken chunks")
	errEndless   = errors.New("answer whose body does not end")
	errTimeout   = errors.New("no answer in time")
	errUnasked   = errors.New("bytes that no request asked for")
)

// statusError is an answer of another status than expected.
type statusError struct{ got, want int }

func (e *statusError) Error() string {
	return fmt.Sprintf("answer of status %d, expected %d", e.got, e.want)
}

// exchange is a request with its answer, or a batch of them, of any protocol, so that
// results are counted in one way.
type exchange struct {
	sent    int64         // time when it began
	first   int64         // time of the first byte of an answer that arrives in pieces; 0: none
	turn    *turn         // of a scenario
	arrival tally.Arrival // of an open loop
}

// answer is what a protocol reports of a complete answer.
type answer struct {
	verdict h1.Verdict
	failed  string // the check of the scenario that failed; empty: none
	status  int
	size    int64 // of the body
}

// answer counts a complete answer. target is nil without a scenario.
func (l *loop) answer(x *exchange, target *scenario.Target, a answer, now int64) {
	if target != nil && target.Flow() >= 0 {
		l.step(x, target, now)
	}
	if (l.open == nil || l.open.Within(x.arrival.Intended)) && (target == nil || !target.Setup()) {
		l.answers.Add(a.status, 1, a.size, a.verdict == h1.Right && a.failed == "")
	}
	k := tally.KindBody
	switch {
	case a.failed != "":
		k = tally.KindCheck
		l.cause = &checkError{target: target.Name(), check: a.failed}
		if l.counted(x, target) {
			l.play.counts[target.Index()].failed[a.failed]++
		}
	case a.verdict == h1.Right:
		l.right(x, target, 1, now)
		return
	case a.verdict == h1.BadStatus:
		k = tally.KindStatus
		l.cause = &statusError{got: a.status, want: l.spec.Expect.Status}
	case a.verdict == h1.BadLength:
		k = tally.KindLength
		l.cause = errLength
	default:
		l.cause = errBody
	}
	l.rec.Errors[k] += l.quota.errors(1, target)
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
	if target.Flow() >= 0 {
		l.abort(x, target)
	}
}

// counted reports whether the result of a target's request belongs to the window:
// in an open loop by the time at which it was due, in a closed one always, because
// there the window begins with new counts. Setup is always counted.
func (l *loop) counted(x *exchange, target *scenario.Target) bool {
	return l.open == nil || target.Setup() || l.open.Within(x.arrival.Intended)
}

// right counts n right answers.
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
	if l.ramp != nil {
		l.rightInRamp(now, now-x.sent, n)
	}
	l.rec.Latency(now-x.sent, n)
}

// rightTarget counts a right answer for its target. It reports whether the target is
// setup, of which nothing else is recorded.
func (l *loop) rightTarget(x *exchange, target *scenario.Target, now int64) (setup bool) {
	setup = target.Setup()
	since := x.sent
	if l.open != nil && !setup {
		since = x.arrival.Intended
	}
	if !setup {
		l.play.moments.add(target.Index(), now-since)
	}
	if l.counted(x, target) {
		count := &l.play.counts[target.Index()]
		count.requests++
		tally.Record(count.hist, now-since, 1)
	}
	if setup {
		x.first = 0
	}
	return setup
}

// inPieces records the first byte of an answer that took more than one read.
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

// newRules returns the parser's rules for answers. Answers of a scenario are judged
// by its checks.
func newRules(order *spec.Spec) *h1.Rules {
	r := &h1.Rules{MaxBody: cmp.Or(order.MaxBody, spec.DefaultMaxBody)}
	if order.Scenario != nil {
		r.AnyBody = true
		return r
	}
	r.Status, r.Body = order.Expect.Status, order.Expect.Body
	r.AnyBody = r.Body == nil
	r.HeadOnly = bytes.HasPrefix(order.Request, []byte("HEAD "))
	if r.AnyBody && len(order.More) == 0 {
		r.Sample = h1.NewSample(order.Request)
	}
	return r
}

// describeAnswers stores the statuses and bodies of the window's answers in res.
func (l *loop) describeAnswers(res *spec.Result) {
	l.answers.Result(res)
	if s := l.rules.Sample; s != nil && res.Bodies != nil {
		res.Bodies.Compared, res.Bodies.Differed = s.Compared, s.Differed
	}
}

// consume handles bytes of answers.
func (l *loop) consume(c *conn, in []byte, now int64) {
	limit, early := c.asked, c.writing()
	if early {
		limit = l.requests(c)
	}
	if !c.parser.Begun() {
		if n := l.template.Match(in, limit-c.done); n > 0 {
			in = in[n*l.template.Size():]
			c.done += n
			c.parser.Count += uint32(n)
			l.flight.Add(-n, now)
			if l.open == nil || l.open.Within(c.arrival.Intended) {
				l.answers.Add(l.learned.status, n, l.learned.size, true)
			}
			l.right(&c.exchange, nil, n, now)
			if early {
				l.answeredEarly(c)
			}
		}
	}
	for len(in) > 0 {
		if c.done >= limit {
			l.cause = errUnasked
			l.fail(c, tally.KindUnasked, now+retryFailed)
			return
		}
		whole := !c.parser.Begun()
		if whole && l.play != nil {
			l.play.expect(c)
		}
		begun := c.parser.Count
		n, v := c.parser.Feed(in)
		if early && c.parser.Count != begun {
			l.answeredEarly(c)
		}
		if v == h1.More {
			if whole && c.parser.Begun() {
				c.first = now
			}
			return
		}
		if v.Broken() {
			l.malformed(c, v, now)
			return
		}
		failed := l.judge(c, v)
		if v == h1.Right && failed == "" && whole && !c.parser.Close && l.repeats && (c.parser.Check || l.rules.AnyBody) {
			l.template.Learn(in[:n])
			l.learned = answer{status: c.parser.Status, size: c.parser.Size()}
		}
		in = in[n:]
		l.answered(c, v, failed, now)
		if c.parser.Close {
			l.leave(c, now)
			return
		}
	}
	l.proceed(c, now)
}

// answeredEarly counts a batch whose answers began before it was written.
func (l *loop) answeredEarly(c *conn) {
	if !c.early {
		c.early = true
		l.rec.Early++
	}
}

// judge passes a complete answer to the scenario, if there is one.
func (l *loop) judge(c *conn, v h1.Verdict) (failed string) {
	if l.play == nil || v != h1.Right {
		return ""
	}
	failed = l.play.judge(c.turn, c.turn.targets[c.done], c.parser.Status)
	c.parser.Sink = nil
	return failed
}

// malformed ends a connection whose answers can no longer be delimited.
func (l *loop) malformed(c *conn, v h1.Verdict, now int64) {
	k := tally.KindMalformed
	l.cause = errMalformed
	switch v {
	case h1.BadChunk:
		k, l.cause = tally.KindChunk, errChunk
	case h1.TooLong:
		k, l.cause = tally.KindHeader, errHeader
	case h1.Endless:
		k, l.cause = tally.KindEndless, errEndless
	}
	l.fail(c, k, now+retryFailed)
}

// answered counts a complete answer of c.
func (l *loop) answered(c *conn, v h1.Verdict, failed string, now int64) {
	c.done++
	l.flight.Add(-1, now)
	var target *scenario.Target
	if l.play != nil {
		target = c.turn.targets[c.done-1]
	}
	l.answer(&c.exchange, target, answer{verdict: v, failed: failed, status: c.parser.Status, size: c.parser.Size()}, now)
}
