package request

import (
	"github.com/redline-go/redline/lab/load/tally"
)

// Requests that are sent again.
//
// A server may end a connection at any time between two requests, and a request that is under
// way then is lost without a fault of the server: nginx ends each connection after 1,000
// requests. As browsers and HTTP clients do, the loop sends a request again
//
//   - if the server has stated that it did not process it: a stream above that of its GOAWAY,
//     REFUSED_STREAM (RFC 9113, section 8.7), or after an answer with Connection: close
//     (RFC 9112, section 9.6);
//   - if its method is idempotent, and the connection ended before the first byte of its
//     answer, and after the answer to another one (RFC 9112, section 9.3.1). A server that
//     ends fresh connections answers nobody: that is an error.
//
// A request is sent again once, and keeps the time at which it was due, or first sent. It waits
// for the next connection of its place, and is lost if that cannot be established.
// Result.Retried counts these requests.

// attempt is whether a batch is sent for the first time, or again.
type attempt uint8

const (
	attemptFirst attempt = iota
	attemptHeld          // it waits for the next connection
	attemptSecond
)

// owes reports whether requests wait for the next connection of this place, or for a stream.
func (c *conn) owes() bool { return c.attempt == attemptHeld || c.mux != nil && c.mux.owed > 0 }

// repeatable reports whether the requests of c's batch that have no answer may be sent again.
func (l *loop) repeatable(c *conn) bool {
	if c.turn == nil {
		return l.reel.idempotent
	}
	for _, target := range c.turn.targets[c.done:c.asked] {
		if !idempotent(target.Method()) {
			return false
		}
	}
	return true
}

// hold keeps the requests of c that have no answer for its next connection, and reports whether
// it does. The caller drops c. unprocessed: the server has stated that it did not process them.
func (l *loop) hold(c *conn, unprocessed bool) bool {
	if c.mux != nil {
		return c.mux.holdAll()
	}
	switch {
	case !l.started, c.attempt != attemptFirst, c.done == c.asked, c.parser.Begun():
		return false
	case !unprocessed && (c.parser.Count == 0 || !l.repeatable(c)):
		return false
	}
	l.rec.Retried += uint64(max(l.requests(c)-c.done, 0))
	c.attempt = attemptHeld
	l.owed++
	return true
}

// resend sends the requests that hold has kept.
func (l *loop) resend(c *conn) {
	c.attempt, c.early = attemptSecond, false
	l.owed--
	l.rec.Sent -= uint64(c.done) // flush counts them a second time
	if c.turn == nil {
		c.off = l.reel.size(c.from, c.done)
	} else {
		if c.off = 0; c.done > 0 {
			c.off = c.turn.ends[c.done-1]
		}
		c.body, c.at = c.turn.targets[c.asked-1].Stream(), 0
	}
	l.flush(c)
}

// forgo gives up the requests that hold has kept: there is no connection for them.
func (l *loop) forgo(c *conn) {
	if c.attempt == attemptHeld {
		c.attempt = attemptSecond
		l.owed--
		l.lost(c)
	}
}

// cut ends a connection that the server has ended while requests were outstanding.
func (l *loop) cut(c *conn, k tally.Kind, cause error, now int64) {
	if l.hold(c, false) {
		l.drop(c, now)
		return
	}
	l.cause = cause
	l.fail(c, k, now+retryFailed)
}

// leave replaces a connection that the server ends with an answer.
// The server does not process the requests behind it.
func (l *loop) leave(c *conn, now int64) {
	if l.hold(c, true) {
		l.drop(c, now)
		return
	}
	if c.done < l.requests(c) {
		l.cause = errClosed
		l.fail(c, tally.KindClosed, now)
		return
	}
	l.quota.refund(c.asked - c.done)
	l.drop(c, now+l.think(c))
}

// holdAll is hold for a connection of HTTP/2: it keeps the requests that may be sent again, and
// reports whether that is all of them.
func (m *mux) holdAll() bool {
	for i := range m.requesters {
		if s := &m.requesters[i]; m.answers > 0 && s.slot >= 0 && !s.again && s.first == 0 && idempotent(s.request.Method()) {
			m.hold(i)
		}
	}
	return m.under == 0
}

// hold keeps a requester's request, which is under way, to send it again.
func (m *mux) hold(i int) {
	s := &m.requesters[i]
	s.slot, s.again = -1, true
	m.under--
	m.giveBack(i)
	m.owe(s, 1)
	m.loop.rec.Retried++
}

// owe records that a requester's request waits for a stream, or no longer does.
func (m *mux) owe(s *requester, by int) {
	s.eager = by > 0
	m.owed += by
	m.loop.owed += by
}

// failStreams gives up the requests that are lost with a connection, and those that wait for it
// if it was not established.
func (m *mux) failStreams(k tally.Kind) {
	l, established := m.loop, m.c.phase == open
	if established && m.under == 0 {
		l.rec.Errors[k] += l.quota.errors(0, nil)
	}
	for i := range m.requesters {
		if s := &m.requesters[i]; s.slot >= 0 || s.eager && !established {
			l.rec.Errors[k] += l.quota.errors(1, s.target)
			m.lose(i)
		}
	}
}
