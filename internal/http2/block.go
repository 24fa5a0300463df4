package http2

import (
	"encoding/binary"

	"github.com/redline-go/redline/internal/buf"
)

// A block is a header block whose HEADERS frame did not end it. It is decoded as a whole, also
// if it turns out to be too long: each line may change the compression state.
type block struct {
	open   bool
	ended  bool // HEADERS had END_STREAM
	stream uint32
	data   []byte
	by     int64 // when it has to be complete, on the clock's scale; 0 until that is known
}

// headers begins a header block: a request, or the trailers of one (RFC 9113, 6.2).
func (s *Session) headers(f *frame, more bool) error {
	id := f.stream
	if id%2 == 0 {
		return connError{ProtocolError, "HEADERS on a stream that a client cannot open"}
	}
	if !f.unpad() {
		return connError{ProtocolError, "HEADERS has more padding than payload"}
	}
	if f.has(flagPriority) {
		if len(f.payload) < priorityLength {
			return connError{FrameSizeError, "HEADERS is too short for its priority"}
		}
		if binary.BigEndian.Uint32(f.payload)&maxWindow == id {
			return connError{ProtocolError, "stream depends on itself"}
		}
		f.payload = f.payload[priorityLength:]
	}
	if f.has(flagEndHeaders) {
		return s.endBlock(id, f.payload, f.has(flagEndStream), more)
	}
	if err := s.spend(costFrame); err != nil {
		return err
	}
	s.block = block{open: true, ended: f.has(flagEndStream), stream: id, data: append(buf.Get(2*len(f.payload)), f.payload...)}
	return nil
}

const (
	// A block may be blockFactor times as long as MaxHeadBytes, but not longer than
	// blockMost unless MaxHeadBytes is. Up to that a head that is too long costs its client
	// an answer (431) and not the connection. It is also the memory that a connection may
	// hold for a block.
	blockFactor = 4
	blockMost   = 1 << 20
	blockLeast  = 64 << 10

	// blockPoint is how many bytes beyond MaxHeadBytes cost a point.
	blockPoint = 1 << 10
)

// longestBlock is how long a header block may be, in bytes before it is decoded.
func (s *Session) longestBlock() int {
	head := s.limits().MaxHeadBytes
	if head >= blockMost {
		return head
	}
	return max(min(blockFactor*head, blockMost), blockLeast)
}

// continuation continues a block (RFC 9113, 6.10). Its length is bounded before it is
// decoded; without decoding it the compression state would be lost, so beyond that the
// connection ends.
func (s *Session) continuation(f *frame, more bool) error {
	b := &s.block
	if !b.open {
		return connError{ProtocolError, "CONTINUATION without a header block"}
	}
	if err := s.spend(costFrame); err != nil {
		return err
	}
	if len(b.data)+len(f.payload) > s.longestBlock() {
		return connError{EnhanceYourCalm, "header block is too long"}
	}
	b.data = append(buf.Grow(b.data, len(f.payload)), f.payload...)
	if !f.has(flagEndHeaders) {
		return nil
	}
	if err := s.spend(max(0, len(b.data)-s.limits().MaxHeadBytes) / blockPoint); err != nil {
		return err
	}
	done := *b
	s.block = block{}
	err := s.endBlock(done.stream, done.data, done.ended, more)
	buf.Put(done.data)
	return err
}

// endBlock processes a whole header block.
func (s *Session) endBlock(id uint32, data []byte, end, more bool) error {
	if st := s.stream(id); st != nil && !st.reset {
		return s.trailers(st, data, end)
	}
	if id <= s.lastID {
		return s.lateBlock(id, data, end)
	}
	s.lastID, s.used = id, true
	st := newStream(s, id)
	code, err := st.head(data)
	switch {
	case err != nil:
		st.release()
		return connError{CompressionError, err.Error()}
	case s.going:
		st.release()
		s.endings.add(id, streamWindow, s.maxStreams())
		return s.spend(costReset) // beyond the last stream that we have announced (RFC 9113, 6.8)
	}
	st.remoteEnd = end
	s.begin(st)
	switch {
	case s.open > s.maxStreams():
		s.counters.Refused.Add(1)
		return s.discard(st, RefusedStream)
	case code == crowded || !end && !s.promise():
		return s.crowd(st)
	case code == malformed:
		return s.refuseMalformed(st)
	case code != 0:
		return s.refuse(st, int(code))
	}
	if status := st.announce(end); status == malformed {
		return s.refuseMalformed(st)
	} else if status != 0 {
		return s.refuse(st, int(status))
	}
	st.prioritise()
	if !end {
		st.anticipate(s.usual)
		s.widen()
	}
	if !end && more {
		s.deferred = append(s.deferred, st) // its content may be at hand
		s.keep(st)
		return nil
	}
	return s.serve(st)
}

// serveDeferred serves the requests that waited for the end of the input.
func (s *Session) serveDeferred() error {
	for len(s.deferred) > 0 {
		st := s.deferred[0]
		s.deferred = s.deferred[1:]
		if err := s.serve(st); err != nil {
			return err
		}
	}
	s.deferred = nil
	return nil
}
