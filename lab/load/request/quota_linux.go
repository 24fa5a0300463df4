package request

import "github.com/redline-go/redline/lab/load/scenario"

// quota is how many requests of a closed loop may still begin, of Spec.Requests. What has
// begun is answered or counted as failed, so that both together are as many as were asked
// for. A connection that fails without a request takes one that nobody can send now. The
// setup of a scenario is beside it, but where it fails it takes one, too. Without a limit
// nothing is counted.
type quota struct {
	on   bool
	left uint64
	want uint64 // right answers and errors at which the window is over, since the process began; 0: nobody waits for them
	done bool   // there were as many
}

// begin limits the requests that may begin to n, of which some are under way.
func (q *quota) begin(n, under uint64) { q.on, q.left = true, max(n, under)-under }

// take takes one request, and reports whether there was one.
func (q *quota) take() bool {
	if q.left == 0 {
		return false
	}
	q.left--
	return true
}

// depth is how many of n requests may begin.
func (q *quota) depth(n int) int { return int(min(uint64(n), q.left)) }

// refund gives back what was taken for requests that never left.
func (q *quota) refund(n int) {
	if q.on {
		q.left += uint64(n)
	}
}

// spent reports whether no request may begin any more.
func (q *quota) spent() bool { return q.on && q.left == 0 }

// errors is how many errors to count when n requests failed, which target says what they
// are of if it is a scenario's; n is 0 when a connection failed that carried none.
func (q *quota) errors(n int, target *scenario.Target) uint64 {
	switch {
	case !q.on:
		return 1
	case n > 0 && (target == nil || !target.Setup()):
		return uint64(n)
	case q.take():
		return 1
	}
	return 0
}

// counts reports whether the window is over when there were enough requests. In an open
// loop it is over when there were enough arrivals, at a time that is known before.
func (l *loop) counts() bool { return l.spec.Requests > 0 && l.open == nil }

// beginsCold reports whether the first request is one of these.
func (l *loop) beginsCold() bool { return l.counts() && l.spec.Warmup == 0 }

// complete reports, once, that there were as many answers and errors as the window was to
// have.
func (l *loop) complete() bool {
	if l.quota.want == 0 || l.rec.Requests+l.rec.Failures() < l.quota.want {
		return false
	}
	l.quota.want, l.quota.done = 0, true
	return true
}

// underWay is how many requests of a closed loop have begun, setup left out.
func (l *loop) underWay() (n uint64) {
	for i := range l.conns {
		switch c := &l.conns[i]; {
		case c.phase != open:
		case c.mux != nil:
			for i := range c.mux.requesters {
				if s := &c.mux.requesters[i]; (s.slot >= 0 || s.eager) && (s.target == nil || !s.target.Setup()) {
					n++
				}
			}
		case c.done < c.asked && (c.turn == nil || !c.turn.targets[c.done].Setup()):
			n += uint64(c.asked - c.done)
		}
	}
	return n
}

// spend sends a batch of as many requests as may still begin, if any may.
func (l *loop) spend(c *conn, now int64) {
	if l.quota.spent() {
		return
	}
	if l.play == nil || l.play.constant != nil {
		c.asked = l.quota.depth(l.spec.Pipeline)
		l.quota.left -= uint64(c.asked)
		l.begin(c, now)
		return
	}
	l.play.compose(c, l.quota.depth(l.spec.Pipeline))
	if !c.turn.targets[0].Setup() {
		l.quota.left -= uint64(c.asked)
	}
	l.begin(c, l.Now())
}

// shorten makes a batch of requests that do not change as long as c.asked says.
func (l *loop) shorten(c *conn) {
	switch {
	case l.play == nil:
		text, _ := l.reel.batch(c.from)
		c.out = text[:l.reel.size(c.from, c.asked)]
	case l.play.constant != nil:
		c.out = l.play.constant[:c.turn.ends[c.asked-1]]
	}
}

// claim takes a request of HTTP/2, and reports whether it may begin.
func (l *loop) claim(t *turn) bool {
	switch {
	case !l.quota.on:
		return true
	case l.quota.spent():
		return false
	case t != nil && t.peek().Setup():
		return true
	}
	return l.quota.take()
}
