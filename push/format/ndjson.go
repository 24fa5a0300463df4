package format

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// NDJSON is application/x-ndjson: one JSON object a line, with the members topic, id and type
// (both unless empty), and as the last one
//
//   - data: the value itself if Data is JSON, otherwise a string;
//   - base64: a string, if Data is not UTF-8.
//
// Before data that is itself a JSON string there is "json":true, because the text hello and the
// JSON "hello" would look the same. So a client can cut out of the line what was published.
//
// The first line has the type hub:start, the position as its id, and as data the time after which to
// connect again, in milliseconds. A sign of life is an empty line.
var NDJSON Format = ndjson{}

type ndjson struct{}

func (ndjson) Name() string      { return "ndjson" }
func (ndjson) MediaType() string { return "application/x-ndjson" }

func (ndjson) AppendStart(b []byte, retry time.Duration, position string) []byte {
	b = append(b, '{')
	if position != "" {
		b = append(appendString(append(b, `"id":`...), position), ',')
	}
	b = append(b, `"type":"`+TypeStart+`","data":{"retry_ms":`...)
	return append(strconv.AppendInt(b, retry.Milliseconds(), 10), "}}\n"...)
}

func (ndjson) AppendEvent(b []byte, e *Event) []byte {
	b = appendString(append(b, `{"topic":`...), e.Topic)
	if e.ID != "" {
		b = appendString(append(b, `,"id":`...), e.ID)
	}
	if e.Type != "" {
		b = appendString(append(b, `,"type":`...), e.Type)
	}
	switch {
	case !utf8.Valid(e.Data):
		data, _ := json.Marshal(e.Data) // a []byte is base64, and never an error
		b = append(append(b, `,"base64":`...), data...)
	case json.Valid(e.Data):
		data := bytes.TrimSpace(e.Data)
		if data[0] == '"' {
			b = append(b, `,"json":true`...)
		}
		b = appendCompact(append(b, `,"data":`...), data)
	default:
		b = appendString(append(b, `,"data":`...), e.Data)
	}
	return append(b, '}', '\n')
}

// appendCompact appends valid JSON on one line. Spaces stay unless there is a line break.
func appendCompact(b, data []byte) []byte {
	if !bytes.ContainsAny(data, "\r\n") {
		return append(b, data...)
	}
	line := bytes.NewBuffer(b)
	_ = json.Compact(line, data) // the data is valid
	return line.Bytes()
}

func (ndjson) AppendGap(b []byte, g *Gap) []byte {
	b = append(b, '{')
	if g.ID != "" {
		b = append(appendString(append(b, `"id":`...), g.ID), ',')
	}
	return append(g.append(append(b, `"type":"`+TypeGap+`","data":`...)), '}', '\n')
}

func (ndjson) AppendBye(b []byte, y *Bye) []byte {
	return append(y.append(append(b, `{"type":"`+TypeBye+`","data":`...)), '}', '\n')
}

func (ndjson) AppendBeat(b []byte) []byte { return append(b, '\n') }
