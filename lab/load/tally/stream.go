package tally

import "bytes"

const (
	dataField = "data: "
	stampSize = 19 // digits of a time in nanoseconds since 1970, from 2001 to 2286
)

// Events counts the server-sent events of all streams.
type Events struct {
	Wall  int64 // time of the present read, nanoseconds since 1970
	Total uint64
	rec   *Recorder
}

// NewEvents returns one that records in rec.
func NewEvents(rec *Recorder) *Events { return &Events{rec: rec} }

// Stream returns what takes the events of one stream: an h1.Sink.
func (s *Events) Stream() *Stream { return &Stream{events: s} }

// Stream takes the events of one stream.
type Stream struct {
	event
	events *Events
}

// Head begins a stream.
func (f *Stream) Head(int, []byte) { f.event = event{} }

// Content takes bytes of it, split anywhere.
func (f *Stream) Content(b []byte) { f.feed(b, f.events) }

// event is where a connection stands within a server-sent event. An event ends
// with an empty line and counts if it has a data field: a block without one, as
// servers send to keep connections alive, is not dispatched either (HTML, 9.2.6).
type event struct {
	line  [len(dataField) + stampSize]byte // start of the present line
	size  int                              // bytes of line in use
	rest  bool                             // the line is longer than that
	data  bool                             // a data field was seen
	stamp int64                            // that it began with, or 0
}

// feed takes bytes of the stream, split anywhere.
func (e *event) feed(b []byte, s *Events) {
	for len(b) > 0 {
		at := bytes.IndexByte(b, '\n')
		part := b
		if at >= 0 {
			part = b[:at]
		}
		kept := copy(e.line[e.size:], part)
		e.size += kept
		e.rest = e.rest || kept < len(part)
		if at < 0 {
			return
		}
		b = b[at+1:]
		e.endLine(s)
	}
}

// endLine looks at a whole line.
func (e *event) endLine(s *Events) {
	line := e.line[:e.size]
	empty := !e.rest && (len(line) == 0 || len(line) == 1 && line[0] == '\r')
	e.size, e.rest = 0, false
	if !empty {
		if !e.data && len(line) >= 5 && string(line[:5]) == dataField[:5] {
			e.data, e.stamp = true, parseStamp(line)
		}
		return
	}
	if e.data {
		s.Total++
		s.rec.Requests++
		if e.stamp > 0 {
			s.rec.Latency(s.Wall-e.stamp, 1)
		}
	}
	e.data, e.stamp = false, 0
}

// parseStamp returns the time that a data field begins with, or 0.
func parseStamp(line []byte) int64 {
	if len(line) < len(dataField)+stampSize || line[5] != ' ' {
		return 0
	}
	var t int64
	for _, c := range line[len(dataField) : len(dataField)+stampSize] {
		if c < '0' || c > '9' {
			return 0
		}
		t = t*10 + int64(c-'0') // beyond 2262 negative, hence no stamp
	}
	return max(t, 0)
}
