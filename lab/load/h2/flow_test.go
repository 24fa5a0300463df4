package h2

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Content is sent within both windows, in turn, and within the caller's limit.
func TestSendWindows(t *testing.T) {
	c := begun(t, Settings{}, &record{}, 0)
	r := request(t, 0, "POST", "/", bytes.Repeat([]byte("x"), 100_000), 100_000)
	feed := func(b []byte) {
		t.Helper()
		if err := c.Feed(b); err != nil {
			t.Fatal(err)
		}
		c.AppendPending(nil, 0) // acknowledgements
	}
	expect := func(most int, want ...string) {
		t.Helper()
		if got := frames(t, c.AppendPending(nil, most)); !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	feed(raw(frameSettings, 0, 0, setting(setWindow, 30_000)))
	for i := range 3 {
		slot, out := c.AppendRequest(nil, r)
		got := frames(t, out)
		if slot != i || len(got) != 2 || got[1] != fmt.Sprintf("data %d 0 %d", 2*i+1, maxFrame) {
			t.Fatalf("%d: %q", slot, got)
		}
	}
	expect(2000, "data 1 0 2000")
	expect(1<<20, "data 3 0 13616", "data 5 0 767") // the connection's window is used up
	if c.Pending() {
		t.Error("pending without a window")
	}
	expect(1 << 20)
	feed(raw(frameWindow, 0, 0, u32(20_000)))
	if !c.Pending() {
		t.Error("nothing pending with a window")
	}
	expect(1<<20, "data 1 0 11616", "data 5 0 8384")
	feed(raw(frameWindow, 0, 0, u32(1<<20)))
	expect(1<<20, "data 5 0 4465") // and now all the streams' windows are
	// Less for the streams: their windows become negative, section 6.9.2.
	feed(raw(frameSettings, 0, 0, setting(setWindow, 10_000)))
	feed(raw(frameWindow, 0, 1, u32(20_000)))
	expect(1 << 20)
	feed(raw(frameWindow, 0, 1, u32(1)))
	expect(1<<20, "data 1 0 1")
	feed(raw(frameSettings, 0, 0, setting(setWindow, 1<<20)))
	var want []string
	for i := range 5 { // what is left of 100,000: stream 1 is a byte ahead
		for id := 1; id <= 5; id += 2 {
			n, flags := maxFrame, 0
			if i == 4 {
				n, flags = 4464, flagEndStream
			}
			if i == 4 && id == 1 {
				n--
			}
			want = append(want, fmt.Sprintf("data %d %d %d", id, flags, n))
		}
	}
	expect(1<<20, want...)
	if c.Pending() {
		t.Error("pending after the end")
	}
}

// Content is the repeated body, wherever frames end.
func TestContent(t *testing.T) {
	for _, tt := range []struct {
		body string
		size int64
	}{{"abc", 1}, {"abc", 3}, {"abc", 40_000}, {strings.Repeat("0123456789", 2000), 50_001}} {
		c := begun(t, Settings{}, &record{}, 0)
		_, out := c.AppendRequest(nil, request(t, 0, "POST", "/", []byte(tt.body), tt.size))
		for c.Pending() {
			out = c.AppendPending(out, 777)
		}
		var got []byte
		for len(out) > 0 {
			h := parseHead(out)
			if h.typ == frameData {
				got = append(got, out[frameHeader:frameHeader+h.length]...)
				if h.has(flagEndStream) != (int64(len(got)) == tt.size) {
					t.Fatalf("the end after %d of %d bytes", len(got), tt.size)
				}
			}
			out = out[frameHeader+h.length:]
		}
		want := strings.Repeat(tt.body, int(tt.size)/len(tt.body)+1)[:tt.size]
		if string(got) != want {
			t.Errorf("%d bytes of other content arrive", len(got))
		}
	}
}

// A stream that ends while its content waits leaves the queue; an early answer resets the
// rest of the request.
func TestQueue(t *testing.T) {
	var rec record
	c := begun(t, Settings{}, &rec, 0)
	r := request(t, 0, "POST", "/", []byte("x"), 1<<20)
	for range 4 {
		c.AppendRequest(nil, r)
	}
	if err := c.Feed(raw(frameHeaders, 5, 5, ok)); err != nil {
		t.Fatal(err)
	}
	if err := c.Feed(raw(frameReset, 0, 1, u32(0))); err != nil {
		t.Fatal(err)
	}
	c.Cancel(3)
	if err := c.Feed(raw(frameWindow, 0, 0, u32(20))); err != nil {
		t.Fatal(err)
	}
	if got := frames(t, c.AppendPending(nil, 1000)); !slices.Equal(got, []string{"reset 5 CANCEL", "reset 7 CANCEL", "data 3 0 20"}) {
		t.Errorf("sent %q", got)
	}
	if want := []string{"2 head 200 -1", "2 end", "0 fail h2-reset NO_ERROR"}; !slices.Equal(rec.events, want) {
		t.Errorf("got %q", rec.events)
	}
}

// Windows are given back when half of them is used, and not exceeded.
func TestReceiveWindows(t *testing.T) {
	c := begun(t, Settings{StreamWindow: 30_000, ConnWindow: 100_000}, &record{}, 3)
	feed := func(b []byte) (updates []string) {
		t.Helper()
		if err := c.Feed(b); err != nil {
			t.Fatal(err)
		}
		return frames(t, c.AppendPending(nil, 0))
	}
	feed(join(okFirst, raw(frameHeaders, 4, 3, ok), raw(frameHeaders, 4, 5, ok)))
	block := make([]byte, 10_000)
	for i, tt := range []struct {
		id    uint32
		flags byte
		want  []string
	}{
		{1, 0, nil},
		{1, 0, []string{"window 1 20000"}},
		{3, 0, nil},
		{3, flagEndStream, nil}, // it will not need a window
		{1, flagPadded, []string{"window 0 50000"}},
		{1, 0, []string{"window 1 20000"}},
	} {
		if got := feed(raw(frameData, tt.flags, tt.id, block)); !slices.Equal(got, tt.want) {
			t.Errorf("frame %d: %q, want %q", i, got, tt.want)
		}
	}
	for _, s := range []Settings{{StreamWindow: 3000}, {ConnWindow: firstWindow}} {
		c := begun(t, s, &record{}, 1)
		err := c.Feed(okFirst)
		for range 17 { // 68,000 bytes, and nothing is given back: nothing was sent
			if err == nil {
				err = c.Feed(raw(frameData, 0, 1, make([]byte, 4000)))
			}
		}
		if e, _ := errors.AsType[*Error](err); e == nil || e.Kind != Flow {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// The memory that a server can make a connection use is bounded.
func TestHostile(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []byte // repeated
		s    Settings
		pre  []byte
		want Kind
	}{
		{"ping", raw(framePing, 0, 0, make([]byte, 8)), Settings{}, nil, Flood},
		{"settings", raw(frameSettings, 0, 0), Settings{}, nil, Flood},
		{"empty data", raw(frameData, 0, 1), Settings{}, okFirst, Flood},
		{"padded empty data", raw(frameData, flagPadded, 1, []byte{1, 0}), Settings{}, okFirst, Flood},
		{"continuation", raw(frameContinuation, 0, 1, make([]byte, 1000)), Settings{}, raw(frameHeaders, 0, 1), HeaderSize},
		{"empty continuation", raw(frameContinuation, 0, 1), Settings{}, raw(frameHeaders, 0, 1), HeaderSize},
		{"bomb", raw(frameHeaders, flagEndHeaders, 1, bytes.Repeat([]byte{0xbe}, 100)), Settings{}, raw(frameHeaders, flagEndHeaders, 3, append([]byte{0x88, 0x40, 1, 'a', 0x7f, 0x81, 0x1e}, make([]byte, 4096-128)...)), HeaderSize},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var rec record
			c := begun(t, tt.s, &rec, 2)
			if err := c.Feed(tt.pre); err != nil {
				t.Fatal(err)
			}
			var err error
			for range 100_000 {
				if err = c.Feed(tt.in); err != nil {
					break
				}
			}
			e, _ := errors.AsType[*Error](err)
			if e == nil || e.Kind != tt.want {
				t.Fatalf("%v", err)
			}
			if n := cap(c.out) + cap(c.part) + cap(c.block) + cap(c.last); n > 128<<10 {
				t.Errorf("%d bytes are kept", n)
			}
			if again := c.Feed(tt.in); again != err {
				t.Errorf("then %v", again)
			}
			out := frames(t, c.AppendPending(nil, 0))
			if last := out[len(out)-1]; last != "goaway 0 ENHANCE_YOUR_CALM" {
				t.Errorf("the last frame is %s", last)
			}
			if c.Room() != 0 || c.Pending() {
				t.Error("the connection continues")
			}
		})
	}
}

// A server may ping without limit if it reads the answers.
func TestPatience(t *testing.T) {
	c := begun(t, Settings{}, &record{}, 1)
	var out []byte
	for range 10_000 {
		if err := c.Feed(join(raw(framePing, 0, 0, make([]byte, 8)), raw(frameSettings, 0, 0))); err != nil {
			t.Fatal(err)
		}
		out = c.AppendPending(out[:0], 0)
	}
	interim := raw(frameHeaders, 4, 1, fields(":status", "103"))
	for range maxInterim {
		if err := c.Feed(interim); err != nil || c.Active() != 1 {
			t.Fatal(err)
		}
	}
	if err := c.Feed(interim); err != nil || c.Active() != 0 {
		t.Error("interim answers may go on for ever")
	}
}

// Identifiers of streams end at 2^31-1.
func TestLastStream(t *testing.T) {
	var rec record
	c := begun(t, Settings{}, &rec, 0)
	c.nextID = maxID - 2
	r := get(t, 0)
	for want := range 2 {
		if slot, _ := c.AppendRequest(nil, r); slot != want || c.Room() != 1-want {
			t.Fatalf("slot %d, room for %d", slot, c.Room())
		}
	}
	if leaving, _ := c.Leaving(); !leaving {
		t.Error("the connection has streams left")
	}
	if err := c.Feed(raw(frameHeaders, 5, maxID, ok)); err != nil || c.Active() != 1 {
		t.Error(err, rec.events)
	}
}

// The index finds streams however far apart their identifiers are.
func TestStreams(t *testing.T) {
	var s streams
	slots := map[uint32]int{}
	id := uint32(1)
	for i := range 20_000 {
		slots[id] = s.open(id)
		id += 2
		if i%7 != 0 { // every seventh stays for long
			continue
		}
		for old, slot := range slots {
			if s.find(old) != slot {
				t.Fatalf("stream %d is not found", old)
			}
			if len(slots) > 40 || old%3 == 0 {
				s.close(slot)
				delete(slots, old)
				if s.find(old) >= 0 {
					t.Fatalf("stream %d is found", old)
				}
			}
		}
	}
	if len(s.slots) > 128 || len(s.index) != 2*len(s.slots) || s.active != len(slots) {
		t.Errorf("%d slots, %d places, %d active", len(s.slots), len(s.index), s.active)
	}
}
