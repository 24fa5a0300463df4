package format

import (
	"bytes"
	"encoding/json"
	"time"
	"unicode/utf8"
)

// NDJSON is application/x-ndjson: one JSON object a line, with the members topic, id and type
// (both unless empty), and one of
//
//   - data: the value itself if Data is JSON, otherwise a string;
//   - base64: a string, if Data is not UTF-8.
//
// A sign of life is an empty line.
var NDJSON Format = ndjson{}

type ndjson struct{}

func (ndjson) Name() string      { return "ndjson" }
func (ndjson) MediaType() string { return "application/x-ndjson" }

func (ndjson) AppendStart(b []byte, _ time.Duration, _ string) []byte { return b }

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
		b = appendCompact(append(b, `,"data":`...), e.Data)
	default:
		b = appendString(append(b, `,"data":`...), e.Data)
	}
	return append(b, '}', '\n')
}

// appendCompact appends valid JSON on one line. Spaces stay unless there is a line break.
func appendCompact(b, data []byte) []byte {
	data = bytes.TrimSpace(data)
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
