//go:build !race

// The race detector makes pools forget, and allocates.

package http2

import (
	"runtime"
	"testing"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/exchange"
)

// TestAllocations wants no allocation for a request in the steady state.
func TestAllocations(t *testing.T) {
	line := exchange.Line{Name: "Content-Type", Value: "text/plain"}
	s := plainSession(routes{"/text": func(x *exchange.Exchange) {
		x.Replace(line)
		x.Body = append(x.Body, "Hello, World!"...)
	}, "/large": func(x *exchange.Exchange) { x.Static = staticText }})
	p := newPeer(t, 1, routes{})
	var out buf.Queue
	feed := func(b []byte) {
		if n, err := s.Feed(b, &out); n != len(b) || err != nil || s.open != 0 {
			t.Fatal(n, err, s.open)
		}
		out.Reset()
	}
	feed(append(append([]byte(Preface), appendFrame(nil, 0, frameSettings, 0, 0)...), appendWord(nil, frameWindowUpdate, 0, 1<<30)...))
	id := uint32(1)
	for _, path := range []string{"/text", "/large"} {
		var block []byte
		for range 5 { // then it is made of lines of the table
			id += 2
			block = p.block(request("GET", path, "user-agent", "test", "accept", "*/*")...)
			feed(append(appendFrame(nil, len(block), frameHeaders, flagEndHeaders|flagEndStream, id), block...))
		}
		frame := append(appendFrame(nil, len(block), frameHeaders, flagEndHeaders|flagEndStream, 0), block...)
		if n := testing.AllocsPerRun(200, func() {
			id += 2
			frame[5], frame[6], frame[7], frame[8] = byte(id>>24), byte(id>>16), byte(id>>8), byte(id)
			feed(frame)
		}); n != 0 {
			t.Errorf("%s: %v allocations", path, n)
		}
		id += 2
	}
}

var staticText = []byte("a response of a few bytes that is sent from where it is")

// TestIdleMemory bounds what an idle connection holds.
func TestIdleMemory(t *testing.T) {
	const n, most = 10_000, 4 << 10
	p := newPeer(t, 1, routes{})
	block := p.block(request("GET", "/", "user-agent", "test", "accept", "*/*")...)
	hello := append([]byte(Preface), appendFrame(nil, 0, frameSettings, 0, 0)...)
	hello = append(append(hello, appendFrame(nil, len(block), frameHeaders, flagEndHeaders|flagEndStream, 1)...), block...)
	measure := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	sessions := make([]*Session, n)
	before := measure()
	var out buf.Queue
	for i := range sessions {
		sessions[i] = plainSession(routes{})
		if _, err := sessions[i].Feed(hello, &out); err != nil {
			t.Fatal(err)
		}
		out.Reset()
	}
	each := int64(measure()-before) / n
	t.Logf("an idle connection holds %d bytes", each)
	if each > most {
		t.Errorf("an idle connection holds %d bytes, at most %d are expected", each, most)
	}
	runtime.KeepAlive(sessions)
}
