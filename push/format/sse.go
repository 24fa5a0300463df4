package format

import (
	"bytes"
	"strconv"
	"time"
)

// SSE is text/event-stream, as browsers' EventSource reads it (HTML Living Standard, 9.2).
// An event has the fields id, event (its type, unless empty), and data, one for each line:
// a line ends with LF, CR or both, and the client joins lines with LF. A subscriber of
// several topics also gets the field topic, which EventSource ignores.
//
// The format is text: Data that is not UTF-8 reaches the client with U+FFFD in it. Use
// another format for binary data.
var SSE Format = sse{}

type sse struct{ topic bool }

func (sse) Name() string      { return "sse" }
func (sse) MediaType() string { return "text/event-stream" }

// Topical implements [Topical].
func (sse) Topical() Format { return sse{topic: true} }

// AppendStart sets the position by an id without data, which EventSource keeps without
// reporting an event.
func (sse) AppendStart(b []byte, retry time.Duration, position string) []byte {
	if retry > 0 {
		b = strconv.AppendInt(append(b, "retry: "...), retry.Milliseconds(), 10)
		b = append(b, '\n')
	}
	if position != "" {
		b = appendField(b, "id", position)
	}
	return append(b, '\n')
}

func (f sse) AppendEvent(b []byte, e *Event) []byte {
	if e.ID != "" {
		b = appendField(b, "id", e.ID)
	}
	if e.Type != "" {
		b = appendField(b, "event", e.Type)
	}
	if f.topic {
		b = appendField(b, "topic", e.Topic)
	}
	for data, more := e.Data, true; more; {
		var line []byte
		line, data, more = cutLine(data)
		b = append(append(append(b, "data: "...), line...), '\n')
	}
	return append(b, '\n')
}

// cutLine is bytes.Cut at the first end of a line.
func cutLine(data []byte) (line, after []byte, found bool) {
	i := bytes.IndexAny(data, "\r\n")
	if i < 0 {
		return data, nil, false
	}
	line, after = data[:i], data[i+1:]
	if data[i] == '\r' && len(after) > 0 && after[0] == '\n' {
		after = after[1:]
	}
	return line, after, true
}

func appendField(b []byte, name, value string) []byte {
	b = append(append(b, name...), ": "...)
	return append(append(b, value...), '\n')
}

func (sse) AppendGap(b []byte, g *Gap) []byte {
	if g.ID != "" {
		b = appendField(b, "id", g.ID)
	}
	b = g.append(append(b, "event: "+TypeGap+"\ndata: "...))
	return append(b, "\n\n"...)
}

func (sse) AppendBye(b []byte, y *Bye) []byte {
	if y.Retry > 0 {
		b = strconv.AppendInt(append(b, "retry: "...), y.Retry.Milliseconds(), 10)
		b = append(b, '\n')
	}
	b = y.append(append(b, "event: "+TypeBye+"\ndata: "...))
	return append(b, "\n\n"...)
}

func (sse) AppendBeat(b []byte) []byte { return append(b, ":\n\n"...) }
