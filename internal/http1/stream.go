package http1

import (
	"net"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/transport"
)

const (
	// refBody is the minimum length of a part of a streamed body that is sent from the
	// caller's memory instead of being copied.
	refBody = 32 << 10

	// filePiece is how much of a file is queued at a time.
	filePiece = 256 << 10

	// paceBytes is what a client has to accept of its output within each StallTimeout,
	// unless less remains: a client that does is slow, but present. With the default of 30
	// s that is 2.2 KB/s.
	paceBytes = 64 << 10
)

// SendBody implements exchange.Session.
func (s *Session) SendBody(x *exchange.Exchange, p []byte) error {
	if err := s.begin(x); err != nil {
		return err
	}
	r := &x.Response
	if static := r.Static; static != nil {
		r.Static = nil
		if err := s.part(x, static); err != nil {
			return err
		}
	}
	if len(r.Body) > 0 {
		body := r.Body
		r.Body = r.Body[:0]
		if err := s.part(x, body); err != nil {
			return err
		}
	}
	return s.part(x, p)
}

// begin sends the head of an answer whose body follows piece by piece.
func (s *Session) begin(x *exchange.Exchange) error {
	s.claim()
	r := &x.Response
	switch {
	case r.Hijacked:
		return exchange.ErrHijacked
	case s.w.failed != nil:
		return s.w.failed
	case r.HeadSent:
		return nil
	}
	if !s.w.touched && !x.Stands && !s.skippable() {
		r.Close = true // a handler that answers before it has read the content rarely wants it
	}
	s.settle(x)
	s.out.Commit(s.appendHead(s.out.Tail(s.headSize(x)), x, r.Length))
	return nil
}

// part sends one part of the body, and waits while too much is unsent.
func (s *Session) part(x *exchange.Exchange, p []byte) error {
	if len(p) == 0 {
		return nil
	}
	most := s.cfg.HighWater
	if len(p) >= refBody || len(p) > most/2 {
		most = 0 // the caller's memory: all of it has to be accepted before we return
	}
	if err := s.put(x, p, s.out, most == 0); err != nil {
		return err
	}
	if s.out.Len() <= most && s.out.Len()+s.conn.Pending() <= most {
		return nil
	}
	return s.flush(most)
}

// put queues one part of the body, by reference if the caller guarantees that p stays
// unchanged.
func (s *Session) put(x *exchange.Exchange, p []byte, out *buf.Queue, ref bool) error {
	if len(p) == 0 {
		return nil
	}
	if send, err := s.room(x, int64(len(p))); !send {
		return err
	}
	r := &x.Response
	r.Sent += int64(len(p))
	if r.TakesTrailers {
		out.Commit(AppendChunkHead(out.Tail(20), len(p)))
	}
	if ref {
		out.Ref(p)
	} else {
		out.Write(p)
	}
	if r.TakesTrailers {
		out.Commit(AppendChunkTail(out.Tail(2)))
	}
	return nil
}

// room reports whether n more bytes of the body are to be sent: not if there is no body, or
// no more of it.
func (s *Session) room(x *exchange.Exchange, n int64) (send bool, err error) {
	r := &x.Response
	switch {
	case r.Bodiless && x.Method == exchange.MethodHead:
		return false, nil
	case r.Bodiless:
		return false, exchange.ErrNoBody
	case r.Length != exchange.UnknownLength && n > r.Length-r.Sent:
		return false, exchange.ErrLength
	}
	return true, nil
}

// SendFile implements exchange.Session.
func (s *Session) SendFile(x *exchange.Exchange, f *exchange.File, off, n int64) error {
	if n > filePiece && x.Method != exchange.MethodHead {
		s.Detach() // a millisecond or more of copying, even for a client that accepts all at once
	}
	if err := s.SendBody(x, nil); err != nil || n <= 0 {
		return err
	}
	if send, err := s.room(x, n); !send {
		return err
	}
	r := &x.Response
	for n > 0 {
		k := min(n, filePiece)
		if r.TakesTrailers {
			s.out.Commit(AppendChunkHead(s.out.Tail(20), int(k)))
		}
		s.out.File(f, off, k, nil)
		if r.TakesTrailers {
			s.out.Commit(AppendChunkTail(s.out.Tail(2)))
		}
		// All of it has to be accepted before we return: the caller owns the file.
		if err := s.flush(0); err != nil {
			return err
		}
		r.Sent += k
		off, n = off+k, n-k
	}
	return nil
}

// flush sends the queued output and waits until at most that many bytes are left. If the
// client does not accept them in time, the answer is lost.
func (s *Session) flush(most int) error {
	w := s.w
	s.claim()
	if w.failed != nil {
		s.out.Reset()
		return w.failed
	}
	before, began := s.conn.Detached(), clock.Refresh()
	defer s.transferred(before, began)
	mark, queued := 0, s.out.Len()
	s.count(queued)
	if queued+s.conn.Pending() > most {
		mark = s.conn.Untaken() + queued // the client may have to be waited for
		s.waits = forExchange            // here
	}
	for {
		patience := s.patience(&w.write)
		if patience < 0 {
			return s.fail(transport.ErrDeadline)
		}
		s.conn.SetWriteTimeout(patience)
		err := s.conn.Flush(s.out, most, w.shared)
		if err == nil {
			return nil
		}
		if err != transport.ErrDeadline || w.write.over() || !w.write.asked && !s.keepsPace(&mark) {
			return s.fail(err)
		}
	}
}

// keepsPace reports whether the client has accepted enough of the output that was untaken
// at the last mark, and moves the mark.
func (s *Session) keepsPace(mark *int) bool {
	before, left := *mark, s.conn.Untaken()
	*mark = left
	return before-left >= min(paceBytes, before)
}

// fail ends an exchange whose client has left, or is too slow: nothing more can be sent.
// When it returns, the connection refers to no memory of the writers.
func (s *Session) fail(err error) error {
	w := s.w
	w.failed = ofPeer(err)
	w.x.Abort()
	s.out.Reset()
	if err == transport.ErrDeadline {
		s.conn.Close(transport.Reset)
		s.conn.SetWriteTimeout(0)
		_ = s.conn.Flush(s.out, 0, w.shared) // returns when all is dropped, or has just been sent
	}
	s.lose(err)
	return w.failed
}

// Flush implements exchange.Session.
func (s *Session) Flush(x *exchange.Exchange) error {
	if x.Prebuilt != nil && !x.HeadSent {
		return nil // the answer leaves in one piece, when the handler returns
	}
	if err := s.SendBody(x, nil); err != nil {
		return err
	}
	return s.flush(s.cfg.HighWater)
}

// endBody ends a body that was sent piece by piece.
func (s *Session) endBody(x *exchange.Exchange) error {
	r := &x.Response
	if len(r.Body) > 0 || r.Static != nil {
		if err := s.SendBody(x, nil); err != nil && err != exchange.ErrNoBody {
			return err
		}
	}
	switch {
	case r.Bodiless:
		return nil
	case r.TakesTrailers:
		s.out.Commit(appendEnd(s.out.Tail(headRoom), r.Trailers))
		return nil
	case r.Length != exchange.UnknownLength && r.Sent != r.Length:
		return errTruncated
	}
	return nil
}

// SendInfo implements exchange.Session.
func (s *Session) SendInfo(x *exchange.Exchange, status int) error {
	switch {
	case x.Hijacked:
		return exchange.ErrHijacked
	case s.w.failed != nil:
		return s.w.failed
	case x.HeadSent:
		return exchange.ErrHeadSent
	case x.Version == exchange.HTTP10:
		return nil // HTTP/1.0 does not have them (RFC 9110, 15.2)
	case status == 100:
		s.w.asked = true
	}
	s.claim()
	b := appendStatusLine(s.out.Tail(s.headSize(x)), status)
	for i := range x.Lines {
		b = appendLine(b, x.Lines[i].Name, x.Lines[i].Value)
	}
	s.out.Commit(append(b, '\r', '\n'))
	return s.flush(s.cfg.HighWater)
}

// Hijack implements exchange.Session.
func (s *Session) Hijack(x *exchange.Exchange) (net.Conn, error) {
	if x.Hijacked {
		return nil, exchange.ErrHijacked
	}
	unread := s.in
	if len(s.w.rest) > 0 {
		unread = s.w.rest
	}
	if err := s.flush(0); err != nil {
		return nil, err
	}
	before := s.conn.Detached()
	c, err := s.conn.Hijack(unread, s.out)
	s.waited(before)
	if err != nil {
		return nil, ofPeer(err)
	}
	x.Hijacked = true
	s.release()
	s.state(exchange.StateHijacked)
	return c, nil
}

// Detach implements exchange.Session.
func (s *Session) Detach() {
	before := s.conn.Detached()
	if s.claim(); !before && s.out.Len() > 0 {
		_ = s.send() // an error is found again
	}
	s.conn.Detach()
	s.waited(before)
}

// OnGone implements exchange.Session.
func (s *Session) OnGone(f func()) (gone bool) {
	r := s.needs()
	r.mu.Lock()
	defer r.mu.Unlock()
	s.watched = true
	if s.lost.Load() != 0 {
		return true
	}
	if before := r.gone; before != nil {
		r.gone = func() { before(); f() }
	} else {
		r.gone = f
	}
	return false
}

// Connection implements exchange.Session.
func (s *Session) Connection() exchange.Conn { return s }

// CloseConn implements exchange.Session.
func (s *Session) CloseConn() {
	how := transport.Orderly
	if s.serving.Load() {
		how = transport.Abrupt
	}
	s.conn.Close(how)
}

// RemoteAddr implements exchange.Session.
func (s *Session) RemoteAddr() net.Addr { return s.conn.RemoteAddr() }

// TLS implements exchange.Session.
func (s *Session) TLS() *exchange.TLSState { return exchange.TLSOf(s.conn) }

// LocalAddr implements exchange.Session.
func (s *Session) LocalAddr() net.Addr { return s.conn.LocalAddr() }

// ofPeer converts a transport's error about a client to the error that exchanges use.
func ofPeer(err error) error {
	switch err {
	case transport.ErrLost:
		return exchange.ErrGone
	case transport.ErrDeadline:
		return exchange.ErrTimeout
	}
	return err
}
