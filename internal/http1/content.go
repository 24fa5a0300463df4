package http1

import (
	"io"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
)

const (
	readAhead = 16 << 10

	// skipAhead is the same for content that is dropped: a client that sends it slowly has the
	// server hold so much until it is there.
	skipAhead = 1 << 10

	// skipMost is how much unwanted content is too much to be read so that the connection can be
	// reused: closing is cheaper.
	skipMost = 256 << 10

	// paceContent is what a client has to send of its content within each StallTimeout of
	// waiting, summed over all waits, unless less remains: 137 B/s with the default of 30
	// s. The time of the handler does not count.
	paceContent = 4 << 10
)

// ReadBody implements exchange.Session.
//
//	in  ──▶ what was fed with the head
//	rest ─▶ what was read ahead, for chunked content
//	conn ─▶ straight into p, for content of known length
func (s *Session) ReadBody(x *exchange.Exchange, p []byte) (int, error) {
	w := s.w
	if x.Hijacked {
		return 0, exchange.ErrHijacked
	}
	w.touched = true
	for len(p) > 0 {
		if w.broken != nil {
			return 0, w.broken
		}
		if w.body.Done() {
			return 0, io.EOF
		}
		src := s.in
		fed := len(src) > 0
		if !fed {
			src = w.rest
		}
		if len(src) == 0 {
			n, err := s.fetch(p)
			if n > 0 || err != nil {
				return n, err
			}
			continue
		}
		// Decoded data is never longer than its input: it fits.
		data, n, code := w.body.Next(src[:min(len(src), len(p))])
		if code.Refused() {
			return 0, s.badBody(code)
		}
		if fed {
			s.in = s.in[n:]
		} else {
			w.rest = w.rest[n:]
		}
		if len(data) > 0 {
			return copy(p, data), nil
		}
	}
	return 0, nil
}

// fetch waits for more of the content. Content of known length is read directly into p;
// chunked content is read ahead, and n is 0.
func (s *Session) fetch(p []byte) (n int, err error) {
	w := s.w
	s.claim()
	if err := s.ask(); err != nil {
		return 0, err
	}
	if s.out.Len() > 0 {
		_ = s.send() // the client may need it before it sends the content; an error is found again
	}
	if w.x.ContentLength != exchange.UnknownLength {
		p = p[:min(int64(len(p)), w.body.left)]
		n, err := s.read(p)
		if err != nil {
			return 0, s.noMore(err)
		}
		if _, _, code := w.body.Next(p[:n]); code.Refused() {
			return 0, s.badBody(code)
		}
		return n, nil
	}
	if w.chunk == nil {
		w.chunk = buf.Get(readAhead)
	}
	chunk := w.chunk[:cap(w.chunk)]
	n, err = s.read(chunk)
	if err != nil {
		return 0, s.noMore(err)
	}
	w.rest = chunk[:n]
	return 0, nil
}

func (s *Session) read(p []byte) (int, error) {
	w := s.w
	patience := s.patience(&w.read)
	if stall := s.cfg.StallTimeout; stall > 0 && !w.read.asked {
		patience = min(patience, max(stall-w.idle, 1)) // stall is the upper bound of patience
	}
	s.conn.SetTimeout(patience)
	before, began := s.conn.Detached(), clock.Nano()
	looks := before || w.looks()
	if looks {
		began = clock.Refresh()
	}
	n, err := s.conn.Read(p, w.shared)
	var took time.Duration
	if looks || s.conn.Detached() {
		took = s.transferred(before, began)
	}
	if w.came += n; w.came < paceContent {
		w.idle += took
	} else {
		w.came, w.idle = 0, 0
	}
	return n, ofPeer(err)
}

// ask sends 100 (Continue) to a client that waits for it (RFC 9110, 10.1.1).
func (s *Session) ask() error {
	w := s.w
	if w.asked || !w.x.ExpectContinue {
		return nil
	}
	w.asked = true
	if w.x.HeadSent {
		return nil
	}
	s.out.WriteString("HTTP/1.1 100 Continue\r\n\r\n")
	return s.flush(s.cfg.HighWater)
}

func (s *Session) noMore(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	s.w.broken = err
	return err
}

func (s *Session) badBody(code Code) error {
	s.w.broken = &BodyError{Code: code}
	return s.w.broken
}

// A BodyError reports content that violates the rules or a limit.
type BodyError struct{ Code Code }

func (e *BodyError) Error() string { return "request body: " + e.Code.String() }

// Is makes a BodyError comparable with the errors of package exchange.
func (e *BodyError) Is(target error) bool {
	if e.Code == ErrBodyLarge {
		return target == exchange.ErrBodyTooLong
	}
	return target == exchange.ErrBadBody
}

// blame returns the status and the reason for answering faulty content, whatever its
// handler has done, and 0 if no such answer is possible: the handler has refused the
// request itself, or an answer has begun.
func (s *Session) blame() (status int, reason string) {
	w := s.w
	if w.broken == nil || w.x.Stands || w.x.HeadSent || w.x.Status >= 400 || w.held != nil {
		return 0, ""
	}
	if bad, ok := w.broken.(*BodyError); ok {
		return bad.Code.Status(), bad.Code.String()
	}
	if w.broken == io.ErrUnexpectedEOF {
		return 400, "connection ended within the content"
	}
	return 408, "content did not come in time"
}

// leave handles content that the handler has left unread, before the answer ends: a client
// that will not be able to reuse its connection has to be told so.
func (s *Session) leave() {
	w := s.w
	if s.awaitsContent() {
		_, n, _ := w.body.Next(s.in) // a refusal takes nothing, and ReadBody finds it again
		if s.in = s.in[n:]; !w.body.Done() {
			s.readOn()
		}
	}
	if !s.skippable() {
		w.x.Response.Close = true
	}
}

// readOn reads and drops content, up to skipMost bytes.
func (s *Session) readOn() {
	p := buf.Get(skipAhead)
	defer buf.Put(p)
	if s.w.chunk == nil && s.w.x.ContentLength == exchange.UnknownLength {
		s.w.chunk = buf.Get(skipAhead)
	}
	for n := 0; n <= skipMost; {
		k, err := s.ReadBody(&s.w.x, p[:cap(p)])
		if err != nil {
			break
		}
		n += k
	}
}

// awaitsContent reports whether the answer waits for content that the handler has left unread.
//
// For an http.Handler it does, as in net/http, unless so much is left that the connection
// is closed instead: a client that is answered may stop sending, and some send again only
// what they have read of their source by then. For a native handler it waits only if
// nothing else can tell how much is left, and only if the handler began to read: otherwise
// the answer would wait for content that nobody wants.
func (s *Session) awaitsContent() bool {
	w := s.w
	if w.x.HeadSent || w.broken != nil || !s.asked() {
		return false
	}
	if w.x.ContentLength == exchange.UnknownLength {
		return w.touched || w.x.Stands
	}
	return w.x.Stands && w.body.left < skipMost && !w.x.Request.Close && !w.x.Response.Close
}

// asked reports whether the client sends its content: it does not wait for 100
// (Continue).
func (s *Session) asked() bool { return s.w.asked || !s.w.x.ExpectContinue }

// skippable reports whether the rest of the content is certain to be short enough to be
// read, so that the connection can be reused.
func (s *Session) skippable() bool {
	w := s.w
	switch {
	case w.body.Done():
		return true
	case w.broken != nil || !s.asked():
		return false
	case w.x.ContentLength != exchange.UnknownLength:
		return w.body.left < skipMost
	}
	return w.x.HeadSent // it can no longer be announced
}

// skipRest skips unwanted content in the data that was read ahead.
func (s *Session) skipRest() error {
	w := s.w
	for len(w.rest) > 0 {
		_, n, code := w.body.Next(w.rest)
		if code.Refused() {
			return s.close() // the answer has begun: another would be taken for the next
		}
		w.rest = w.rest[n:]
		if code == Complete {
			return s.skipped()
		}
	}
	s.freeChunk(w)
	return nil
}

// skip drops unwanted content from the fed input.
func (s *Session) skip() error {
	w := s.w
	_, n, code := w.body.Next(s.in)
	if code.Refused() {
		return s.close() // the answer has begun: another would be taken for the next
	}
	s.in = s.in[n:]
	if w.skipped += int64(n); w.skipped > skipMost {
		return s.close()
	}
	if code == Complete {
		return s.skipped()
	}
	return nil
}

// skipped returns to the next request.
func (s *Session) skipped() error {
	s.phase = inHead
	if len(s.w.rest) > 0 {
		s.unread(s.w)
	}
	return s.idle()
}

// unread returns bytes that belong to the next request to the transport.
func (s *Session) unread(w *work) {
	s.conn.Unread(w.rest)
	s.freeChunk(w)
}

func (s *Session) freeChunk(w *work) {
	if w.chunk != nil {
		buf.Put(w.chunk)
		w.chunk = nil
	}
	w.rest = nil
}
