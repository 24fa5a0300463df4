package h2

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

var (
	ok      = fields(":status", "200")
	okFirst = raw(frameHeaders, flagEndHeaders, 1, ok)
)

// exchanges are what a server may send after its settings, to a client that has
// requests 1, 3 and 5 in flight in slots 0, 1 and 2.
var exchanges = []struct {
	name   string // with the section of RFC 9113
	in     []byte
	events []string
	err    Kind
	out    []string
}{
	{"4.1 unknown type", raw(0x42, 0xff, 7, []byte("x")), nil, 0, nil},
	{"4.1 unknown flags and the reserved bit", raw(frameHeaders, 0xd2|flagEndHeaders|flagEndStream, 0x80000001, ok), []string{"0 head 200 -1", "0 end"}, 0, nil},
	{"4.2 too large", raw(frameData, 0, 1, make([]byte, maxFrame+1)), nil, FrameSize, []string{"goaway 0 FRAME_SIZE_ERROR"}},
	{"4.3 block cannot be decoded", raw(frameHeaders, flagEndHeaders, 1, []byte{0xff}), nil, Compression, []string{"goaway 0 COMPRESSION_ERROR"}},
	{"5.1 idle, data", raw(frameData, 0, 7), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"5.1 idle, headers", raw(frameHeaders, flagEndHeaders, 7, ok), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"5.1 idle, reset", raw(frameReset, 0, 7, u32(0)), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"5.1 idle, window", raw(frameWindow, 0, 7, u32(1)), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"5.1 closed, headers", join(raw(frameHeaders, 5, 1, ok), raw(frameHeaders, 5, 1, ok)), []string{"0 head 200 -1", "0 end"}, ClosedStream, []string{"goaway 0 STREAM_CLOSED"}},
	{"5.1 closed, data", join(raw(frameHeaders, 5, 1, ok), raw(frameData, 0, 1, []byte("x"))), []string{"0 head 200 -1", "0 end"}, ClosedStream, []string{"goaway 0 STREAM_CLOSED"}},
	{"5.1 closed, window and reset", join(raw(frameHeaders, 5, 1, ok), raw(frameWindow, 0, 1, u32(1)), raw(frameReset, 0, 1, u32(0))), []string{"0 head 200 -1", "0 end"}, 0, nil},
	{"5.1.1 stream of the server's", raw(frameHeaders, flagEndHeaders, 2, ok), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"6.1 content", join(okFirst, raw(frameData, 0, 1, []byte("ab")), raw(frameData, flagEndStream, 1, []byte("c"))), []string{"0 head 200 -1", "0 data abc", "0 end"}, 0, nil},
	{"6.1 empty end", join(okFirst, raw(frameData, 0, 1, []byte("ab")), raw(frameData, flagEndStream, 1)), []string{"0 head 200 -1", "0 data ab", "0 end"}, 0, nil},
	{"6.1 padding", join(okFirst, raw(frameData, flagEndStream|flagPadded, 1, []byte{3}, []byte("abc"), make([]byte, 3))), []string{"0 head 200 -1", "0 data abc", "0 end"}, 0, nil},
	{"6.1 padding alone", join(okFirst, raw(frameData, flagPadded, 1, []byte{3}, make([]byte, 3)), raw(frameData, flagEndStream|flagPadded, 1, []byte{0})), []string{"0 head 200 -1", "0 end"}, 0, nil},
	{"6.1 padding alone, and the end", join(okFirst, raw(frameData, flagEndStream|flagPadded, 1, []byte{3}, make([]byte, 3)), raw(frameHeaders, 5, 3, ok)), []string{"0 head 200 -1", "0 end", "1 head 200 -1", "1 end"}, 0, nil},
	{"6.1 more padding than payload", join(okFirst, raw(frameData, flagPadded, 1, []byte{3}, make([]byte, 2))), []string{"0 head 200 -1"}, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"6.1 padded and empty", join(okFirst, raw(frameData, flagPadded, 1)), []string{"0 head 200 -1"}, FrameSize, []string{"goaway 0 FRAME_SIZE_ERROR"}},
	{"6.1 of the connection", raw(frameData, 0, 0), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"6.1 before the head", raw(frameData, 0, 1, []byte("x")), []string{"0 fail malformed PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"6.2 padding and priority", raw(frameHeaders, flagEndHeaders|flagEndStream|flagPadded|flagPriority, 1, []byte{2}, make([]byte, 5), ok, make([]byte, 2)), []string{"0 head 200 -1", "0 end"}, 0, nil},
	{"6.2 more padding than payload", raw(frameHeaders, flagEndHeaders|flagPadded, 1, []byte{9}, ok), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"6.2 padded and empty", raw(frameHeaders, flagEndHeaders|flagPadded, 1), nil, FrameSize, []string{"goaway 0 FRAME_SIZE_ERROR"}},
	{"6.2 shorter than a priority", raw(frameHeaders, flagEndHeaders|flagPriority, 1, make([]byte, 4)), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"6.2 of the connection", raw(frameHeaders, flagEndHeaders, 0, ok), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"6.3 priority", join(raw(framePriority, 0, 1, make([]byte, 5)), raw(framePriority, 0, 99, make([]byte, 5))), nil, 0, nil},
	{"6.3 priority of the connection", raw(framePriority, 0, 0, make([]byte, 5)), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"6.4 reset", raw(frameReset, 0, 3, u32(2)), []string{"1 fail h2-reset INTERNAL_ERROR"}, 0, nil},
	{"6.4 refused", raw(frameReset, 0, 3, u32(7)), []string{"1 fail h2-refused REFUSED_STREAM"}, 0, nil},
	{"6.4 of the connection", raw(frameReset, 0, 0, u32(7)), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"6.4 size", raw(frameReset, 0, 1, make([]byte, 5)), nil, FrameSize, []string{"goaway 0 FRAME_SIZE_ERROR"}},
	{"6.5 settings", raw(frameSettings, 0, 0, setting(setStreams, 3), setting(0x99, 1)), nil, 0, []string{"settings 1 "}},
	{"6.5 size", raw(frameSettings, 0, 0, make([]byte, 5)), nil, FrameSize, []string{"goaway 0 FRAME_SIZE_ERROR"}},
	{"6.5 acknowledgement with a payload", raw(frameSettings, flagAck, 0, setting(setStreams, 3)), nil, FrameSize, []string{"goaway 0 FRAME_SIZE_ERROR"}},
	{"6.5 acknowledged twice", raw(frameSettings, flagAck, 0), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"6.5 of a stream", raw(frameSettings, 0, 1), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"6.5.2 push", raw(frameSettings, 0, 0, setting(setPush, 1)), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"6.5.2 window", raw(frameSettings, 0, 0, setting(setWindow, 1<<31)), nil, Flow, []string{"goaway 0 FLOW_CONTROL_ERROR"}},
	{"6.5.2 frame size, small", raw(frameSettings, 0, 0, setting(setFrame, maxFrame-1)), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"6.5.2 frame size, large", raw(frameSettings, 0, 0, setting(setFrame, 1<<24)), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"6.6 push", raw(framePush, flagEndHeaders, 1, u32(2), ok), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"6.7 ping", raw(framePing, 0, 0, []byte("12345678")), nil, 0, []string{"ping 1 3132333435363738"}},
	{"6.7 acknowledged", raw(framePing, flagAck, 0, []byte("12345678")), nil, 0, nil},
	{"6.7 size", raw(framePing, 0, 0, []byte("1234567")), nil, FrameSize, []string{"goaway 0 FRAME_SIZE_ERROR"}},
	{"6.7 of a stream", raw(framePing, 0, 1, []byte("12345678")), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"6.8 goaway", join(raw(frameGoaway, 0, 0, u32(3), u32(0), []byte("bye")), raw(frameHeaders, 5, 3, ok)), []string{"2 fail h2-refused NO_ERROR", "1 head 200 -1", "1 end"}, 0, nil},
	{"6.8 goaway in steps", join(raw(frameGoaway, 0, 0, u32(1<<31-1), u32(0)), raw(frameGoaway, 0, 0, u32(1), u32(11))), []string{"1 fail h2-refused ENHANCE_YOUR_CALM", "2 fail h2-refused ENHANCE_YOUR_CALM"}, 0, nil},
	{"6.8 goaway taken back", join(raw(frameGoaway, 0, 0, u32(5), u32(0)), raw(frameGoaway, 0, 0, u32(7), u32(0))), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"6.8 of a stream", raw(frameGoaway, 0, 1, u32(0), u32(0)), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"6.8 size", raw(frameGoaway, 0, 0, u32(0)), nil, FrameSize, []string{"goaway 0 FRAME_SIZE_ERROR"}},
	{"6.9 size", raw(frameWindow, 0, 0, make([]byte, 3)), nil, FrameSize, []string{"goaway 0 FRAME_SIZE_ERROR"}},
	{"6.9 nothing, of the connection", raw(frameWindow, 0, 0, u32(0)), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"6.9 nothing, of a stream", raw(frameWindow, 0, 3, u32(0)), []string{"1 fail h2-protocol PROTOCOL_ERROR"}, 0, []string{"reset 3 PROTOCOL_ERROR"}},
	{"6.9.1 too much, of the connection", raw(frameWindow, 0, 0, u32(1<<31-1)), nil, Flow, []string{"goaway 0 FLOW_CONTROL_ERROR"}},
	{"6.9.1 too much, of a stream", raw(frameWindow, 0, 3, u32(1<<31-1)), []string{"1 fail h2-flow-control FLOW_CONTROL_ERROR"}, 0, []string{"reset 3 FLOW_CONTROL_ERROR"}},
	{"6.9.2 too much, by setting", join(raw(frameWindow, 0, 3, u32(1<<31-1-firstWindow)), raw(frameSettings, 0, 0, setting(setWindow, firstWindow+1))), nil, Flow, []string{"goaway 0 FLOW_CONTROL_ERROR"}},
	{"6.10 continuation", join(raw(frameHeaders, flagEndStream, 1, ok[:0]), raw(frameContinuation, 0, 1, ok), raw(frameContinuation, flagEndHeaders, 1, fields("a", "b"))), []string{"0 head 200 -1", "0 end"}, 0, nil},
	{"6.10 without headers", raw(frameContinuation, flagEndHeaders, 1, ok), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"6.10 of another stream", join(raw(frameHeaders, 0, 1), raw(frameContinuation, flagEndHeaders, 3, ok)), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"6.10 interrupted", join(raw(frameHeaders, 0, 1), raw(framePing, 0, 0, make([]byte, 8))), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"6.10 interrupted by an unknown type", join(raw(frameHeaders, 0, 1), raw(0x42, 0, 0)), nil, Protocol, []string{"goaway 0 PROTOCOL_ERROR"}},
	{"8.1 interim", join(raw(frameHeaders, flagEndHeaders, 1, fields(":status", "103", "link", "x")), raw(frameHeaders, flagEndHeaders, 1, fields(":status", "100")), raw(frameHeaders, 5, 1, ok)), []string{"0 head 200 -1", "0 end"}, 0, nil},
	{"8.1 interim at the end", raw(frameHeaders, 5, 1, fields(":status", "103")), []string{"0 fail malformed PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"8.1 trailer", join(okFirst, raw(frameData, 0, 1, []byte("x")), raw(frameHeaders, 5, 1, fields("grpc-status", "0"))), []string{"0 head 200 -1", "0 data x", "0 end"}, 0, nil},
	{"8.1 trailer not at the end", join(okFirst, raw(frameHeaders, 4, 1, fields("a", "b"))), []string{"0 head 200 -1", "0 fail malformed PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"8.1 trailer with a status", join(okFirst, raw(frameHeaders, 5, 1, ok)), []string{"0 head 200 -1", "0 fail malformed PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"8.1.1 length", join(raw(frameHeaders, 4, 1, fields(":status", "200", "content-length", "2")), raw(frameData, 1, 1, []byte("ab"))), []string{"0 head 200 2", "0 data ab", "0 end"}, 0, nil},
	{"8.1.1 shorter", join(raw(frameHeaders, 4, 1, fields(":status", "200", "content-length", "2")), raw(frameData, 1, 1, []byte("a"))), []string{"0 head 200 2", "0 data a", "0 fail length PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"8.1.1 longer", join(raw(frameHeaders, 4, 1, fields(":status", "200", "content-length", "2")), raw(frameData, 1, 1, []byte("abc"))), []string{"0 head 200 2", "0 fail length PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"8.1.1 nothing", raw(frameHeaders, 5, 1, fields(":status", "200", "content-length", "2")), []string{"0 head 200 2", "0 fail length PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"8.1.1 304 with a length", raw(frameHeaders, 5, 1, fields(":status", "304", "content-length", "2")), []string{"0 head 304 2", "0 end"}, 0, nil},
	{"8.1.1 204 with content", join(raw(frameHeaders, 4, 1, fields(":status", "204")), raw(frameData, 1, 1, []byte("a"))), []string{"0 head 204 -1", "0 fail length PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"8.2 lower case", malformed("Server", "x"), []string{"0 fail malformed PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"8.2.1 name", malformed("a b", "x"), []string{"0 fail malformed PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"8.2.1 empty name", malformed("", "x"), []string{"0 fail malformed PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"8.2.1 value", malformed("a", "x\ny"), []string{"0 fail malformed PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"8.2.1 blank around", malformed("a", " x"), []string{"0 fail malformed PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"8.2.2 connection", malformed("connection", "close"), []string{"0 fail malformed PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"8.2.2 transfer-encoding", malformed("transfer-encoding", "chunked"), []string{"0 fail malformed PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"8.3 order", raw(frameHeaders, 5, 1, fields("a", "b", ":status", "200")), []string{"0 fail malformed PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"8.3.2 no status", raw(frameHeaders, 5, 1, fields("a", "b")), []string{"0 fail malformed PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"8.3.2 two", raw(frameHeaders, 5, 1, fields(":status", "200", ":status", "200")), []string{"0 fail malformed PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"8.3.2 no number", raw(frameHeaders, 5, 1, fields(":status", "2x0")), []string{"0 fail malformed PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"8.3.2 of a request", raw(frameHeaders, 5, 1, fields(":status", "200", ":path", "/")), []string{"0 fail malformed PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"8.6 101", raw(frameHeaders, 4, 1, fields(":status", "101")), []string{"0 fail malformed PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"two lengths", malformed("content-length", "1", "content-length", "2"), []string{"0 fail malformed PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"length is no number", malformed("content-length", "+1"), []string{"0 fail malformed PROTOCOL_ERROR"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
	{"interleaved", join(okFirst, raw(frameHeaders, 4, 3, ok), raw(frameData, 0, 1, []byte("a")), raw(frameData, 1, 3, []byte("b")), raw(frameData, 1, 1, []byte("c"))), []string{"0 head 200 -1", "1 head 200 -1", "0 data a", "1 data b", "1 end", "0 data c", "0 end"}, 0, nil},
	{"after a malformed one", join(malformed("a", "x\n"), raw(frameData, 1, 1, []byte("x")), raw(frameHeaders, 5, 3, ok)), []string{"0 fail malformed PROTOCOL_ERROR", "1 head 200 -1", "1 end"}, 0, []string{"reset 1 PROTOCOL_ERROR"}},
}

func join(b ...[]byte) []byte { return bytes.Join(b, nil) }

func malformed(pairs ...string) []byte {
	return raw(frameHeaders, flagEndHeaders, 1, fields(append([]string{":status", "200"}, pairs...)...))
}

// run feeds parts, one after the other, and returns what happened.
func run(t *testing.T, parts ...[]byte) (events []string, kind Kind, out []string) {
	t.Helper()
	var rec record
	c := begun(t, Settings{}, &rec, 3)
	for _, p := range parts {
		// The input is overwritten afterwards, as by an event loop.
		p = bytes.Clone(p)
		err := c.Feed(p)
		clear(p)
		if err == nil {
			continue
		}
		e, typed := errors.AsType[*Error](err)
		if !typed {
			t.Fatalf("error of type %T", err)
		}
		kind = e.Kind
	}
	rec.flush()
	return rec.events, kind, frames(t, c.AppendPending(nil, 0))
}

// Every exchange has the same result whole, byte by byte, and split at every byte.
func TestExchanges(t *testing.T) {
	for _, x := range exchanges {
		t.Run(x.name, func(t *testing.T) {
			check := func(how string, parts ...[]byte) {
				t.Helper()
				events, kind, out := run(t, parts...)
				if !slices.Equal(events, x.events) || kind != x.err || !slices.Equal(out, x.out) {
					t.Fatalf("%s:\n got %q, %v, %q\nwant %q, %v, %q", how, events, kind, out, x.events, x.err, x.out)
				}
			}
			check("whole", x.in)
			if len(x.in) > 1<<10 {
				return
			}
			for i := range x.in {
				check(fmt.Sprintf("split at %d", i), x.in[:i], x.in[i:])
			}
			single := make([][]byte, len(x.in))
			for i := range x.in {
				single[i] = x.in[i : i+1]
			}
			check("byte by byte", single...)
		})
	}
}

// The first frames of a server, section 3.4.
func TestPreface(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []byte
		want Kind
	}{
		{"settings", raw(frameSettings, 0, 0, setting(setStreams, 7)), 0},
		{"acknowledgement", raw(frameSettings, flagAck, 0), Protocol},
		{"ping", raw(framePing, 0, 0, make([]byte, 8)), Protocol},
		{"goaway", raw(frameGoaway, 0, 0, u32(0), u32(1)), Protocol},
		{"HTTP/1.1", []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), NotHTTP2},
		{"HTTP/1.1, the start of it", []byte("HTTP"), NotHTTP2},
		{"noise", bytes.Repeat([]byte{0x15, 3, 3}, 9), NotHTTP2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := client(t, Settings{}).New(&record{})
			if c.Room() != 0 || c.Settled() {
				t.Error("there is room before the server's settings")
			}
			var kind Kind
			if e, failed := errors.AsType[*Error](c.Feed(tt.in)); failed {
				kind = e.Kind
			}
			if kind != tt.want {
				t.Fatalf("got %v, want %v", kind, tt.want)
			}
			if kind == 0 && (c.Room() != 7 || !c.Settled()) {
				t.Errorf("room for %d", c.Room())
			}
			if slot, _ := c.AppendRequest(nil, get(t, 0)); slot >= 0 != (kind == 0) {
				t.Errorf("a request got slot %d", slot)
			}
		})
	}
}

func TestPrefaceSent(t *testing.T) {
	c := client(t, Settings{StreamWindow: 1 << 20, ConnWindow: 1 << 24, HeaderList: 5}).New(&record{})
	if !c.Pending() {
		t.Fatal("nothing is pending")
	}
	out := c.AppendPending(nil, 0)
	rest, found := bytes.CutPrefix(out, []byte(preface))
	if !found {
		t.Fatalf("%q", out)
	}
	want := []string{
		"settings 0 " + strings.Join([]string{"000200000000", "000400100000", "000600000005"}, ""),
		fmt.Sprintf("window 0 %d", 1<<24-firstWindow),
	}
	if got := frames(t, rest); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if c.Pending() {
		t.Error("something is still pending")
	}
}

// Frames of streams that we reset may be in flight; those of other ended streams are
// errors.
func TestLateFrames(t *testing.T) {
	var rec record
	c := begun(t, Settings{Streams: 300}, &rec, 200)
	for slot := range 100 {
		c.Cancel(slot)
	}
	c.AppendPending(nil, 0)
	for _, id := range []uint32{1, 71, 73, 199} {
		if err := c.Feed(join(raw(frameHeaders, 4, id, ok), raw(frameData, 1, id, []byte("late")))); err != nil {
			t.Fatalf("stream %d: %v", id, err)
		}
	}
	if len(rec.events) != 0 || c.Active() != 100 {
		t.Errorf("%d active, %q", c.Active(), rec.events)
	}
	if err := c.Feed(join(raw(frameHeaders, 5, 201, ok), raw(frameHeaders, 5, 201, ok))); err == nil {
		t.Error("an answer to the same request twice is right")
	}
}

// A Handler may send, cancel and leave from within its methods.
func TestReentrant(t *testing.T) {
	rec := new(record)
	c := begun(t, Settings{Streams: 3}, rec, 3)
	r := get(t, 0)
	var sent []byte
	rec.then = func(event string, _ int) {
		switch event {
		case "0 end":
			if len(sent) > 0 {
				return
			}
			var again int
			if again, sent = c.AppendRequest(sent, r); again != 0 {
				t.Errorf("slot %d instead of the one that is free", again)
			}
		case "1 data":
			c.Cancel(1)
		case "2 head 200 -1":
			c.Cancel(2)
			c.Leave()
		}
	}
	in := join(
		raw(frameHeaders, 5, 1, ok),
		raw(frameHeaders, 4, 3, ok), raw(frameData, 0, 3, []byte("x")),
		raw(frameHeaders, 5, 5, ok),
		raw(frameHeaders, 4, 7, ok), raw(frameData, 1, 7, []byte("y")),
	)
	if err := c.Feed(in); err != nil {
		t.Fatal(err)
	}
	rec.flush()
	// The piece whose call cancels was received before.
	want := []string{"0 head 200 -1", "0 end", "1 head 200 -1", "1 data x", "2 head 200 -1", "0 head 200 -1", "0 data y", "0 end"}
	if got := rec.events; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if c.Room() != 0 || len(sent) == 0 {
		t.Errorf("room for %d", c.Room())
	}
	// The third had ended on both sides: nothing is sent on it any more.
	if got := frames(t, c.AppendPending(nil, 0)); !slices.Equal(got, []string{"reset 3 CANCEL", "goaway 0 NO_ERROR"}) {
		t.Errorf("sent %q", got)
	}
}
