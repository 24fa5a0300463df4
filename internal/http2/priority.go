package http2

import (
	"encoding/binary"

	"github.com/redline-go/redline/internal/exchange"
)

// urgencies is the number of urgencies of RFC 9218, 4.1: 0 is the most urgent.
const urgencies = 8

// priority is that of a response (RFC 9218, 4).
type priority struct {
	urgency     uint8
	incremental bool // shares the connection with others of its urgency
}

// unsignalled is the priority of a response whose client has not asked for one: it takes turns with the
// others, so that a large one does not hold up the small ones. The server may choose it (RFC 9218, 8).
var unsignalled = priority{urgency: 3, incremental: true}

// parsePriority reads a Priority field: a dictionary of structured fields, of which everything else is
// ignored. Its defaults are those of RFC 9218, 4: responses of one urgency are sent one after the other.
func parsePriority(text []byte) priority {
	p := priority{urgency: 3}
	for len(text) > 0 {
		n := 0
		for n < len(text) && text[n] != ',' {
			n++
		}
		member := trimBlanks(text[:n])
		text = text[min(n+1, len(text)):]
		switch {
		case len(member) == 3 && member[0] == 'u' && member[1] == '=' && member[2] >= '0' && member[2] < '0'+urgencies:
			p.urgency = member[2] - '0'
		case string(member) == "i" || string(member) == "i=?1":
			p.incremental = true
		case string(member) == "i=?0":
			p.incremental = false
		}
	}
	return p
}

func trimBlanks(b []byte) []byte {
	for len(b) > 0 && blank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && blank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// prioritise takes the priority that the request asks for.
func (st *stream) prioritise() {
	if value, ok := st.x.Request.Get(exchange.HeaderPriority); ok {
		st.priority = parsePriority(value)
	}
}

// priorityUpdate changes the priority of a stream (RFC 9218, 7.1).
func (s *Session) priorityUpdate(f *frame) error {
	switch {
	case f.stream != 0:
		return connError{ProtocolError, "PRIORITY_UPDATE on a stream"}
	case len(f.payload) < minPriorityUpdateSize:
		return connError{FrameSizeError, "PRIORITY_UPDATE is shorter than four bytes"}
	}
	id := binary.BigEndian.Uint32(f.payload) & maxWindow
	if id == 0 {
		return connError{ProtocolError, "PRIORITY_UPDATE without a stream"}
	}
	if st := s.stream(id); st != nil && !st.reset {
		listed := st.listed
		s.unlist(st)
		st.priority = parsePriority(f.payload[minPriorityUpdateSize:])
		if listed {
			s.list(st)
		}
	}
	return s.spend(costFrame)
}

// oldPriority ignores a PRIORITY frame, which is deprecated (RFC 9113, 6.3).
func (s *Session) oldPriority(f *frame) error {
	switch {
	case f.stream == 0:
		return connError{ProtocolError, "PRIORITY without a stream"}
	case len(f.payload) != priorityLength:
		if st := s.stream(f.stream); st != nil {
			return s.resetStream(st, FrameSizeError)
		}
		return connError{FrameSizeError, "PRIORITY is not five bytes long"}
	case binary.BigEndian.Uint32(f.payload)&maxWindow == f.stream:
		if st := s.stream(f.stream); st != nil {
			return s.resetStream(st, ProtocolError)
		}
		return connError{ProtocolError, "stream depends on itself"}
	}
	return s.spend(costFrame)
}

// A list is a queue of streams.
type list struct{ first, last *stream }

// A link is a stream's place in a list.
type link struct {
	prev, next *stream
	listed     bool
}

// list adds a stream to those that have output.
func (s *Session) list(st *stream) {
	if st.listed {
		return
	}
	l := &s.ready[st.urgency]
	st.listed, st.prev, st.next = true, l.last, nil
	if l.last != nil {
		l.last.next = st
	} else {
		l.first = st
	}
	l.last = st
	s.waiting++
}

// unlist removes it.
func (s *Session) unlist(st *stream) {
	if !st.listed {
		return
	}
	l := &s.ready[st.urgency]
	if st.prev != nil {
		st.prev.next = st.next
	} else {
		l.first = st.next
	}
	if st.next != nil {
		st.next.prev = st.prev
	} else {
		l.last = st.prev
	}
	st.link = link{}
	s.waiting--
}

// rotate moves a stream behind the others of its urgency.
func (s *Session) rotate(st *stream) {
	if st.next != nil {
		s.unlist(st)
		s.list(st)
	}
}
