package request

// counts reports whether the window is over when there were enough requests. In an open
// loop it is over when there were enough arrivals, at a time that is known before.
func (l *loop) counts() bool { return l.spec.Requests > 0 && l.open == nil }

// complete reports, once, that there were as many answers and errors as the window was to
// have.
func (l *loop) complete() bool {
	if l.quota.want == 0 || l.rec.Requests+l.rec.Failures() < l.quota.want {
		return false
	}
	l.quota.want = 0
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

