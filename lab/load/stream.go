package load

import "bytes"

const (
	dataField = "data: "
	stampSize = 19 // digits of a time in nanoseconds since 1970, from 2001 to 2286
)

// sink takes the events of all streams.
type sink struct {
	wall  int64 // time of the present read, nanoseconds since 1970
	total uint64
	rec   *recorder
}

// feed is the sink of one stream's parser.
type feed struct {
	event
	sink *sink
}

// Head and Content make it an h1.Sink.
func (f *feed) Head(int, []byte) { f.event = event{} }

func (f *feed) Content(b []byte) { f.feed(b, f.sink) }

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
func (e *event) feed(b []byte, s *sink) {
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
func (e *event) endLine(s *sink) {
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
		s.total++
		s.rec.requests++
		if e.stamp > 0 {
			s.rec.latency(s.wall-e.stamp, 1)
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
