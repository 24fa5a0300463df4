package http2

import (
	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
)

// serve runs the handler of a request: inline if the goroutine leads a loop, otherwise
// apart.
//
// If the loop is taken away while the handler runs, the goroutine that has it now calls
// Left. It sees the stream in s.inline if and only if the handler is within call.
//
//  1. serve stores s.inline, then checks that the loop has not been taken away before.
//  2. Left is called after the loop was taken away, and reads s.inline.
//
// So at least one of them sees the other.
func (s *Session) serve(st *stream) error {
	if st.reset { // while it was deferred
		st.handled = true
		s.finish(st)
		return nil
	}
	s.inline, st.inline = st, true
	if s.conn.Detached() {
		s.inline, st.inline = nil, false
		s.apart(st)
		return nil
	}
	s.call(st)
	if !st.inline {
		s.returned(st)
		return errLeft
	}
	s.inline, st.inline = nil, false
	s.returned(st)
	return nil
}

// apart serves a request on a goroutine of its own.
func (s *Session) apart(st *stream) {
	s.keep(st)
	go func() {
		s.mu.Lock()
		defer s.unlock()
		s.call(st)
		s.returned(st)
	}()
}

// call runs the handler, without the lock. If the handler ends its goroutine, the stream
// ends as after a panic.
func (s *Session) call(st *stream) {
	x := &st.x
	x.Session = st
	x.ResetResponse()
	st.began, st.stretch = clock.Nano(), 0
	back := false
	s.unlock()
	defer func() {
		s.mu.Lock()
		if !back {
			x.Aborted = true
			st.shared = nil
			st.leaveFeed() // only this stream ends
			s.returned(st)
		}
	}()
	s.cfg.Handler.ServeExchange(x)
	back = true
}

// returned completes the response after the handler has returned.
func (s *Session) returned(st *stream) {
	x := &st.x
	st.shared = nil
	switch {
	case s.closed || st.reset:
		st.held = nil
		st.unsubscribe(exchange.ErrGone)
	case x.Aborted:
		st.unsubscribe(exchange.ErrAborted)
		_ = s.resetStream(st, InternalError) // a server's panic is not the client's flood
	case st.held != nil:
		st.open()
		return
	case st.pushed != nil && st.openPush():
		return
	case x.Aborted:
		_ = s.resetStream(st, InternalError)
	default:
		st.complete()
		if x.Response.Close {
			s.goAway(s.lastID, NoError)
		}
	}
	st.over()
}

// over ends the handler's part of a stream.
func (st *stream) over() {
	s := st.s
	if !st.remoteEnd || st.read < len(st.content) {
		s.usual = 0 // it has not read what it was given a window for
	}
	st.handled, st.unwanted, st.gone = true, true, nil
	if st.failed != nil && !st.reset {
		_ = s.resetStream(st, Cancel)
	}
	if !st.sentEnd && !st.reset {
		s.keep(st) // until its output is sent
		st.forget()
	}
	s.finish(st)
}

// Left implements transport.Leaver.
func (s *Session) Left(out *buf.Queue) (n int, ok bool) {
	s.mu.Lock()
	defer s.unlock()
	if s.inline == nil {
		return 0, false
	}
	s.part()
	return s.in, true
}

// part separates the handler that runs inline from the feed, which ends with what has been
// sent so far. The rest of its requests are served apart.
func (s *Session) part() {
	st := s.inline
	s.inline, st.inline = nil, false
	s.times.watch = nil
	s.keep(st)
	if st.released {
		st.text = nil
	}
	for _, st := range s.deferred {
		if st.reset {
			st.handled = true
			s.finish(st)
			continue
		}
		s.apart(st)
	}
	s.deferred = nil
	_ = s.leave(nil) // a reason to end the connection is found again
}

// leaveFeed makes a handler that is about to wait an ordinary goroutine. s.mu is held.
func (st *stream) leaveFeed() {
	s := st.s
	if !st.inline {
		return
	}
	s.part()
	n := s.in
	s.unlock()
	defer s.mu.Lock()
	s.conn.Leave(n)
}

// Detach implements exchange.Session.
func (st *stream) Detach() {
	st.s.mu.Lock()
	st.leaveFeed()
	st.s.unlock()
}

// Release implements exchange.Session. A handler that runs inline returns soon, as a rule, and the
// next one needs the memory.
func (st *stream) Release() {
	st.s.mu.Lock()
	if st.released = true; !st.inline {
		st.text = nil
	}
	st.s.unlock()
}

// Connection implements exchange.Session.
func (st *stream) Connection() exchange.Conn { return st.s }
