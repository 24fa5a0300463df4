package http2

import (
	"io"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/exchange"
)

const (
	// streamWindow is what a client may send of one request before the handler reads it. It becomes
	// readWindow when a handler waits for content, and grows to maxStreamWindow for one that reads
	// faster than the client sends.
	streamWindow    = 64 << 10
	readWindow      = 256 << 10
	maxStreamWindow = 1 << 20

	// connWindow is the same for all requests on a connection: what RFC 9113, 6.9.2 gives to every
	// client. When a client has used half of its window, it doubles, up to maxUnread if the requests
	// can make use of so much, and to maxConnWindow if handlers read a lot.
	connWindow    = defaultWindow
	maxUnread     = 1 << 20
	maxConnWindow = 4 << 20

	// paceContent is what a client has to send of its content within each StallTimeout of
	// waiting, unless less remains.
	paceContent = 4 << 10
)

// receive takes a part of the content. size is the length of its frame with padding.
func (st *stream) receive(p []byte, size int64, end bool) error {
	s := st.s
	if st.room -= size; st.room < 0 {
		s.giveBack(size)
		return s.resetStream(st, FlowControlError)
	}
	if len(p) == 0 && !end { // small pieces are normal for a stream of messages, empty ones are not
		if err := s.spend(costAnswer); err != nil {
			return err
		}
	}
	st.received += int64(len(p))
	if bad := st.announced != exchange.UnknownLength &&
		(st.received > st.announced || end && st.received < st.announced); bad {
		s.giveBack(size)
		return s.resetStream(st, ProtocolError) // RFC 9113, 8.1.1
	}
	st.remoteEnd = end
	st.consumed(size - int64(len(p)))
	switch {
	case st.unwanted || st.tooLong:
		s.giveBack(int64(len(p)))
	case st.received > s.limits().MaxBodyBytes:
		st.tooLong = true
		s.giveBack(int64(len(p)))
	case len(p) > 0:
		s.moved(len(p))
		st.keepContent(p)
		s.widen()
	}
	st.readLimit.progress(len(p), paceContent)
	st.notify()
	return nil
}

// keepContent stores content until the handler reads it.
func (st *stream) keepContent(p []byte) {
	if st.content == nil {
		st.content = buf.Get(len(p))
	} else if st.read > 0 && len(st.content)+len(p) > cap(st.content) {
		st.content = st.content[:copy(st.content, st.content[st.read:])]
		st.read = 0
	}
	st.content = append(buf.Grow(st.content, len(p)), p...)
}

// consumed returns n bytes to the windows.
func (st *stream) consumed(n int64) {
	if n == 0 {
		return
	}
	st.s.giveBack(n)
	st.owed += n
	st.passed += n
	if st.owed < st.window/2 || st.remoteEnd || st.reset {
		return
	}
	more := st.grow()
	st.extend(more)
	if more > 0 {
		st.s.usual = st.window
	}
}

// anticipate gives a stream a window of that many bytes, if so much content is to come.
func (st *stream) anticipate(window int64) {
	s := st.s
	if st.announced != exchange.UnknownLength {
		window = min(window, st.announced)
	}
	if more := s.borrow(min(window-st.window, maxConnWindow/2-s.grown), maxShare); more > 0 {
		st.extend(more)
	}
}

// extend enlarges the window by what was consumed and by more, which was borrowed.
func (st *stream) extend(more int64) {
	s := st.s
	st.window += more
	s.grown += more
	st.owed += more
	s.write(appendWord(s.tail(frameHeader+windowUpdateLength), frameWindowUpdate, st.id, uint32(st.owed)))
	st.room += st.owed
	st.owed = 0
	if more > 0 {
		s.enlarge()
	}
}

// grow borrows window for a stream whose handler has read half of one, and was faster than the client
// meanwhile: the window may be what limits it. It returns how much.
func (st *stream) grow() int64 {
	if st.passed < st.window/2 || !st.ahead {
		return 0
	}
	st.passed, st.ahead = 0, false
	return st.s.borrow(min(st.window, maxStreamWindow-st.window, maxConnWindow/2-st.s.grown), maxShare)
}

// await is called when the handler is about to wait for content. The first time the stream gets a
// window for a handler that reads.
func (st *stream) await() {
	st.ask()
	if !st.awaited && !st.remoteEnd {
		st.awaited = true
		st.anticipate(max(st.s.usual, readWindow))
	}
}

// useful is how large a window of the connection its streams can make use of.
func (s *Session) useful() int64 {
	each := min(int64(s.open-1)*streamWindow, maxUnread-connWindow)
	return min(connWindow+max(each, 0)+2*s.grown, maxConnWindow)
}

// widen enlarges the window of the connection if its client has used half of it.
func (s *Session) widen() {
	if s.room < s.window/2 {
		s.enlarge()
	}
}

// enlarge enlarges the window of the connection if its streams can make use of more.
func (s *Session) enlarge() {
	most := int64(maxShare)
	if s.unread() > s.window/2 {
		most = shareUnread
	}
	if more := s.borrow(min(s.window, s.useful()-s.window), most); more > 0 {
		s.window += more
		s.owed += more
		s.giveBack(0)
	}
}

// unread is how much content of the connection has come that was not consumed.
func (s *Session) unread() int64 { return s.window - s.room - s.owed }

// giveBack returns n bytes to the window of the connection, unless the window is larger than its
// streams can make use of.
func (s *Session) giveBack(n int64) {
	s.owed += n
	if s.closed {
		return
	}
	if spare := min(s.window-max(s.useful(), connWindow), s.owed); spare > 0 {
		s.owed -= spare
		s.window -= spare
		if s.promised {
			s.repay(spare)
		}
	}
	if s.owed == 0 || s.owed < s.window/4 && s.owed <= s.room {
		return
	}
	s.write(appendWord(s.tail(frameHeader+windowUpdateLength), frameWindowUpdate, 0, uint32(s.owed)))
	s.room += s.owed
	s.owed = 0
}

// ReadBody implements exchange.Session.
func (st *stream) ReadBody(_ *exchange.Exchange, p []byte) (int, error) {
	s := st.s
	s.mu.Lock()
	defer s.unlock()
	for len(p) > 0 {
		switch {
		case st.read < len(st.content):
			n := copy(p, st.content[st.read:])
			if st.read += n; st.read == len(st.content) {
				buf.Put(st.content)
				st.content, st.read = nil, 0
				st.ahead = true
			}
			st.consumed(int64(n))
			return n, nil
		case st.tooLong:
			return 0, exchange.ErrBodyTooLong
		case st.remoteEnd:
			st.takeTrailer()
			return 0, io.EOF
		case st.lost || s.closed:
			return 0, io.ErrUnexpectedEOF
		case st.reset:
			return 0, exchange.ErrGone
		}
		st.await()
		if st.inline {
			st.leaveFeed()
			continue
		}
		if err := st.wait(&st.readLimit); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// ask sends 100 (Continue) to a client that waits for it (RFC 9110, 10.1.1).
func (st *stream) ask() {
	if x := &st.x; x.ExpectContinue && !st.asked && !x.HeadSent {
		st.asked = true
		st.sendBlock(100, nil, false)
	}
}

// trailers takes the fields that follow the content (RFC 9113, 8.1).
func (s *Session) trailers(st *stream, data []byte, end bool) error {
	lim := s.limits()
	text, fields, over, err := s.decoder.Decode(data, nil, s.fields[:0], min(honest(len(data), lim.MaxFields), lim.MaxTrailerBytes), lim.MaxFields)
	s.fields = fields
	s.work += len(text)/workBytes + len(fields)
	switch {
	case err != nil:
		return connError{CompressionError, err.Error()}
	case st.remoteEnd:
		return s.resetStream(st, StreamClosed)
	case !end || over:
		return s.resetStream(st, ProtocolError)
	case st.announced != exchange.UnknownLength && st.received < st.announced:
		return s.resetStream(st, ProtocolError)
	}
	t := new(trailer)
	for _, f := range fields {
		name, value := span(f.Name).In(text), span(f.Value).In(text)
		if !validName(name) || !validValue(value) {
			return s.resetStream(st, ProtocolError)
		}
		id := exchange.LookupHeader(name)
		switch exchange.TrailerRule(id) {
		case exchange.TrailerRefused:
			return s.resetStream(st, ProtocolError)
		case exchange.TrailerKept:
			t.fields = append(t.fields, exchange.Field{Name: span(f.Name), Value: span(f.Value), ID: id})
		}
	}
	st.remoteEnd = true
	if !st.unwanted {
		t.text, st.ended = text, t
	}
	st.notify()
	return nil
}

// A trailer is the trailer section of a request until its handler has read the content: from
// then on it is part of the request, which only the handler uses.
type trailer struct {
	text   []byte
	fields []exchange.Field
}

func (st *stream) takeTrailer() {
	if t := st.ended; t != nil {
		st.ended = nil
		r := &st.x.Request
		r.Trailers, r.TrailerBytes = append(r.Trailers[:0], t.fields...), append(r.TrailerBytes[:0], t.text...)
	}
}
