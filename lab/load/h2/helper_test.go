package h2

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// raw builds a frame.
func raw(typ, flags byte, id uint32, payload ...[]byte) []byte {
	p := bytes.Join(payload, nil)
	b := []byte{byte(len(p) >> 16), byte(len(p) >> 8), byte(len(p)), typ, flags, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(b[5:], id)
	return append(b, p...)
}

func u32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

func setting(id uint16, value uint32) []byte {
	return append(binary.BigEndian.AppendUint16(nil, id), u32(value)...)
}

// fields encodes "name", "value" pairs with another encoder, as literals that change no
// table unless they are in the static one.
func fields(pairs ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for i := 0; i < len(pairs); i += 2 {
		// Sensitive ones are not indexed, which keeps blocks independent.
		_ = e.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1], Sensitive: pairs[i] != ":status"})
	}
	return b.Bytes()
}

// record is a Handler that records its calls.
type record struct {
	events []string
	data   []byte
	then   func(event string, slot int)
	want   int // values of heads to record
}

func (r *record) add(slot int, format string, args ...any) {
	e := fmt.Sprintf("%d ", slot) + fmt.Sprintf(format, args...)
	r.events = append(r.events, e)
	if r.then != nil {
		r.then(e, slot)
	}
}

// flush records content that arrived in pieces.
func (r *record) flush() {
	if len(r.data) > 0 {
		last := len(r.events) - 1
		r.events[last] += " " + string(r.data)
		r.data = nil
	}
}

func (r *record) Head(slot int, h *Head) {
	r.flush()
	values := ""
	for i := range r.want {
		values += fmt.Sprintf(" %q", h.Value(i))
	}
	r.add(slot, "head %d %d%s", h.Status, h.Length, values)
}

func (r *record) Data(slot int, b []byte) {
	last := ""
	if len(r.events) > 0 {
		last = r.events[len(r.events)-1]
	}
	if len(b) == 0 {
		panic("empty piece")
	}
	if !strings.HasPrefix(last, fmt.Sprintf("%d data", slot)) {
		r.flush()
		r.add(slot, "data")
	}
	r.data = append(r.data, b...)
}

func (r *record) End(slot int) { r.flush(); r.add(slot, "end") }

func (r *record) Fail(slot int, err Error) {
	r.flush()
	r.add(slot, "fail %v %v", err.Kind, err.Code)
}

func client(t testing.TB, s Settings) *Client {
	t.Helper()
	c, err := NewClient(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// get returns the request that most tests send.
func get(t testing.TB, index int, more ...Field) *Request {
	t.Helper()
	return request(t, index, "GET", "/", nil, 0, more...)
}

func request(t testing.TB, index int, method, path string, body []byte, size int64, more ...Field) *Request {
	t.Helper()
	r, err := NewRequest(index, append([]Field{
		{Name: ":method", Value: []byte(method)},
		{Name: ":scheme", Value: []byte("http")},
		{Name: ":authority", Value: []byte("localhost:8080")},
		{Name: ":path", Value: []byte(path)},
	}, more...), body, size)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// begun returns a connection that received the server's settings and sent n requests.
func begun(t testing.TB, s Settings, h Handler, n int) *Conn {
	t.Helper()
	c := client(t, s).New(h)
	if err := c.Feed(raw(frameSettings, 0, 0)); err != nil {
		t.Fatal(err)
	}
	if err := c.Feed(raw(frameSettings, flagAck, 0)); err != nil {
		t.Fatal(err)
	}
	r := get(t, 0)
	for range n {
		if slot, _ := c.AppendRequest(nil, r); slot < 0 {
			t.Fatal("no room")
		}
	}
	c.AppendPending(nil, 0)
	return c
}

// frames describes frames in words, one each.
func frames(t testing.TB, b []byte) (out []string) {
	t.Helper()
	for len(b) > 0 {
		if len(b) < frameHeader {
			t.Fatalf("half a frame: %x", b)
		}
		h := parseHead(b)
		p := b[frameHeader : frameHeader+h.length]
		b = b[frameHeader+h.length:]
		switch h.typ {
		case frameReset:
			out = append(out, fmt.Sprintf("reset %d %v", h.id, Code(binary.BigEndian.Uint32(p))))
		case frameGoaway:
			out = append(out, fmt.Sprintf("goaway %d %v", binary.BigEndian.Uint32(p), Code(binary.BigEndian.Uint32(p[4:]))))
		case frameWindow:
			out = append(out, fmt.Sprintf("window %d %d", h.id, binary.BigEndian.Uint32(p)))
		case framePing:
			out = append(out, fmt.Sprintf("ping %d %x", h.flags, p))
		case frameSettings:
			out = append(out, fmt.Sprintf("settings %d %x", h.flags, p))
		case frameData:
			out = append(out, fmt.Sprintf("data %d %d %d", h.id, h.flags, len(p)))
		default:
			out = append(out, fmt.Sprintf("frame %d %d %d %d", h.typ, h.id, h.flags, len(p)))
		}
	}
	return out
}
