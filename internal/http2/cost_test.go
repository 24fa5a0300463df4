package http2

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/http2/hpack"
	"github.com/redline-go/redline/internal/transport"
)

// What docs/limits.md says that a client can make a connection do and hold, by the bytes that it
// sends. A unit of work is a frame, a stream, or 64 bytes of a head, that is looked at.
const (
	workOnce, workEach = 20_000, 16 // units, and for each byte

	heldOnce   = 64 << 10 // bytes
	heldStream = 16 << 10 // for each open stream
	heldEach   = 2        // for each byte
)

// cost is the work that a session has had, the memory that it and its streams hold for their client,
// and how many of them are open.
func (s *Session) cost() (work, held, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	const field, ended = 20, 8
	n := cap(s.block.data) + s.late.Held() + cap(s.fields)*field + cap(s.endings.ring)*ended
	for _, st := range s.streams {
		n += cap(st.text) + cap(st.content) + st.queue.Held()
		n += (cap(st.x.Fields)+cap(st.x.Request.Trailers))*field + cap(st.x.TrailerBytes)
		if st.ended != nil {
			n += cap(st.ended.text) + cap(st.ended.fields)*field
		}
	}
	return s.work, n, s.open
}

// A parked connection serves requests for /wait on goroutines of their own, and all others inline.
type parked struct {
	plain
	s *Session
}

func (c *parked) Turn() bool           { return true }
func (c *parked) Loop() transport.Loop { return nil }
func (c *parked) At() transport.Turned { return c }
func (c *parked) Detached() bool       { return string(c.s.inline.x.PathBytes()) == "/wait" }

// A spender is a client that tries to cost much.
type spender struct {
	t    testing.TB
	s    *Session
	enc  hpack.Encoder
	last uint32 // stream
	sent int    // bytes
	over bool   // the connection has ended
}

func newSpender(t testing.TB, release <-chan struct{}) *spender {
	cfg := &exchange.Config{Handler: routes{"/wait": func(*exchange.Exchange) { <-release }}, HighWater: 64 << 10, StallTimeout: time.Hour}
	cfg.Limits = cfg.Limits.WithDefaults()
	conn := new(parked)
	conn.s = NewSession(conn, cfg)
	c := &spender{t: t, s: conn.s}
	c.enc.Init()
	c.feed([]byte(Preface))
	c.frame(frameSettings, 0, 0, nil)
	return c
}

// feed sends, and compares what that costs with the bounds.
func (c *spender) feed(b []byte) {
	if c.over {
		return
	}
	var out buf.Queue
	defer out.Release()
	_, err := c.s.Feed(b, &out)
	c.over = err != nil
	c.sent += len(b)
	work, held, open := c.s.cost()
	if most := workOnce + workEach*c.sent; work > most {
		c.t.Fatalf("%d bytes make %d units of work, bound %d", c.sent, work, most)
	}
	if most := heldOnce + heldStream*open + heldEach*c.sent; held > most {
		c.t.Fatalf("%d bytes make the session hold %d with %d streams, bound %d", c.sent, held, open, most)
	}
}

func (c *spender) frame(kind, flags byte, id uint32, payload []byte) {
	c.feed(append(appendFrame(nil, len(payload), kind, flags, id), payload...))
}

// headers sends a request whose block ends with lines of the encoder's own, and others.
func (c *spender) headers(end bool, path string, more []byte, fields ...string) {
	b := c.enc.Begin(nil)
	fields = append(request("GET", path), fields...)
	for i := 0; i+1 < len(fields); i += 2 {
		b = c.enc.Field(b, fields[i], fields[i+1])
	}
	c.last += 2
	flags := byte(flagEndHeaders)
	if end {
		flags |= flagEndStream
	}
	b = append(b, more...)
	c.frame(frameHeaders, flags, c.last-1, b[:min(len(b), defaultMaxFrame)])
}

// play has the client do what the bytes of a script say, four for each act.
func (c *spender) play(script []byte) {
	for ; len(script) >= 4 && !c.over; script = script[4:] {
		a, n := script[1], int(binary.BigEndian.Uint16(script[2:]))
		id := max(c.last, 2) - 1 - 2*uint32(int(a)%max(int(c.last/2), 1))
		path, end := []string{"/wait", "/"}[a%2], a&2 != 0
		switch script[0] % 12 {
		case 0:
			c.headers(end, path, nil)
		case 1: // the newest line again and again
			c.headers(end, path, fill(n%300, 0xbe))
		case 2: // a line that fills the table, and then is referred to
			c.headers(end, path, fill(int(a)%20, 0xbe), "x-a", string(fill(n%4000, 'a')))
		case 3:
			c.headers(end, path, nil, "cookie", string(fill(n%1000, 'b')), "cookie", "c", "x-b", string(fill(n%90, 'c')), "cookie", "d")
		case 4:
			c.frame(frameData, a&flagEndStream, id, fill(n%defaultMaxFrame, 'x'))
		case 5: // many windows in one frame
			var b []byte
			for i := range n % 2730 {
				b = appendSetting(b, settingInitialWindow, uint32(i*int(a)))
			}
			c.frame(frameSettings, 0, 0, b)
		case 6:
			c.frame(frameSettings, 0, 0, appendSetting(nil, settingInitialWindow, uint32(n)))
		case 7:
			c.feed(appendWord(nil, frameWindowUpdate, id*uint32(a%2), uint32(n)))
		case 8:
			c.feed(appendWord(nil, frameReset, id, uint32(a)))
		case 9: // a block that is open, or trailers
			c.frame(frameHeaders, a&(flagEndStream|flagEndHeaders), id+2*uint32(a>>7), fill(n%3000, 0xbe))
		case 10:
			c.frame(frameContinuation, a&flagEndHeaders, id+2*uint32(a>>7), fill(n, 0xbe)[:n%defaultMaxFrame])
		case 11:
			c.frame(a%32, 0, id*uint32(n%2), fill(n%100, a))
		}
	}
}

func fill(n int, c byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = c
	}
	return b
}

// spend plays a script.
func spend(t testing.TB, script []byte) *spender {
	release := make(chan struct{})
	defer close(release)
	c := newSpender(t, release)
	c.play(script)
	return c
}

// TestCost has clients that do one thing again and again, and others that do anything, and compares
// the work and the memory that this takes with what docs/limits.md says.
func TestCost(t *testing.T) {
	repeated := func(first, again string, n int) []byte {
		script := []byte(first)
		for range n {
			script = append(script, again...)
		}
		return script
	}
	for name, script := range map[string][]byte{
		"windows by SETTINGS":  append(repeated("\x06\x00\x00\x00", "\x00\x01\x00\x00", 200), repeated("", "\x06\x00\x00\x01\x06\x00\x00\x00", 2000)...),
		"windows in one frame": append(repeated("\x06\x00\x00\x00", "\x00\x00\x00\x00", 200), repeated("", "\x05\x03\x0a\xa0", 100)...),
		"references":           repeated("\x02\x02\x0e\xa0", "\x01\x02\x00\x01", 3000),
		"many references":      repeated("\x02\x02\x0e\xa0", "\x01\x02\x00\x0f", 3000),
		"references, window 0": repeated("\x06\x00\x00\x00\x02\x02\x0e\xa0", "\x01\x03\x00\x01", 3000),
		"cookies":              repeated("", "\x03\x02\x03\xe0", 3000),
		"content":              append(repeated("", "\x00\x00\x00\x00", 100), repeated("", "\x04\x00\x3f\x00\x04\x02\x3f\x00", 100)...),
		"late content":         repeated("", "\x00\x01\x00\x00\x04\x00\x00\x00\x04\x00\x00\x01", 3000),
		"late windows":         repeated("\x00\x03\x00\x00", "\x07\x01\x01\x00", 10000),
		"open blocks":          repeated("\x09\x80\x0b\x00", "\x0a\x80\x3f\x00", 100),
	} {
		t.Run(name, func(t *testing.T) {
			c := spend(t, script)
			work, held, open := c.s.cost()
			t.Logf("%d bytes: %d units of work, %d bytes held, %d streams, over %v", c.sent, work, held, open, c.over)
		})
	}
	t.Run("anything", func(t *testing.T) {
		for seed := range uint64(300) {
			random := rand.New(rand.NewPCG(seed, 0))
			script := make([]byte, 4*random.IntN(400))
			for i := range script {
				script[i] = byte(random.Uint32())
			}
			spend(t, script)
		}
	})
}

// FuzzCost is TestCost for any script.
func FuzzCost(f *testing.F) {
	for op := range byte(12) {
		f.Add([]byte(fmt.Sprintf("%c\x00\x0e\xa0%c\x02\x00\x0f\x00\x00\x00\x00", op, op)))
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		defer time.AfterFunc(4*time.Second, func() { panic(fmt.Sprintf("%q", script)) }).Stop()
		spend(t, script)
	})
}
