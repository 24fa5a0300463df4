package tlsio

import (
	"errors"
	"io"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// EOF implements the transport's contract: the end of the stream, with or without
// close_notify.
func (s *Session) EOF(unread []byte, out *buf.Queue) error {
	if s.inner == nil {
		return s.endShake(io.EOF)
	}
	if s.toldEOF || s.closing != nil {
		return nil // the inner session ends the connection
	}
	s.begin(out)
	defer s.end()
	if s.token {
		unread = unread[1:]
	}
	s.wire.give(unread)
	s.decrypt()
	s.wire.free()
	s.more, s.ended = false, true
	if s.failed != nil {
		return s.failed
	}
	return s.result(s.tellEOF())
}

// endShake ends a handshake because of its client or its time.
func (s *Session) endShake(err error) error {
	if s.settled {
		return nil
	}
	s.report(Gone, err)
	if s.hs != nil {
		s.hs.abort(err)
	}
	return transport.ErrClosed
}

// Turn implements transport.Turner.
func (s *Session) Turn(out *buf.Queue) error {
	inner, ok := s.inner.(transport.Turner)
	if !ok || s.closing != nil {
		return nil
	}
	s.begin(out)
	defer s.end()
	return s.result(inner.Turn(&s.w.out))
}

// Expired implements the transport's contract: the time has passed.
func (s *Session) Expired(out *buf.Queue) error {
	if s.inner == nil {
		if !s.settled {
			s.report(Timeout, errTimeout)
			if s.hs != nil {
				s.hs.abort(errTimeout)
			}
		}
		s.conn.Close(transport.Abrupt)
		return nil
	}
	s.timed = false
	s.begin(out)
	defer s.end()
	err := s.inner.Expired(&s.w.out)
	if s.closing == nil {
		return s.result(err)
	}
	if s.behind() == 0 {
		return err // the transport knows that the connection is to be closed
	}
	if err != nil {
		s.drop()
		s.conn.Close(transport.Reset)
	} else if !s.timed {
		s.conn.SetTimeout(closeTime)
	}
	return nil
}

var errTimeout = errors.New("handshake not complete in time")

// Drained implements the transport's contract: all records have been sent.
func (s *Session) Drained() {
	switch {
	case s.behind() > 0:
		s.schedule()
	case s.inner != nil && s.closing == nil:
		s.inner.Drained()
	}
}

// Lost implements the transport's contract: the peer has gone.
func (s *Session) Lost(err error) {
	s.mu.Lock()
	inner, h := s.inner, s.hs
	s.lost = err
	s.mu.Unlock()
	switch {
	case inner != nil:
		inner.Lost(err)
	case h != nil && err != io.EOF: // what the client has sent before may complete it
		h.abort(err)
	}
}

// Closed implements the transport's contract: the connection no longer exists.
func (s *Session) Closed(err error) {
	if h := s.hs; h != nil {
		if !s.settled && err != transport.ErrStopped {
			why := err
			if why == nil {
				why = io.EOF
			}
			s.report(Gone, why)
		}
		s.settled = true
		h.abort(transport.ErrLost)
		h.free()
		return
	}
	if s.inner == nil {
		return
	}
	if err == nil {
		err = s.failed
	}
	s.inner.Closed(err)
	s.drop()
	s.wire.free()
	buf.Put(s.rest)
	s.rest, s.unread = nil, nil
}

// Quit asks the inner session to end. A connection that has not shaken hands yet has not had
// a request.
func (s *Session) Quit(fresh bool, out *buf.Queue) error {
	if s.inner == nil {
		if !fresh {
			return nil
		}
		s.settled = true
		if s.hs != nil {
			s.hs.abort(transport.ErrStopped)
		}
		return transport.ErrClosed
	}
	q, ok := s.inner.(interface {
		Quit(fresh bool, out *buf.Queue) error
	})
	if !ok || s.closing != nil {
		return nil
	}
	s.begin(out)
	defer s.end()
	return s.result(q.Quit(fresh, &s.w.out))
}
