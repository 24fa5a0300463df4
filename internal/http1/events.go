package http1

import (
	"bytes"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/transport"
)

// Idle reports whether the connection is between requests.
func (s *Session) Idle() bool { return s.phase == inHead && s.w == nil }

// Fresh reports whether no request has come yet.
func (s *Session) Fresh() bool { return !s.used }

// Quit ends an idle connection. If it has not had a request yet, it is ended only if fresh is
// set.
func (s *Session) Quit(fresh bool, _ *buf.Queue) error {
	if s.Idle() && (fresh || !s.Fresh()) {
		return transport.ErrClosed
	}
	return nil
}

// EOF implements the transport's contract: the peer has sent its last byte.
func (s *Session) EOF(unread []byte, out *buf.Queue) error {
	err := s.eof(unread, out)
	s.retime(out.Len())
	return err
}

func (s *Session) eof(unread []byte, out *buf.Queue) error {
	s.lose(transport.ErrLost)
	switch {
	case s.phase == inPush:
		return s.cutPush(exchange.ErrGone)
	case s.phase == inHeld:
		// The client may still read the answer: it has closed only one half.
		s.w.x.Request.Close = true
		return nil
	case s.phase == inHead && len(bytes.Trim(unread, "\r\n")) > 0:
		return s.refuse(out, 400, "connection ended within a request")
	}
	s.drop() // the rest of its content will never arrive
	return s.close()
}

// Drained implements the transport's contract: everything has been sent.
func (s *Session) Drained() {
	switch s.phase {
	case inPush:
		s.requestTurn()
	case inHeld:
		s.w.held.drained()
	}
	s.retime(0)
}

// Lost implements the transport's contract: the peer has gone.
func (s *Session) Lost(err error) {
	s.lose(err)
	if s.open.Load() == turning {
		s.requestTurn() // which finds it: see turn
	}
}

// Why nothing can be sent any more, in Session.lost. 0: it can.
const (
	byPeer uint32 = iota + 1
	byStop        // the transport has stopped
)

// lose notifies the exchange in progress that its client has gone. OnGone creates rare and then
// looks at lost, lose does it in the reverse order: so at least one of them sees the other.
func (s *Session) lose(err error) {
	why := byPeer
	if err == transport.ErrStopped {
		why = byStop
	}
	s.lost.CompareAndSwap(0, why)
	r := s.rare.Load()
	if r == nil {
		return
	}
	r.mu.Lock()
	f := r.gone
	r.gone = nil
	r.mu.Unlock()
	if f != nil {
		f()
	}
}

// Closed implements the transport's contract: the connection no longer exists.
func (s *Session) Closed(err error) {
	s.lose(err)
	s.phase = inClose
	s.unsubscribe(closedBy(err))
	s.drop()
	s.state(exchange.StateClosed)
}
