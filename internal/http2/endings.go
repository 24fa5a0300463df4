package http2

// An ending is a stream that we have ended before its client has. Frames that the client sent
// before it knew may still come, and are ignored (RFC 9113, 5.1).
type ending struct {
	stream uint32
	room   uint32 // what was left of the stream's window: all that may be in transit, in bytes
}

// endings are the last ones, in a ring. As many are kept as a client may have streams open. It
// counts those among them of whose ends it does not know, so when as many more have ended it
// does know.
type endings struct {
	ring []ending
	next int
}

// add keeps an ending, instead of the oldest one if there are most.
func (e *endings) add(stream uint32, room int64, most int) {
	entry := ending{stream, uint32(max(room, 0))}
	if len(e.ring) < most {
		e.ring = append(e.ring, entry)
		return
	}
	e.ring[e.next] = entry
	e.next = (e.next + 1) % len(e.ring)
}

// of returns the ending of a stream, or nil.
func (e *endings) of(stream uint32) *ending {
	for i := range e.ring {
		if e.ring[i].stream == stream {
			return &e.ring[i]
		}
	}
	return nil
}

// known forgets an ending: the client has ended the stream, too, and sends nothing more.
func (e *ending) known() { *e = ending{} }

// passes takes a DATA frame off what may be in transit, and reports whether it may. Small frames
// count as large as would be worth their cost.
func (e *ending) passes(size int64) bool {
	n := uint32(max(size, gainBytes))
	if n > e.room {
		return false
	}
	e.room -= n
	return true
}

// writeReset sends RST_STREAM to a client that may still send on the stream.
func (st *stream) writeReset(code Code) {
	room := st.room
	if st.remoteEnd {
		room = 0
	}
	st.s.endings.add(st.id, room, st.s.maxStreams())
	st.s.writeReset(st.id, code)
}

// lateData ignores content for a stream that has ended: nobody takes it, so it gives no points
// back. What cannot have been in transit is charged.
func (s *Session) lateData(f *frame, size int64) error {
	s.giveBack(size)
	e := s.endings.of(f.stream)
	if e == nil {
		s.writeReset(f.stream, StreamClosed)
		return s.spend(costReset)
	}
	passes := e.passes(size)
	if f.has(flagEndStream) {
		e.known()
	}
	if passes {
		return nil
	}
	return s.spend(costFrame)
}

// lateBlock ignores the trailers of a stream that has ended. They are decoded to keep the
// compression state.
func (s *Session) lateBlock(id uint32, data []byte, end bool) error {
	e := s.endings.of(id)
	if e == nil {
		return connError{StreamClosed, "HEADERS on a stream that has ended"}
	}
	_, fields, _, err := s.decoder.Decode(data, nil, s.fields[:0], 0, 0)
	if s.fields = fields; err != nil {
		return connError{CompressionError, err.Error()}
	}
	if end {
		e.known()
		return nil
	}
	return s.spend(costAnswer)
}

// lateReset processes RST_STREAM for a stream that has ended.
func (s *Session) lateReset(id uint32) error {
	if e := s.endings.of(id); e != nil {
		e.known()
		return nil
	}
	return s.spend(costReset)
}

// lateWindow processes WINDOW_UPDATE for a stream that has ended. Clients send them for the last
// content that they have received.
func (s *Session) lateWindow(id uint32, n int64) error {
	if n == 0 {
		s.writeReset(id, ProtocolError)
		return s.spend(costReset)
	}
	return s.spend(costFrame)
}
