package load

import (
	"bytes"

	"github.com/redline-go/redline/lab/load/h1"
	"github.com/redline-go/redline/lab/load/scenario"
)

// newRules is what the parser holds answers against. Those of a scenario are judged
// by its checks.
func newRules(spec *Spec) *h1.Rules {
	r := &h1.Rules{MaxBody: spec.MaxBody}
	switch {
	case spec.Stream: // meant to be endless
		r.MaxBody = 0
	case r.MaxBody == 0:
		r.MaxBody = maxBody
	}
	if spec.Scenario != nil {
		r.AnyBody = true
		return r
	}
	r.Status, r.Body = spec.Expect.Status, spec.Expect.Body
	r.AnyBody = r.Body == nil || spec.Stream
	r.HeadOnly = bytes.HasPrefix(spec.Request, []byte("HEAD "))
	return r
}

// consume takes answers.
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
			l.right(c, n, now)
			if early {
				l.answeredEarly(c)
			}
		}
	}
	for len(in) > 0 {
		if c.done >= limit {
			l.cause = errUnasked
			l.fail(c, kindUnasked, now+retryFailed)
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
		}
		in = in[n:]
		l.answer(c, v, failed, now)
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
		l.rec.early++
	}
}

// judge shows a complete answer to the scenario, if there is one.
func (l *loop) judge(c *conn, v h1.Verdict) (failed string) {
	if l.play == nil || v != h1.Right {
		return ""
	}
	return l.play.judge(c)
}

// malformed ends a connection on which nothing can be told apart any more.
func (l *loop) malformed(c *conn, v h1.Verdict, now int64) {
	k := kindMalformed
	l.cause = errMalformed
	switch v {
	case h1.BadChunk:
		k, l.cause = kindChunk, errChunk
	case h1.TooLong:
		k, l.cause = kindHeader, errHeader
	case h1.Endless:
		k, l.cause = kindEndless, errEndless
	}
	l.fail(c, k, now+retryFailed)
}

// consumeStream takes events.
func (l *loop) consumeStream(c *conn, in []byte, now int64) {
	if c.off == 0 || !c.busy() {
		l.cause = errUnasked
		l.fail(c, kindUnasked, now+retryFailed)
		return
	}
	l.sink.wall = l.wall()
	before := l.sink.total
	_, v := c.parser.Feed(in)
	if l.sink.total != before {
		c.sent, l.lastRight = now, now
	}
	if v == h1.More && (!c.parser.InBody() || c.parser.Status == l.spec.Expect.Status) {
		return
	}
	if v.Broken() {
		l.malformed(c, v, now)
		return
	}
	l.rec.answered++
	if c.parser.Wrong() == h1.BadStatus {
		l.cause = &statusError{got: c.parser.Status, want: l.spec.Expect.Status}
		l.fail(c, kindStatus, now+retryFailed)
		return
	}
	l.cause = errClosed
	l.fail(c, kindClosed, now+retryFailed)
}

// answer counts a complete answer, which failed a check or not.
func (l *loop) answer(c *conn, v h1.Verdict, failed string, now int64) {
	c.done++
	switch {
	case failed != "":
		l.rec.errors[kindCheck]++
		target := c.turn.targets[c.done-1]
		l.cause = &checkError{target: target.Name(), check: failed}
		if l.counted(c, target) {
			l.play.counts[target.Index()].failed[failed]++
		}
	case v == h1.Right:
		l.right(c, 1, now)
		return
	case v == h1.BadStatus:
		l.rec.errors[kindStatus]++
		l.cause = &statusError{got: c.parser.Status, want: l.spec.Expect.Status}
	case v == h1.BadLength:
		l.rec.errors[kindLength]++
		l.cause = errLength
	default:
		l.rec.errors[kindBody]++
		l.cause = errBody
	}
	c.first = 0
	l.rec.answered++
	if l.open != nil {
		l.open.failed(&c.arrival)
	}
}

// counted reports whether what becomes of a target's request belongs to the window:
// in an open loop by the time at which it was due, in a closed one always, for
// there the window begins with new counts. Setup is counted whenever it comes.
func (l *loop) counted(c *conn, target *scenario.Target) bool {
	return l.open == nil || target.Setup() || l.open.within(c.arrival.intended)
}

// right counts answers that were.
func (l *loop) right(c *conn, n int, now int64) {
	l.rec.answered += uint64(n)
	l.lastRight = now
	if c.turn != nil && l.play.constant == nil && l.rightTarget(c, now) {
		return
	}
	l.rec.requests += uint64(n)
	if c.first != 0 {
		l.inPieces(c, now)
	}
	if l.open != nil {
		l.open.right(&c.arrival, now)
		return
	}
	l.rec.latency(now-c.sent, n)
}

// rightTarget counts a right answer for its target. It reports whether that was
// setup, of which nothing else is recorded.
func (l *loop) rightTarget(c *conn, now int64) (setup bool) {
	target := c.turn.targets[c.done-1]
	setup = target.Setup()
	if l.counted(c, target) {
		since := c.sent
		if l.open != nil && !setup {
			since = c.arrival.intended
		}
		count := &l.play.counts[target.Index()]
		count.requests++
		record(count.hist, now-since, 1)
	}
	if setup {
		c.first = 0
	}
	return setup
}

// inPieces records the first byte of an answer that more than one read brought.
func (l *loop) inPieces(c *conn, now int64) {
	if l.open == nil || l.open.within(c.arrival.intended) {
		since := c.sent
		if l.open != nil {
			since = c.arrival.sent
		}
		record(l.rec.first, c.first-since, 1)
		record(l.rec.pieces, now-since, 1)
	}
	c.first = 0
}
