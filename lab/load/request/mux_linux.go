package request

import (
	"errors"

	"github.com/redline-go/redline/lab/load/h1"
	"github.com/redline-go/redline/lab/load/h2"
	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/load/wire"
)

// mux is the part of a connection that is specific to HTTP/2: requesters, each with at most
// one request under way, like a connection of HTTP/1.1. A requester needs a permit
// to send, because the server limits the number of streams.
//
//	idle ──▶ parked ──permit──▶ free ──arrival──▶ under way ──▶ thinks ──▶ parked
//	                              └── closed loop: at once ──┘
type mux struct {
	loop       *loop
	c          *conn
	wire       *wire.Conn // of c
	requesters []requester
	owner      []int32 // requesters by slots of streams

	parked  []int32 // requesters without a permit, a ring
	first   int     // of parked
	waiting int     // requesters in parked
	granted int     // permits
	under   int     // requesters whose request is under way
	owed    int     // requesters whose request is ready, and waits for a stream
	answers int     // received on this connection
	asked   int     // requests of this connection
	now     int64   // time of the present read
	heard   int64   // time of the last one
	scolded bool    // a GOAWAY with an error was counted

	unsent int  // requests not yet passed to the socket
	dirty  bool // is in loop.dirty
}

// requester sends one request after the other; in a scenario it is a user.
type requester struct {
	exchange
	judge     h1.Judge
	status    int
	slot      int32 // of the stream; -1: none
	granted   bool  // has a permit
	eager     bool  // its request is ready, and waits for a stream
	again     bool  // its request is sent for the second time
	announced bool  // the answer's length is known
	until     int64 // end of the user's think time
	target    *scenario.Target
	request   *h2.Request
	letter    *letter // of a scenario
}

// errGoaway is a GOAWAY with an error code.
var errGoaway = errors.New("the server ended the connection with GOAWAY and an error")

// newMux prepares the requesters of a connection.
func (l *loop) newMux(c *conn, index int) *mux {
	n := l.spec.Streams
	m := &mux{loop: l, c: c, wire: c.wire, requesters: make([]requester, n), parked: make([]int32, n)}
	for i := range m.requesters {
		s := &m.requesters[i]
		s.slot, s.judge.Rules = -1, l.rules
		if l.play != nil {
			s.turn = &turn{user: l.play.user(l.spec, index*n+i)}
			s.letter = &letter{own: make([]*h2.Request, len(l.play.requests)), fields: make([]int, len(l.play.requests))}
		}
	}
	return m
}

// busy reports whether something is outstanding.
func (m *mux) busy() bool { return m.under > 0 || m.owed > 0 }

// place returns the number of a requester among those of all connections.
func (m *mux) place(i int) int { return m.loop.index(m.c)*len(m.requesters) + i }

// consumeFrames handles bytes of an HTTP/2 connection.
func (l *loop) consumeFrames(c *conn, in []byte, now int64) {
	m := c.mux
	m.now, m.heard = now, now
	err := m.wire.HTTP2.Feed(in)
	if c.phase == handshaking && m.wire.HTTP2.Settled() && err == nil {
		l.established(c, now)
	}
	m.pump(now)
	l.flushFrames(c)
	leaving, code := m.wire.HTTP2.Leaving()
	switch {
	case err != nil:
		l.failFrames(c, err, now)
	case code != h2.CodeNone && !m.scolded:
		m.scolded = true
		l.cause = errGoaway
		l.rec.Errors[tally.KindGoaway] += l.quota.errors(0, nil)
	}
	switch {
	case err != nil || m.under > 0:
	case l.leaves(c) && m.owed == 0:
		l.retire(c)
	case leaving || m.spent():
		l.drop(c, now)
	}
}

// spent reports whether a connection has sent Spec.PerConnection requests.
func (m *mux) spent() bool {
	most := m.loop.spec.PerConnection
	return most > 0 && m.asked >= most
}

// failFrames ends a connection after an error of HTTP/2.
func (l *loop) failFrames(c *conn, err error, now int64) {
	k := tally.KindReset
	if e, is := errors.AsType[*h2.Error](err); is {
		k = tally.KindOfH2(e.Kind)
	}
	due := now + retryFailed
	if c.phase == handshaking {
		due = now + retryRefused
		if l.refusedSince == 0 {
			l.refusedSince = now
		}
	}
	l.cause = err
	l.fail(c, k, due)
}

// endedMux is ended for an HTTP/2 connection.
func (l *loop) endedMux(c *conn, now int64) {
	if c.mux.under == 0 {
		l.dropped(c, now)
		return
	}
	if c.broken {
		l.cut(c, tally.KindReset, errReset, now)
	} else {
		l.cut(c, tally.KindClosed, errClosed, now)
	}
}

// enter lets all requesters of a fresh connection send.
func (m *mux) enter(now int64) {
	for i := range m.requesters {
		if s := &m.requesters[i]; s.until > now {
			m.loop.wakeRequester(m, i, s.until)
		} else {
			m.park(i)
		}
	}
	m.pump(now)
	m.loop.flushFrames(m.c)
}

// park adds a requester to the queue for permits.
func (m *mux) park(i int) {
	m.parked[(m.first+m.waiting)%len(m.parked)] = int32(i)
	m.waiting++
}

// pump gives permits to requesters, in the order of the queue.
func (m *mux) pump(now int64) {
	for m.waiting > 0 && m.permits() {
		i := int(m.parked[m.first])
		m.first = (m.first + 1) % len(m.parked)
		m.waiting--
		m.granted++
		l, s := m.loop, &m.requesters[i]
		s.granted = true
		switch {
		case s.eager:
			m.send(i, now)
		case l.open != nil && (s.turn == nil || !s.turn.peek().Setup()):
			l.open.queue.Free(m.place(i), now)
		case !l.draining && l.claim(s.turn):
			if l.broken = m.compose(s); l.broken != nil {
				return
			}
			if l.play != nil {
				now = l.Now()
			}
			m.send(i, now)
		}
	}
}

// permits reports whether another permit is available.
func (m *mux) permits() bool {
	if m.granted-m.under >= m.wire.HTTP2.Room() || m.loop.leaves(m.c) && m.owed == 0 {
		return false
	}
	most := m.loop.spec.PerConnection
	return most == 0 || m.asked+m.granted-m.under < most
}

// send opens a requester's stream. Its frames are sent with those of the others.
func (m *mux) send(i int, now int64) {
	s := &m.requesters[i]
	slot := m.wire.Request(s.request)
	if slot < 0 { // the server has lowered its limit since the permit was given
		if !s.eager {
			m.owe(s, 1)
		}
		m.giveBack(i)
		m.park(i)
		return
	}
	for len(m.owner) <= slot {
		m.owner = append(m.owner, 0)
	}
	m.owner[slot] = int32(i)
	if s.eager {
		m.owe(s, -1)
	}
	if s.slot, s.first = int32(slot), 0; !s.again {
		s.sent = now
		m.loop.flight.Add(1, now)
	}
	m.under++
	m.asked++
	m.unsent++
}

// giveBack returns a requester's permit.
func (m *mux) giveBack(i int) {
	m.requesters[i].granted = false
	m.granted--
}

// arrive sends an arrival of an open loop.
func (m *mux) arrive(i int, now int64) {
	m.send(i, now)
	if !m.dirty {
		m.dirty = true
		m.loop.dirty = append(m.loop.dirty, m)
	}
}

// Head handles the head of an answer. Head, Data, End and Fail make mux an h2.Handler.
func (m *mux) Head(slot int, h *h2.Head) {
	s := &m.requesters[m.owner[slot]]
	s.status, s.first, s.announced = h.Status, m.now, h.Length >= 0
	s.judge.Begin(h.Status)
	if s.target != nil {
		if k := m.loop.play.keep(s.turn, s.target); k != nil {
			k.Head(h.Status, h.Text())
		}
	}
}

// Data handles a piece of an answer's content.
func (m *mux) Data(slot int, b []byte) {
	i := m.owner[slot]
	s := &m.requesters[i]
	s.judge.Take(b)
	if s.turn != nil && s.turn.kept != nil {
		s.turn.kept.Content(b)
	}
	if !s.announced && s.judge.Over() {
		m.wire.HTTP2.Cancel(slot)
		m.loop.cause = errEndless
		m.failed(int(i), tally.KindEndless, m.now)
	}
}

// End handles the end of an answer.
func (m *mux) End(slot int) {
	i := m.owner[slot]
	s := &m.requesters[i]
	l := m.loop
	m.answers++
	if s.first == m.now { // it arrived whole, as Recorder.FirstBytes assumes
		s.first = 0
	}
	a := answer{verdict: s.judge.End(s.request.Head()), status: s.status, size: s.judge.Size()}
	if s.target != nil && a.verdict == h1.Right {
		a.failed = l.play.judge(s.turn, s.target, s.status)
	}
	l.answer(&s.exchange, s.target, a, m.now)
	m.done(int(i))
	m.next(int(i), m.now)
}

// Fail handles the failure of one stream.
func (m *mux) Fail(slot int, err h2.Error) {
	i := int(m.owner[slot])
	if s := &m.requesters[i]; err.Retry() && !s.again && s.first == 0 {
		m.hold(i)
		m.rest(i, m.now)
		return
	}
	m.loop.cause = err
	m.failed(i, tally.KindOfH2(err.Kind), m.now)
}

// done frees a requester.
func (m *mux) done(i int) {
	m.requesters[i].slot, m.requesters[i].again = -1, false
	m.under--
	m.loop.flight.Add(-1, m.now)
	m.giveBack(i)
}

// failed counts a request that will not be answered. The next one waits for
// retryFailed: a server that refused this one would probably refuse it too.
func (m *mux) failed(i int, k tally.Kind, now int64) {
	m.loop.rec.Errors[k] += m.loop.quota.errors(1, m.requesters[i].target)
	m.lose(i)
	m.rest(i, now)
}

// rest lets a requester wait before it sends.
func (m *mux) rest(i int, now int64) {
	m.requesters[i].until = now + retryFailed
	m.loop.wakeRequester(m, i, now+retryFailed)
}

// lose gives up a requester's request, which is under way or waits for a stream.
func (m *mux) lose(i int) {
	s, l := &m.requesters[i], m.loop
	if s.target != nil {
		l.lostExchange(&s.exchange, s.target)
		s.turn.user.Abort()
		l.play.release(s.turn)
	}
	if l.open != nil {
		l.open.Fail(&s.arrival)
	}
	if !s.eager {
		m.done(i)
		return
	}
	if m.owe(s, -1); s.again {
		s.again = false
		l.flight.Add(-1, l.Now())
	}
}

// next continues a requester after an answer.
func (m *mux) next(i int, now int64) {
	s := &m.requesters[i]
	if s.target != nil {
		if think := int64(s.turn.user.Think(s.target)); think > 0 {
			s.until = now + think
			m.loop.wakeRequester(m, i, s.until)
			return
		}
	}
	m.park(i)
	m.pump(now)
}

// resume ends a requester's pause.
func (m *mux) resume(i int, now int64) {
	m.requesters[i].until = 0
	m.park(i)
	m.pump(now)
	m.loop.flushFrames(m.c)
}

// scanStreams fails requests that have timed out. If the connection has received nothing
// since such a request, it is replaced.
func (l *loop) scanStreams(c *conn, now int64) {
	m := c.mux
	for i := range m.requesters {
		s := &m.requesters[i]
		if s.slot < 0 || now-s.sent <= int64(l.spec.Timeout) {
			continue
		}
		l.cause = errTimeout
		if m.heard < s.sent {
			m.allTimedOut(now)
			l.fail(c, tally.KindTimeout, now+retryFailed)
			return
		}
		m.timedOut(s, now)
		m.wire.HTTP2.Cancel(int(s.slot))
		m.failed(i, tally.KindTimeout, now)
	}
	l.flushFrames(c)
}

// lost resets the requesters when the connection is lost. Their requests that are ready wait for
// the next one.
func (m *mux) lost() {
	for i := range m.requesters {
		m.requesters[i].granted = false
		if m.loop.open != nil {
			m.loop.open.queue.Lost(m.place(i))
		}
	}
	m.first, m.waiting, m.granted = 0, 0, 0
}
