package tlsio

import (
	"io"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// behind is the number of bytes of output that are not encrypted yet.
func (s *Session) behind() int {
	if s.backlog == nil {
		return 0
	}
	return s.backlog.Len()
}

// result handles what a call of the inner session has returned: it encrypts its output, and
// returns what the transport is to be told.
func (s *Session) result(err error) error {
	if s.hijacked {
		return nil
	}
	s.encrypt(&s.w.out)
	if s.failed != nil {
		s.drop()
		return s.failed
	}
	if err != nil && s.closing == nil {
		s.closing = err
	}
	if s.behind() > 0 {
		s.schedule()
		if s.closing != nil {
			s.hold()
			if !s.timed {
				s.conn.SetTimeout(closeTime)
			}
		}
		return nil
	}
	if s.closing != nil {
		_ = s.tls.CloseWrite() // close_notify; an error means that nothing can be sent any more
	}
	return s.closing
}

// encrypt turns output into records, until HighWater bytes of them wait. The rest, if there
// is one, is in backlog.
func (s *Session) encrypt(out *buf.Queue) {
	q := out
	if s.behind() > 0 {
		s.backlog.Take(out)
		q = s.backlog
	}
	if q.Len() == 0 || s.failed != nil {
		return
	}
	if b := q.Whole(); q == out && len(b) > 0 && len(b) <= maxPlain {
		s.seal(b)
		q.Discard(len(b))
		return
	}
	for room := s.cfg.waiting() - s.wire.out.Len() - s.conn.Pending(); q.Len() > 0 && room > 0 && s.failed == nil; {
		room -= s.piece(q, room)
	}
	switch {
	case q.Len() == 0 && q == s.backlog:
		s.drop()
	case q.Len() > 0 && q == out:
		s.backlog = new(buf.Queue)
		s.backlog.Take(out)
	}
}

// piece encrypts the beginning of a queue, up to a record more than room, and returns its
// length. Small pieces are collected: many of them are one record.
func (s *Session) piece(q *buf.Queue, room int) int {
	b := q.First()
	if len(b) == q.Len() || len(b) >= maxPlain {
		if len(b) > room {
			b = b[:min(len(b), (room+maxPlain-1)/maxPlain*maxPlain)]
		}
		s.seal(b)
		q.Discard(len(b))
		return len(b)
	}
	record := buf.Get(maxPlain)
	for len(record) < maxPlain && q.Len() > 0 && s.failed == nil {
		p := record[len(record):maxPlain]
		n := copy(p, q.First())
		if n == 0 {
			n = s.readFile(q, p)
		}
		record = record[:len(record)+n]
		q.Discard(n)
	}
	n := len(record)
	if s.failed == nil {
		s.seal(record)
	}
	buf.Put(record)
	return n
}

// readFile reads the beginning of a file range. If the file is shorter than the range, the
// connection is cut: the announced bytes cannot be sent.
func (s *Session) readFile(q *buf.Queue, p []byte) int {
	f, off, n := q.NextFile()
	k, err := f.ReadAt(p[:min(n, len(p))], off)
	if k == 0 {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		s.failed = err
		q.Reset()
		s.conn.Close(transport.Reset)
	}
	return k
}

// seal encrypts p.
func (s *Session) seal(p []byte) {
	if _, err := s.tls.Write(p); err != nil && s.failed == nil {
		s.failed = err
	}
}

// schedule continues with the backlog when the session's call has returned, or later if
// records still wait: then Drained schedules it again.
func (s *Session) schedule() {
	if !s.pumping {
		s.pumping = s.conn.Wake(s.pump)
	}
}

// pump runs on the loop.
func (s *Session) pump(out *buf.Queue) error {
	s.pumping = false
	switch {
	case s.conn.Pending() > 0:
		return nil // Drained is next
	case s.behind() == 0:
		// A turn has encrypted the backlog, and the kernel has accepted it at once: the
		// transport does not know that anybody waits for that.
		if s.inner != nil && s.closing == nil {
			s.inner.Drained()
		}
		return nil
	}
	s.begin(out)
	defer s.end()
	s.encrypt(&s.w.out)
	switch {
	case s.failed != nil:
		s.drop()
		return s.failed
	case s.behind() > 0:
		return nil // Drained is next
	case s.closing != nil:
		return s.result(nil)
	}
	s.unhold()
	return nil
}

// hold stops feeding until the backlog is encrypted.
func (s *Session) hold() {
	s.held = true
	s.conn.Pause(true)
}

func (s *Session) unhold() {
	if s.held {
		s.held = false
		s.conn.Pause(s.paused)
	}
}

// drop releases the backlog.
func (s *Session) drop() {
	if s.backlog != nil {
		s.backlog.Release()
		s.backlog = nil
	}
}
