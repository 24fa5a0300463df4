package http1

import "github.com/redline-go/redline/internal/transport"

var _ transport.Lender = (*Session)(nil)

// What goroutines that do not run the session's code may do, in Session.open.
const (
	nothing  uint32 = iota
	lent            // send what is queued: see lend
	borrowed        // one of them does so
	turning         // request turns: phase is inPush
)

// lend is called before foreign code runs while the queue holds complete answers to earlier
// requests. Their client gets them however long that code takes: it may need them before it sends
// what that code waits for. As long as that code holds the loop, the goroutine that takes the loop
// over sends them, so quick answers still leave together. Off the loop nobody else would.
//
// Until claim is called, nothing uses the queue, nor anything of the connection but what a
// transport.Lender may use.
func (s *Session) lend() {
	s.open.Store(lent)
	if s.conn.Detached() { // since a moment ago: see hasRoom
		s.claim()
		_ = s.send() // an error is found again
	}
}

// claim is called before the queue is used, or the loop given up.
func (s *Session) claim() {
	if s.open.Load() == nothing || s.open.CompareAndSwap(lent, nothing) {
		return
	}
	mu := &s.rare.Load().mu
	mu.Lock() // until all is sent that the socket accepts
	defer mu.Unlock()
}

// Lend implements the transport's contract.
func (s *Session) Lend(send func()) {
	r := s.needs()
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.open.CompareAndSwap(lent, borrowed) {
		s.count(s.out.Len())
		send()
		s.open.Store(nothing)
	}
}
