package subscribe

import (
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/load/h1"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/ws"
)

// A socket is the state of a subscriber's WebSocket.
type socket struct{ ws.Parser }

// upgrade handles the head of an answer with status 101 (RFC 6455, section 4.1).
func (b *book) upgrade(head []byte) {
	b.why = Malformed
	to, _ := h1.Field(head, "upgrade")
	accept, _ := h1.Field(head, "sec-websocket-accept")
	if !strings.EqualFold(string(to), "websocket") || string(accept) != ws.Accept(b.config.WebSocket.Key) {
		return
	}
	b.refused = false
	b.stands()
}

// greet sends the messages with which a subscriber begins.
func (b *book) greet(i int32) {
	for _, text := range b.config.WebSocket.Send {
		text = strings.ReplaceAll(text, spec.TopicMark, strconv.Itoa(b.topic(i)))
		b.broken = !b.send(i, ws.AppendText(nil, []byte(text), mask())) || b.broken
	}
}

// mask returns the key of a frame.
func mask() (key [4]byte) {
	n := rand.Uint32()
	return [4]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}
}

// frames handles bytes of a WebSocket.
func (b *book) frames(i int32, in []byte) {
	if b.sockets[i].Feed(in, b) != nil {
		b.broken = true
	}
	b.Seen = b.reader.Seen()
}

// Part implements ws.Sink.
func (b *book) Part(p []byte) { b.reader.Part(&b.turn.sse, p) }

// Message implements ws.Sink.
func (b *book) Message() { b.reader.Message(&b.turn.sse, b.now, b.wall) }

// Control implements ws.Sink: pings are answered, and so is the end.
func (b *book) Control(op byte, payload []byte) {
	i := b.index(b.turn)
	switch op {
	case ws.Ping:
		b.broken = !b.send(i, ws.AppendFrame(nil, ws.Pong, payload, mask())) || b.broken
	case ws.Close:
		b.send(i, ws.AppendFrame(nil, ws.Close, payload, mask()))
		b.closing = true
	}
}
