package load

import (
	"bytes"
	"cmp"

	"github.com/redline-go/redline/lab/load/h1"
	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/tally"
)

// newRules is what the parser holds answers against. Those of a scenario are judged
// by its checks.
func newRules(spec *Spec) *h1.Rules {
	r := &h1.Rules{MaxBody: cmp.Or(spec.MaxBody, maxBody)}
	if spec.Scenario != nil {
		r.AnyBody = true
		return r
	}
	r.Status, r.Body = spec.Expect.Status, spec.Expect.Body
	r.AnyBody = r.Body == nil
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

// judge shows a complete answer to the scenario, if there is one.
func (l *loop) judge(c *conn, v h1.Verdict) (failed string) {
	if l.play == nil || v != h1.Right {
		return ""
	}
	failed = l.play.judge(c.turn, c.turn.targets[c.done], c.parser.Status)
	c.parser.Sink = nil
	return failed
}

// malformed ends a connection on which nothing can be told apart any more.
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
	var target *scenario.Target
	if l.play != nil {
		target = c.turn.targets[c.done-1]
	}
	l.answer(&c.exchange, target, answer{verdict: v, failed: failed, status: c.parser.Status}, now)
}
