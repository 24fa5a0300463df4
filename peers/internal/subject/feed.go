package subject

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// The media types of /feed.
const (
	EventStream = "text/event-stream"
	Delimited   = "application/x-protobuf"
)

// Feed holds the parameters of a request to /feed.
type Feed struct {
	Stream        // Size is that of the event's text
	Type   string // media type of the answer
}

// ParseFeed reads the query parameters interval and size as [ParseStream] does, and format:
// json or protobuf. The error is for the client, with status 400.
func ParseFeed(interval, size, format string) (f Feed, err error) {
	switch format {
	case "json":
		f.Type = EventStream
	case "protobuf":
		f.Type = Delimited
	default:
		return f, errors.New("format is neither json nor protobuf")
	}
	f.Stream, err = ParseStream(interval, size)
	return f, err
}

// Tick is an event of /feed. feed.proto has it as a message.
type Tick struct {
	Time   int64  `json:"ts"`  // of writing, nanoseconds since 1970
	Number uint64 `json:"seq"` // counts from 1
	Text   string `json:"text"`
}

// Ticks makes the events of one answer to /feed. It is not safe for concurrent use.
type Ticks struct {
	tick Tick
	kind string
	text []byte
}

// NewTicks returns the events of f.
func (f Feed) NewTicks() *Ticks {
	return &Ticks{tick: Tick{Text: strings.Repeat("x", f.Size)}, kind: f.Type}
}

// Next encodes the event that is sent at now, framed for the answer. It is valid until the
// next call.
func (t *Ticks) Next(now time.Time) []byte {
	t.tick.Time = now.UnixNano()
	t.tick.Number++
	if t.kind == Delimited {
		t.text = t.tick.appendDelimited(t.text[:0])
		return t.text
	}
	text, err := json.Marshal(&t.tick)
	if err != nil {
		panic(err) // no value of a Tick has none
	}
	t.text = append(append(append(t.text[:0], prefix...), text...), "\n\n"...)
	return t.text
}

// appendDelimited appends the message Tick, after its length as a varint.
func (t *Tick) appendDelimited(b []byte) []byte {
	const time, number, text = 1, 2, 3
	size := protowire.SizeTag(time) + protowire.SizeFixed64() + protowire.SizeTag(number) + protowire.SizeVarint(t.Number) +
		protowire.SizeTag(text) + protowire.SizeBytes(len(t.Text))
	b = protowire.AppendVarint(b, uint64(size))
	b = protowire.AppendFixed64(protowire.AppendTag(b, time, protowire.Fixed64Type), uint64(t.Time))
	b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), t.Number)
	return protowire.AppendString(protowire.AppendTag(b, text, protowire.BytesType), t.Text)
}
