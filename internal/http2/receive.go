package http2

import (
	"encoding/binary"
	"math"

	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
)

// receive processes the frames in in, as far as they are complete.
func (s *Session) receive(in []byte) error {
	if !s.greeted {
		n := min(len(in), len(Preface))
		if string(in[:n]) != Preface[:n] {
			return connError{ProtocolError, "the connection does not begin with the preface of HTTP/2"}
		}
		if n < len(Preface) {
			return nil
		}
		s.in, s.greeted = n, true
		s.greet()
		if s.inadequate {
			return connError{InadequateSecurity, "TLS is older than 1.2, or its cipher suite is prohibited"}
		}
	}
	for !s.closed {
		if s.crowded() && !s.hasRoom() {
			return nil // the rest is fed again when all of that is sent
		}
		f, n, tooLong := parseFrame(in[s.in:])
		if tooLong {
			return connError{FrameSizeError, "frame is longer than SETTINGS_MAX_FRAME_SIZE"}
		}
		if n == 0 {
			return nil
		}
		s.in += n
		s.work++
		if err := s.handle(&f, s.in < len(in)); err != nil {
			return err
		}
	}
	return nil
}

// crowded reports whether too much output waits; hasRoom sends what the socket accepts, and
// reports whether more may follow.
func (s *Session) crowded() bool {
	n, most := s.out.Len(), s.cfg.HighWater
	return n > most/2 && n+s.conn.Pending() > most
}

func (s *Session) hasRoom() bool {
	if err := s.conn.Flush(s.out, math.MaxInt, nil); err != nil {
		return true // the next send finds out
	}
	s.unsent = s.conn.Pending()
	return s.unsent <= s.cfg.HighWater
}

// greet sends the server's preface (RFC 9113, 3.4).
func (s *Session) greet() {
	settings := []struct {
		id    uint16
		value uint32
	}{
		{settingMaxStreams, uint32(s.maxStreams())},
		{settingInitialWindow, streamWindow},
		{settingMaxHeaderList, uint32(min(s.limits().MaxHeadBytes, math.MaxInt32))},
		{settingNoOldPriority, 1},
		{settingEnableConnect, 1},
	}
	if !s.cfg.ExtendedConnect { // servers that do not support it do not mention it
		settings = settings[:len(settings)-1]
	}
	b := s.tail(frameHeader + len(settings)*settingLength)
	b = appendFrame(b, len(settings)*settingLength, frameSettings, 0, 0)
	for _, e := range settings {
		b = appendSetting(b, e.id, e.value)
	}
	s.write(b)
}

func (s *Session) maxStreams() int {
	if s.cfg.MaxStreams > 0 {
		return s.cfg.MaxStreams
	}
	return DefaultMaxStreams
}

func (s *Session) limits() *exchange.Limits { return &s.cfg.Limits }

// handle processes one frame. more means that more input follows it.
func (s *Session) handle(f *frame, more bool) error {
	if s.block.open && (f.kind != frameContinuation || f.stream != s.block.stream) {
		return connError{ProtocolError, "header block is interrupted by another frame"}
	}
	if !s.settled && (f.kind != frameSettings || f.has(flagAck)) {
		return connError{ProtocolError, "the first frame is not SETTINGS"}
	}
	switch f.kind {
	case frameData:
		return s.data(f)
	case frameHeaders:
		return s.headers(f, more)
	case framePriority:
		return s.oldPriority(f)
	case frameReset:
		return s.resetByPeer(f)
	case frameSettings:
		return s.settings(f)
	case framePushPromise:
		return connError{ProtocolError, "a client cannot push"}
	case framePing:
		return s.ping(f)
	case frameGoAway:
		return s.goneAway(f)
	case frameWindowUpdate:
		return s.windowUpdate(f)
	case frameContinuation:
		return s.continuation(f, more)
	case framePriorityUpdate:
		return s.priorityUpdate(f)
	}
	return s.spend(costFrame) // unknown frames are ignored (RFC 9113, 4.1)
}

// settings processes the client's settings (RFC 9113, 6.5).
func (s *Session) settings(f *frame) error {
	switch {
	case f.stream != 0:
		return connError{ProtocolError, "SETTINGS on a stream"}
	case f.has(flagAck):
		if len(f.payload) != 0 {
			return connError{FrameSizeError, "acknowledgement of SETTINGS with a payload"}
		}
		return s.spend(costFrame)
	case len(f.payload)%settingLength != 0:
		return connError{FrameSizeError, "SETTINGS is not a multiple of six bytes long"}
	}
	if !s.settled {
		s.settled, s.idleSince = true, clock.Nano()
	}
	window := s.peer.window
	for p := f.payload; len(p) > 0; p = p[settingLength:] {
		if err := s.set(binary.BigEndian.Uint16(p), binary.BigEndian.Uint32(p[2:]), &window); err != nil {
			return err
		}
	}
	s.write(appendFrame(s.tail(frameHeader), 0, frameSettings, flagAck, 0))
	if err := s.spend(costAnswer); err != nil || window == s.peer.window {
		return err
	}
	s.work += len(s.streams)
	if err := s.spend(len(s.streams) / windowsPoint); err != nil {
		return err
	}
	return s.rewindow(window)
}

// set takes one setting over. Of several initial windows in one frame only the last counts: each
// change visits all streams.
func (s *Session) set(id uint16, value uint32, window *int64) error {
	switch id {
	case settingTableSize:
		s.encoder.SetPeerTable(value)
	case settingEnablePush:
		if value > 1 {
			return connError{ProtocolError, "SETTINGS_ENABLE_PUSH is neither 0 nor 1"}
		}
	case settingEnableConnect:
		if value > 1 {
			return connError{ProtocolError, "SETTINGS_ENABLE_CONNECT_PROTOCOL is neither 0 nor 1"} // RFC 8441, 3
		}
	case settingNoOldPriority:
		if value > 1 {
			return connError{ProtocolError, "SETTINGS_NO_RFC7540_PRIORITIES is neither 0 nor 1"} // RFC 9218, 2.1
		}
	case settingInitialWindow:
		if value > maxWindow {
			return connError{FlowControlError, "SETTINGS_INITIAL_WINDOW_SIZE is greater than 2^31-1"}
		}
		*window = int64(value)
	case settingMaxFrame:
		if value < defaultMaxFrame || value > largestMaxFrame {
			return connError{ProtocolError, "SETTINGS_MAX_FRAME_SIZE is out of range"}
		}
		// Longer frames would only delay other streams.
	}
	return nil
}

// ping answers a PING (RFC 9113, 6.7).
func (s *Session) ping(f *frame) error {
	switch {
	case f.stream != 0:
		return connError{ProtocolError, "PING on a stream"}
	case len(f.payload) != pingLength:
		return connError{FrameSizeError, "PING is not eight bytes long"}
	case f.has(flagAck):
		return s.spend(costFrame)
	}
	b := appendFrame(s.tail(frameHeader+pingLength), pingLength, framePing, flagAck, 0)
	s.write(append(b, f.payload...))
	return s.spend(costAnswer)
}

// goneAway is called for the client's GOAWAY: it opens no more streams, which is its own
// affair.
func (s *Session) goneAway(f *frame) error {
	switch {
	case f.stream != 0:
		return connError{ProtocolError, "GOAWAY on a stream"}
	case len(f.payload) < minGoAwayLength:
		return connError{FrameSizeError, "GOAWAY is shorter than eight bytes"}
	}
	return s.spend(costFrame)
}

// data takes the content of a request (RFC 9113, 6.1). All of the frame counts against the
// windows, its padding too.
func (s *Session) data(f *frame) error {
	size := int64(len(f.payload))
	if f.stream == 0 {
		return connError{ProtocolError, "DATA without a stream"}
	}
	if s.room -= size; s.room < 0 {
		return connError{FlowControlError, "DATA exceeds the window of the connection"}
	}
	if !f.unpad() {
		return connError{ProtocolError, "DATA has more padding than payload"}
	}
	st := s.stream(f.stream)
	switch {
	case st == nil && f.stream > s.lastID:
		return connError{ProtocolError, "DATA on a stream that is not open"}
	case st == nil || st.reset:
		return s.lateData(f, size)
	case st.remoteEnd:
		s.giveBack(size)
		return s.resetStream(st, StreamClosed)
	}
	return st.receive(f.payload, size, f.has(flagEndStream))
}

// resetByPeer ends a stream (RFC 9113, 6.4). Its handler learns that its client has left.
func (s *Session) resetByPeer(f *frame) error {
	switch {
	case f.stream == 0:
		return connError{ProtocolError, "RST_STREAM without a stream"}
	case len(f.payload) != resetLength:
		return connError{FrameSizeError, "RST_STREAM is not four bytes long"}
	case f.stream > s.lastID:
		return connError{ProtocolError, "RST_STREAM for a stream that is not open"}
	}
	st := s.stream(f.stream)
	if st == nil || st.reset {
		return s.lateReset(f.stream)
	}
	if err := s.spend(costReset); err != nil {
		return err
	}
	s.counters.Left.Add(1)
	st.lose()
	s.finish(st)
	return nil
}

// windowUpdate lets us send more (RFC 9113, 6.9).
func (s *Session) windowUpdate(f *frame) error {
	if len(f.payload) != windowUpdateLength {
		return connError{FrameSizeError, "WINDOW_UPDATE is not four bytes long"}
	}
	n := int64(binary.BigEndian.Uint32(f.payload) & maxWindow)
	st := s.stream(f.stream)
	switch {
	case f.stream > s.lastID:
		return connError{ProtocolError, "WINDOW_UPDATE for a stream that is not open"}
	case f.stream != 0 && (st == nil || st.reset):
		return s.lateWindow(f.stream, n)
	}
	if err := s.spendWindow(n); err != nil {
		return err
	}
	if f.stream == 0 {
		switch s.send += n; {
		case n == 0:
			return connError{ProtocolError, "WINDOW_UPDATE by zero"}
		case s.send > maxWindow:
			return connError{FlowControlError, "the window of the connection exceeds 2^31-1"}
		}
		return nil
	}
	switch {
	case n == 0:
		return s.resetStream(st, ProtocolError)
	case st.send+n > maxWindow:
		return s.resetStream(st, FlowControlError)
	}
	st.send += n
	st.opened()
	return nil
}

// writeReset sends RST_STREAM.
func (s *Session) writeReset(id uint32, code Code) {
	s.write(appendWord(s.tail(frameHeader+resetLength), frameReset, id, uint32(code)))
}

// stream returns an open stream, or nil.
func (s *Session) stream(id uint32) *stream {
	if st := s.inline; st != nil && st.id == id {
		return st
	}
	return s.streams[id]
}
