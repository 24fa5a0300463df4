package request

import "github.com/redline-go/redline/lab/load/scenario"

// quota is how many requests of a closed loop may still begin, of Spec.Requests. Each request
// that has begun is answered or counted as failed, so that the sum of both is Spec.Requests.
// A connection that fails without a request takes one, which cannot be sent any more. The
// setup of a scenario takes none unless it fails. Without a limit nothing is counted.
type quota struct {
	on   bool
	left uint64
	want uint64 // right answers and errors, since the process began, at which the window is over; 0: not awaited
	done bool   // the number was reached
}

// begin limits the requests to n, of which under are under way.
func (q *quota) begin(n, under uint64) { q.on, q.left = true, max(n, under)-under }

// take takes one request, and reports whether one was left.
func (q *quota) take() bool {
	if q.left == 0 {
		return false
	}
	q.left--
	return true
}

// depth returns how many of n requests may begin.
func (q *quota) depth(n int) int { return int(min(uint64(n), q.left)) }

// refund returns n requests that were taken and not sent.
func (q *quota) refund(n int) {
	if q.on {
		q.left += uint64(n)
	}
}

// spent reports whether no more requests may begin.
func (q *quota) spent() bool { return q.on && q.left == 0 }

// errors returns how many errors to count when n requests of target failed; target is nil
// without a scenario, and n is 0 when a connection without requests failed.
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

// counts reports whether the window ends after a number of requests. In an open
// loop it ends after a number of arrivals, at a time that is known in advance.
func (l *loop) counts() bool { return l.spec.Requests > 0 && l.open == nil }

// beginsCold reports whether the first request is one of these: there is no warm-up.
func (l *loop) beginsCold() bool { return l.counts() && l.spec.Warmup == 0 }

// complete reports, once, that the window has had its number of answers and errors.
func (l *loop) complete() bool {
	if l.quota.want == 0 || l.rec.Requests+l.rec.Failures() < l.quota.want {
		return false
	}
	l.quota.want, l.quota.done = 0, true
	return true
}

// underWay returns how many requests of a closed loop are outstanding, without setup.
func (l *loop) underWay() (n uint64) {
	for i := range l.conns {
		switch c := &l.conns[i]; {
		case c.phase != open && !c.owes():
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

// spend sends a batch of as many requests as may still begin, if any.
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

// shorten cuts a batch of constant requests to c.asked requests.
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
