package tlsio

import (
	"errors"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

var (
	_ transport.Leaver = (*Session)(nil)
	_ transport.Lender = (*Session)(nil)
)

// errLeft is what advance returns when the inner session's Feed has left the connection:
// from then on the goroutine uses nothing of the session.
var errLeft = errors.New("left")

// Left implements the transport's contract. Feed's goroutine may be within the inner
// session's Feed, or have returned from it: then it waits for leaving, and finds that its
// call is over.
func (s *Session) Left(*buf.Queue) (n int, ok bool) {
	if s.leaver == nil {
		return 0, false
	}
	s.leaving.Lock()
	defer s.leaving.Unlock()
	var added buf.Queue
	consumed, ok := s.leaver.Left(&added)
	if !ok {
		return 0, false
	}
	s.w.out.Take(&added)
	return s.part(consumed), true
}

// Lend implements the transport's contract: what the inner session lends is encrypted first.
func (s *Session) Lend(send func()) {
	s.mu.Lock()
	inner, ok := s.inner.(transport.Lender)
	s.mu.Unlock()
	if ok {
		inner.Lend(func() {
			s.encrypt(&s.w.out)
			send()
		})
	}
}

// Leave implements transport.Conn.
func (c *Conn) Leave(n int) {
	s := (*Session)(c)
	k := s.part(n)
	s.conn.Leave(k)
}

// hasLeft reports, when the inner session's Feed has returned, whether it had left the
// connection. call is the number of calls over when it began.
func (s *Session) hasLeft(call uint32) bool {
	if s.leaver == nil {
		return false
	}
	s.leaving.Lock() // Left may be asking
	defer s.leaving.Unlock()
	return s.over.Load() != call
}

// part ends a Feed whose goroutine goes on: the inner session has consumed n bytes. It
// returns how much of the ciphertext counts as consumed.
func (s *Session) part(n int) int {
	s.over.Add(1)
	s.keep(n)
	if err := s.result(nil); err != nil { // what the Feed would have returned
		s.conn.Wake(func(*buf.Queue) error { return err })
	}
	s.end()
	return s.leaveToken()
}
