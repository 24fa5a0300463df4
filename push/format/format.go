package format

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// An Event is what a subscriber receives.
type Event struct {
	Topic string
	ID    string // what the client resumes from; empty: it must not resume from here
	Type  string // may be empty
	Data  []byte // not modified, and not retained
}

// Types of the messages that do not come from a publisher. Types with the prefix
// ReservedPrefix are the hub's.
const (
	ReservedPrefix = "hub:"
	TypeStart      = "hub:start" // where the stream begins: formats without a place for it send it as a message
	TypeGap        = "hub:gap"
	TypeBye        = "hub:bye"
	TypeHere       = "hub:here" // who is present, as an event without an ID
	TypeJoin       = "hub:join" // who has come
	TypeLeave      = "hub:leave"
)

// A Gap tells a client that events are missing between two places of its stream. Those that
// are left of them follow the gap.
type Gap struct {
	ID      string `json:"-"`                 // position after which the stream continues, or "" to leave the client's as it is
	From    string `json:"from"`              // ID that the client asked to resume from, or the last one delivered; may be empty
	To      string `json:"to"`                // ID of the first event from which on nothing is missing, or the position before it
	Dropped int    `json:"dropped,omitempty"` // how many events are missing, or 0 if that is unknown
	Reason  string `json:"reason"`            // "history", "epoch", "slow", "broker", "unknown-id"
}

// A Bye tells a client that the server ends the stream, and why.
type Bye struct {
	Reason string        // "shutdown", "lifetime", "slow", "memory", "ended", "revoked" or the service's own; instead of a stream also "limit", "broker"
	Retry  time.Duration // when to connect again, in whole milliseconds
}

// A Format encodes the messages of a stream, each by appending to b. What is encoded once
// goes to any number of clients.
type Format interface {
	// Name is the value of the query parameter "format" that selects it.
	Name() string
	// MediaType is the Content-Type, and what the client's Accept is compared with.
	MediaType() string
	// AppendStart begins a stream: after which time to connect again should it break, and
	// from which position the stream continues.
	AppendStart(b []byte, retry time.Duration, position string) []byte
	// AppendEvent encodes an event.
	AppendEvent(b []byte, e *Event) []byte
	// AppendGap encodes a gap.
	AppendGap(b []byte, g *Gap) []byte
	// AppendBye encodes the end of the stream.
	AppendBye(b []byte, y *Bye) []byte
	// AppendBeat encodes a sign of life, which clients ignore.
	AppendBeat(b []byte) []byte
}

// Topical is implemented by formats that name the topic of an event only for subscribers of
// several topics. Topical returns the format for those.
type Topical interface {
	Topical() Format
}

// append encodes a gap as JSON, for formats of text.
func (g *Gap) append(b []byte) []byte {
	b = appendString(append(b, `{"from":`...), g.From)
	b = appendString(append(b, `,"to":`...), g.To)
	if g.Dropped > 0 {
		b = strconv.AppendInt(append(b, `,"dropped":`...), int64(g.Dropped), 10)
	}
	b = appendString(append(b, `,"reason":`...), g.Reason)
	return append(b, '}')
}

// append encodes a bye as JSON.
func (y *Bye) append(b []byte) []byte {
	b = appendString(append(b, `{"reason":`...), y.Reason)
	b = strconv.AppendInt(append(b, `,"retry_ms":`...), y.Retry.Milliseconds(), 10)
	return append(b, '}')
}

// appendString encodes a text as a string of JSON (RFC 8259, section 7). Bytes that are not
// UTF-8 become U+FFFD.
func appendString[T string | []byte](b []byte, s T) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\t':
			b = append(b, '\\', 't')
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			b = append(b, c)
		default:
			r, n := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
			b = utf8.AppendRune(b, r)
			i += n
			continue
		}
		i++
	}
	return append(b, '"')
}
