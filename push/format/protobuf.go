package format

import (
	"encoding/binary"
	"strings"
	"time"
	"unicode/utf8"
)

// Protobuf is application/vnd.redline.events+protobuf: messages of the type Event in
// events.proto, each after its length as a varint. A sign of life is an empty message.
var Protobuf Format = protobuf{}

type protobuf struct{}

func (protobuf) Name() string      { return "protobuf" }
func (protobuf) MediaType() string { return "application/vnd.redline.events+protobuf" }

// Numbers of the fields in events.proto.
const (
	fieldTopic, fieldID, fieldType, fieldData, fieldGap, fieldBye, fieldStart = 1, 2, 3, 4, 5, 6, 7

	gapFrom, gapTo, gapDropped, gapReason = 1, 2, 3, 4

	byeReason, byeRetry = 1, 2

	startRetry = 1
)

// Types of the wire (Protocol Buffers, Encoding).
const (
	wireVarint = 0
	wireBytes  = 2
)

func (protobuf) AppendStart(b []byte, retry time.Duration, position string) []byte {
	return appendPart(b, position, TypeStart, fieldStart, appendNumber(nil, startRetry, int(retry.Milliseconds())))
}

func (protobuf) AppendEvent(b []byte, e *Event) []byte {
	topic, id, kind := text(e.Topic), text(e.ID), text(e.Type)
	n := sizeBytes(len(topic)) + sizeBytes(len(id)) + sizeBytes(len(kind)) + sizeBytes(len(e.Data))
	b = binary.AppendUvarint(b, uint64(n))
	b = appendBytes(b, fieldTopic, topic)
	b = appendBytes(b, fieldID, id)
	b = appendBytes(b, fieldType, kind)
	return appendBytes(b, fieldData, e.Data)
}

func (protobuf) AppendGap(b []byte, g *Gap) []byte {
	var body []byte
	body = appendBytes(body, gapFrom, text(g.From))
	body = appendBytes(body, gapTo, text(g.To))
	body = appendNumber(body, gapDropped, g.Dropped)
	body = appendBytes(body, gapReason, text(g.Reason))
	return appendPart(b, g.ID, TypeGap, fieldGap, body)
}

func (protobuf) AppendBye(b []byte, y *Bye) []byte {
	var body []byte
	body = appendBytes(body, byeReason, text(y.Reason))
	body = appendNumber(body, byeRetry, int(y.Retry.Milliseconds()))
	return appendPart(b, "", TypeBye, fieldBye, body)
}

func (protobuf) AppendBeat(b []byte) []byte { return append(b, 0) }

// appendPart appends an Event that consists of its ID and type, and one message.
func appendPart(b []byte, id, kind string, field int, body []byte) []byte {
	var event []byte
	event = appendBytes(event, fieldID, text(id))
	event = appendBytes(event, fieldType, kind)
	event = appendBytes(event, field, body)
	b = binary.AppendUvarint(b, uint64(len(event)))
	return append(b, event...)
}

// text is s as a field of type string has to be: UTF-8.
func text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

// appendBytes appends a field of type string, bytes or message, unless it is empty. The
// numbers of all fields are below 16, so that a tag has one byte.
func appendBytes[T string | []byte](b []byte, field int, v T) []byte {
	if len(v) == 0 {
		return b
	}
	b = append(b, byte(field<<3|wireBytes))
	b = binary.AppendUvarint(b, uint64(len(v)))
	return append(b, v...)
}

// appendNumber appends a field of type uint64, unless it is 0.
func appendNumber(b []byte, field, v int) []byte {
	if v <= 0 {
		return b
	}
	return binary.AppendUvarint(append(b, byte(field<<3|wireVarint)), uint64(v))
}

// sizeBytes is how much appendBytes appends for n bytes.
func sizeBytes(n int) int {
	if n == 0 {
		return 0
	}
	size := 2
	for v := n; v >= 0x80; v >>= 7 {
		size++
	}
	return size + n
}
