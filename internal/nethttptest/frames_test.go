package nethttptest

import (
	"encoding/binary"
	"fmt"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http2/hpack"
)

// Kinds of frames, and their flags (RFC 9113, 6).
const (
	frameData = iota
	frameHeaders
	framePriority
	frameReset
	frameSettings
	framePush
	framePing
	frameGoAway
	frameWindow
	frameContinuation

	flagEnd      = 1
	flagAck      = 1
	flagWhole    = 4 // END_HEADERS
	flagPadded   = 8
	flagPriority = 32

	frameHead = 9
)

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// frame is one frame as bytes.
func frame(kind, flags byte, stream uint32, payload string) string {
	n := len(payload)
	b := []byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags}
	return string(binary.BigEndian.AppendUint32(b, stream)) + payload
}

// word is a number of 32 bits.
func word(n uint32) string { return string(binary.BigEndian.AppendUint32(nil, n)) }

// setting is one parameter of SETTINGS.
func setting(id uint16, value uint32) string {
	return string(binary.BigEndian.AppendUint16(nil, id)) + word(value)
}

// hello is a client's preface with these settings.
func hello(settings ...string) string {
	return preface + frame(frameSettings, 0, 0, strings.Join(settings, ""))
}

// wide is the usual preface: no window ever fills.
var wide = hello(setting(4, 1<<24)) + frame(frameWindow, 0, 0, word(1<<30))

// block is a header block of name, value, name, value ..., all of them literals.
func block(fields ...string) string {
	b := []byte{}
	for i, s := range fields {
		if i%2 == 0 {
			b = append(b, 0)
		}
		n := len(s)
		if n < 127 {
			b = append(b, byte(n))
		} else {
			b = append(b, 127)
			for n -= 127; n >= 128; n >>= 7 {
				b = append(b, byte(n)|128)
			}
			b = append(b, byte(n))
		}
		b = append(b, s...)
	}
	return string(b)
}

// heads is a HEADERS frame, and CONTINUATION frames if the block is long.
func heads(stream uint32, flags byte, fields ...string) string {
	const most = 16 << 10
	b := block(fields...)
	if len(b) <= most {
		return frame(frameHeaders, flags|flagWhole, stream, b)
	}
	out := frame(frameHeaders, flags, stream, b[:most])
	for b = b[most:]; len(b) > most; b = b[most:] {
		out += frame(frameContinuation, 0, stream, b[:most])
	}
	return out + frame(frameContinuation, flagWhole, stream, b)
}

// usual are the pseudo-header fields of a request.
func usual(method, path string, fields ...string) []string {
	return append([]string{":method", method, ":scheme", "http", ":authority", "h", ":path", path}, fields...)
}

// asks is a request without content; opens one whose content follows.
func asks(stream uint32, method, path string, fields ...string) string {
	return heads(stream, flagEnd, usual(method, path, fields...)...)
}

func opens(stream uint32, path string, fields ...string) string {
	return heads(stream, 0, usual("POST", path, fields...)...)
}

// data is content; finishes is its last part. Long content is cut.
func data(stream uint32, s string) string     { return dataFrames(stream, 0, s) }
func finishes(stream uint32, s string) string { return dataFrames(stream, flagEnd, s) }

func dataFrames(stream uint32, last byte, s string) (out string) {
	const most = 16 << 10
	for ; len(s) > most; s = s[most:] {
		out += frame(frameData, 0, stream, s[:most])
	}
	return out + frame(frameData, last, stream, s)
}

// codes are the names of error codes (RFC 9113, 7).
var codes = []string{
	"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED", "FRAME_SIZE_ERROR",
	"REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
}

func codeName(payload []byte) string {
	if len(payload) != 4 {
		return "malformed"
	}
	if n := binary.BigEndian.Uint32(payload); n < uint32(len(codes)) {
		return codes[n]
	}
	return fmt.Sprintf("%x", payload)
}

// A talk is what a client has received over HTTP/2.
type talk struct {
	answers []answer // by their streams, in the order of these
	goAway  string   // the code of the last GOAWAY
	notes   []string
	streams map[uint32][]answer
	decoder *hpack.Decoder
	block   []byte
}

// failed reports whether the server has given the connection up.
func (t *talk) failed() bool { return t.goAway != "" && t.goAway != codes[0] }

// parseFrames takes apart what a client received over HTTP/2.
func parseFrames(got []byte) *talk {
	t := &talk{streams: map[uint32][]answer{}, decoder: hpack.NewDecoder(4096, nil)}
	for len(got) >= frameHead {
		n := int(got[0])<<16 | int(got[1])<<8 | int(got[2])
		if len(got) < frameHead+n {
			break
		}
		t.frame(got[3], got[4], binary.BigEndian.Uint32(got[5:]), got[frameHead:frameHead+n])
		got = got[frameHead+n:]
	}
	ids := make([]uint32, 0, len(t.streams))
	for id := range t.streams {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		t.answers = append(t.answers, t.streams[id]...)
	}
	return t
}

func (t *talk) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

func (t *talk) frame(kind, flags byte, id uint32, payload []byte) {
	switch kind {
	case frameHeaders, frameContinuation:
		if t.block = append(t.block, payload...); flags&flagWhole != 0 {
			t.head(id)
		}
		if kind == frameHeaders && flags&flagEnd != 0 {
			t.last(id).whole = true
		}
	case frameData:
		a := t.last(id)
		a.body = append(a.body, payload...)
		a.whole = a.whole || flags&flagEnd != 0
	case frameReset:
		a := t.last(id)
		if code := codeName(payload); !a.whole || a.reset == "" && code != codes[0] && code != "STREAM_CLOSED" { // these stop late content, at any time
			a.reset, a.whole = code, true
		}
	case frameGoAway:
		t.goAway = codeName(payload[4:8])
	case framePing:
		t.note("PING flags %d %q", flags, payload)
	case framePush:
		t.note("PUSH_PROMISE")
	}
}

// last is the answer that is being received on a stream.
func (t *talk) last(id uint32) *answer {
	if len(t.streams[id]) == 0 {
		t.streams[id] = []answer{{line: fmt.Sprintf("stream %d", id)}}
	}
	return &t.streams[id][len(t.streams[id])-1]
}

// head takes a header block: of an answer, or of its trailers.
func (t *talk) head(id uint32) {
	fields, err := t.decoder.DecodeFull(t.block)
	if t.block = nil; err != nil {
		t.note("malformed block: %v", err)
		return
	}
	all := t.streams[id]
	if len(all) > 0 && !all[len(all)-1].informational() {
		a := t.last(id)
		for _, f := range fields {
			a.trailer = append(a.trailer, t.line(f))
		}
		return
	}
	a := answer{}
	for _, f := range fields {
		if f.Name == ":status" {
			a.line = fmt.Sprintf("HTTP/2 %s", f.Value)
			fmt.Sscan(f.Value, &a.status)
			continue
		}
		a.fields = append(a.fields, t.line(f))
	}
	a.whole = a.informational()
	t.streams[id] = append(all, a)
}

// line is a field as over HTTP/1. Names must be in lower case.
func (t *talk) line(f hpack.HeaderField) string {
	if strings.ToLower(f.Name) != f.Name {
		t.note("field name in upper case: %s", f.Name)
	}
	return textproto.CanonicalMIMEHeaderKey(f.Name) + ": " + f.Value
}
