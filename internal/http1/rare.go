package http1

import (
	"sync"
	"sync/atomic"
)

// rare is state that a session keeps between requests for only a few servers: an idle
// connection is as small as possible.
type rare struct {
	slot  atomic.Value // for handlers
	began int64        // when the head began, on the clock's scale; only with a ReadTimeout
	by    int64        // until when the last answer has to be accepted, on the clock's scale; 0 is never
	until int64        // the end of the time for what the connection waits for
	mark  int          // bytes that the client had not taken when that time began

	mu   sync.Mutex
	gone func() // all functions registered with OnGone, until they are called
}

// needs returns the session's rare. OnGone may call it on another goroutine than the one that serves
// the session.
func (s *Session) needs() *rare {
	r := s.rare.Load()
	if r == nil {
		s.rare.CompareAndSwap(nil, new(rare))
		r = s.rare.Load()
	}
	return r
}

// spare forgets what nobody needs any more. Between keep-alive requests it would be made anew.
func (s *Session) spare() {
	if r := s.rare.Load(); r != nil && r.slot.Load() == nil && r.began == 0 && s.waits != forClient {
		s.rare.Store(nil) // Lost may still hold it: gone is nil
	}
}
