package http2

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/transport"
)

// A plain connection accepts all output at once, and lends its session no loop to leave.
type plain struct {
	transport.Conn
	timeout time.Duration
}

func (*plain) Pending() int                              { return 0 }
func (*plain) Untaken() int                              { return 0 }
func (*plain) Detached() bool                            { return false }
func (*plain) Watch(w *transport.Watch) *transport.Watch { return w }
func (c *plain) SetTimeout(d time.Duration)              { c.timeout = d }
func (*plain) Wake(func(out *buf.Queue) error) bool      { return true }

func plainSession(h exchange.Handler) *Session {
	cfg := &exchange.Config{Handler: h, HighWater: 64 << 10, StallTimeout: time.Hour, IdleTimeout: time.Hour}
	cfg.Limits = cfg.Limits.WithDefaults()
	return NewSession(&plain{}, cfg)
}

// conversation is what a client sends: heads, content, trailers, and frames of other kinds.
func conversation(t testing.TB) []byte {
	p := newPeer(t, 1, routes{})
	var b []byte
	add := func(kind, flags byte, id uint32, payload []byte) {
		b = append(appendFrame(b, len(payload), kind, flags, id), payload...)
	}
	add(frameSettings, 0, 0, appendSetting(nil, settingInitialWindow, 1<<20))
	add(frameHeaders, flagEndHeaders|flagEndStream, 1, p.block(request("GET", "/a", "x-a", "b")...))
	add(framePing, 0, 0, []byte("12345678"))
	head := p.block(request("POST", "/echo", "x-a", "b")...)
	add(frameHeaders, 0, 3, head[:5])
	add(frameContinuation, flagEndHeaders, 3, head[5:])
	add(frameData, flagPadded, 3, append([]byte{3}, "hello\x00\x00\x00"...))
	add(0x0b, 0, 3, []byte("unknown"))
	add(frameData, 0, 3, []byte(" world"))
	add(frameHeaders, flagEndHeaders|flagEndStream, 3, p.block("x-sum", "1"))
	add(frameHeaders, flagEndHeaders|flagEndStream, 5, p.block(request("GET", "/b#")...))
	add(frameHeaders, flagEndHeaders|flagEndStream, 7, p.block(request("HEAD", "/a")...))
	add(frameReset, 0, 7, make([]byte, 4))
	return append([]byte(Preface), b...)
}

// TestSplit wants the same output wherever the input is split. Requests with content are
// answered without reading it, because reading leaves the feed.
func TestSplit(t *testing.T) {
	in := conversation(t)
	play := func(cuts ...int) string {
		s := plainSession(routes{})
		var out buf.Queue
		var got bytes.Buffer
		from, kept := 0, []byte(nil)
		for _, to := range append(cuts, len(in)) {
			kept = append(kept, in[from:to]...)
			from = to
			n, err := s.Feed(kept, &out)
			if err != nil {
				t.Fatal(cuts, err)
			}
			kept = kept[n:]
			for p := out.First(); len(p) > 0; p = out.First() {
				got.Write(p)
				out.Discard(len(p))
			}
		}
		if len(kept) > 0 {
			t.Fatalf("%v: %d bytes are left", cuts, len(kept))
		}
		return sorted(got.Bytes())
	}
	want := play()
	for i := range in {
		if got := play(i); got != want {
			t.Fatalf("split at %d:\n%q, want\n%q", i, got, want)
		}
	}
	every := make([]int, len(in))
	for i := range every {
		every[i] = i
	}
	if got := play(every...); got != want {
		t.Errorf("byte by byte:\n%q, want\n%q", got, want)
	}
}

// sorted returns the kinds and streams of frames, those of each stream in their order: a
// request whose content is at hand is answered after the end of the input. The resets of
// requests whose content was not at hand are left out.
func sorted(out []byte) string {
	var streams [10]strings.Builder
	for {
		f, n, _ := parseFrame(out)
		if n == 0 {
			break
		}
		out = out[n:]
		if f.kind != frameReset {
			streams[f.stream].WriteByte('a' + f.kind)
			streams[f.stream].WriteByte('0' + f.flags)
		}
	}
	var b strings.Builder
	for i := range streams {
		b.WriteString(streams[i].String() + "|")
	}
	return b.String()
}

// FuzzFrames plays frames that are mostly well-formed. The session survives them, comes to
// rest, and holds a bounded amount of memory.
func FuzzFrames(f *testing.F) {
	f.Add(uint64(1), []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	f.Add(uint64(2), []byte{1, 1, 1, 0, 0, 3, 3, 8, 8, 8, 1})
	f.Add(uint64(3), conversation(f))
	f.Fuzz(func(t *testing.T, seed uint64, program []byte) {
		if len(program) > 300 {
			return
		}
		playFrames(t, seed, program)
	})
}

// TestFrames is the fuzz target with programs from chance, always the same.
func TestFrames(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for seed := range uint64(60) {
		program := make([]byte, rnd.IntN(200))
		for i := range program {
			program[i] = byte(rnd.Uint32())
		}
		playFrames(t, seed, program)
	}
}

var paths = []string{"/echo", "/large", "/pieces", "/flush", "/slow", "/abort", "/"}

func playFrames(t *testing.T, seed uint64, program []byte) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 3))
	p := newPeer(t, seed, handlers)
	p.window, p.initial = 1<<62, 1<<62 // these frames are not tracked
	next := uint32(1)
	for _, op := range program {
		id := uint32(rnd.IntN(int(next)+2)) | 1
		end := byte(op >> 7)
		switch op % 16 {
		case 0, 1, 2:
			p.frame(frameHeaders, flagEndHeaders|end, next, p.block(request("POST", paths[rnd.IntN(len(paths))])...))
			next += 2
		case 3, 4, 5:
			p.frame(frameData, end, id, make([]byte, rnd.IntN(3000)))
		case 6, 7:
			p.f.Send(appendWord(nil, frameWindowUpdate, id&^uint32(end), uint32(rnd.IntN(1<<18))))
		case 8:
			p.f.Send(appendWord(nil, frameReset, id, uint32(Cancel)))
		case 9:
			p.frame(frameSettings, 0, 0, appendSetting(nil, settingInitialWindow, uint32(rnd.IntN(1<<17))))
		case 10:
			p.frame(frameHeaders, flagEndHeaders|flagEndStream, id, p.block("a", "b"))
		case 11:
			p.frame(framePriorityUpdate, 0, 0, append(binary.BigEndian.AppendUint32(nil, id), "u=0, i"...))
		case 12:
			p.f.Stall(end != 0)
		case 13: // not until nothing happens: a client that reads nothing is fed again and again
			for range 300 {
				p.f.Step()
			}
		case 14:
			p.frame(framePing, 0, 0, make([]byte, 8))
		case 15:
			if end != 0 && rnd.IntN(4) == 0 {
				p.frame(byte(rnd.Uint32()), byte(rnd.Uint32()), id, make([]byte, rnd.IntN(20)))
			}
		}
	}
	for range 3000 {
		p.f.Step()
	}
	p.s.mu.Lock()
	held := p.s.late.Len()
	for _, st := range p.s.streams {
		held += len(st.content)
	}
	p.s.mu.Unlock()
	if held > maxConnWindow+1<<20 {
		t.Errorf("%d bytes are held", held)
	}
	p.f.Stall(false)
	p.f.End()
	p.f.Wait("the connection is closed", p.closed)
	p.f.Wait("handlers have returned", func() bool {
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		return len(p.s.streams) == 0
	})
}
