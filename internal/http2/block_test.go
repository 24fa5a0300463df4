package http2

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/exchange"
)

// TestBlocks bounds header blocks: endless CONTINUATION (CVE-2023-45288), and fields that
// decompress to far more.
func TestBlocks(t *testing.T) {
	t.Run("endless", func(t *testing.T) {
		p := newPeer(t, 9, routes{})
		p.frame(frameHeaders, flagEndStream, 1, p.block(request("GET", "/")...))
		for range 300 {
			p.frame(frameContinuation, 0, 1, literal("a", strings.Repeat("b", 1000)))
		}
		p.wantGone(EnhanceYourCalm)
		if n := cap(p.s.block.data); n > 0 {
			t.Errorf("%d bytes are kept", n)
		}
	})
	t.Run("empty", func(t *testing.T) {
		p := newPeer(t, 9, routes{})
		p.frame(frameHeaders, flagEndStream, 1, nil)
		for range maxPoints + 1 {
			p.frame(frameContinuation, 0, 1, nil)
		}
		p.wantGone(EnhanceYourCalm)
	})
	t.Run("bomb", func(t *testing.T) {
		p := newPeer(t, 9, routes{})
		b := p.block(request("GET", "/", "a", strings.Repeat("b", 2000), "a", strings.Repeat("b", 2000))...)
		b = append(b, strings.Repeat("\xbe", 12000)...) // the newest line of the table
		p.frame(frameHeaders, flagEndStream|flagEndHeaders, 1, b)
		if r := p.whole(1); r.status != "431" {
			t.Errorf("%q %v", r.status, r.code)
		}
		p.alive(3)
		p.close()
	})
	t.Run("slow", func(t *testing.T) {
		p := newPeer(t, 9, routes{})
		p.frame(frameHeaders, flagEndStream, 1, p.block(request("GET", "/")...)).run()
		p.f.Advance(30 * time.Minute)
		p.frame(frameContinuation, 0, 1, nil).run()
		p.f.Advance(31 * time.Minute)
		p.wantGone(ProtocolError)
	})
	t.Run("interrupted", func(t *testing.T) {
		for _, kind := range []byte{frameData, frameHeaders, framePing, 0x0a} {
			p := newPeer(t, uint64(kind), routes{})
			p.frame(frameHeaders, flagEndStream, 1, p.block(request("GET", "/")...)).frame(kind, 0, 1, nil)
			p.wantGone(ProtocolError)
		}
	})
	t.Run("in pieces", func(t *testing.T) {
		p := newPeer(t, 9, routes{})
		b := p.block(request("GET", "/")...)
		p.frame(frameHeaders, flagEndStream, 1, nil)
		for i := range b {
			p.frame(frameContinuation, 0, 1, b[i:i+1])
		}
		p.frame(frameContinuation, flagEndHeaders, 1, nil).want(1, "200", "ok")
		p.close()
	})
}

// cut sends a header block in frames of the largest size.
func (p *peer) cut(id uint32, flags byte, block []byte) *peer {
	kind := byte(frameHeaders)
	for ; len(block) > defaultMaxFrame; block = block[defaultMaxFrame:] {
		p.frame(kind, flags, id, block[:defaultMaxFrame])
		kind, flags = frameContinuation, 0
	}
	return p.frame(kind, flags|flagEndHeaders, id, block)
}

// TestLongBlocks answers heads that are much too long, and the connection lives: the state of
// HPACK has followed the block, of which the last line enters the table.
func TestLongBlocks(t *testing.T) {
	refused := 0
	p := newPeer(t, 11, routes{"/field": func(x *exchange.Exchange) {
		for _, f := range x.Fields {
			if string(f.Name.In(x.Head)) == "last" {
				x.Body = append(x.Body, f.Value.In(x.Head)...)
			}
		}
	}, "/wait": func(x *exchange.Exchange) { _, _ = content(x) }}, func(cfg *exchange.Config) {
		cfg.Refused = func(_ net.Addr, status int, _ string) { refused = status }
	})
	most := p.s.longestBlock()
	line := literal("a", strings.Repeat("b", 1000))
	long := func(begin []byte, n int, last string) []byte {
		for len(begin)+len(line)+100 < n {
			begin = append(begin, line...)
		}
		return append(begin, p.enc.Field(nil, "last", last)...)
	}
	p.cut(1, flagEndStream, long(p.block(request("GET", "/")...), most, "one"))
	if r := p.whole(1); r.status != "431" || refused != 431 {
		t.Errorf("%q %v, the hook is told %d", r.status, r.code, refused)
	}
	p.headers(3, true, request("GET", "/field", "last", "one")...).want(3, "200", "one")

	p.headers(5, false, request("POST", "/wait")...).cut(5, flagEndStream, long(p.block(), most, "two"))
	p.wantReset(5, ProtocolError) // trailers that are too long
	p.headers(7, true, request("GET", "/field", "last", "two")...).want(7, "200", "two")

	p.cut(9, flagEndStream, long(p.block(request("GET", "/")...), most+len(line)+200, "three"))
	p.wantGone(EnhanceYourCalm)
	p.close()
}

// TestManyLongBlocks ends a connection that sends little else.
func TestManyLongBlocks(t *testing.T) {
	p := newPeer(t, 12, routes{})
	block := p.block(request("GET", "/")...)
	for len(block) < p.s.longestBlock()-2000 {
		block = append(block, literal("a", strings.Repeat("b", 1000))...)
	}
	for i := range uint32(40) {
		p.cut(2*i+1, flagEndStream, block)
	}
	p.wantGone(EnhanceYourCalm)
	p.close()
}

// TestLongestBlock is the bound for each limit of a head.
func TestLongestBlock(t *testing.T) {
	for head, want := range map[int]int{1 << 10: 64 << 10, 64 << 10: 256 << 10, 256 << 10: 1 << 20, 800 << 10: 1 << 20, 4 << 20: 4 << 20} {
		p := newPeer(t, 13, routes{}, func(cfg *exchange.Config) { cfg.Limits.MaxHeadBytes = head })
		if got := p.s.longestBlock(); got != want {
			t.Errorf("MaxHeadBytes %d: %d, want %d", head, got, want)
		}
		p.close()
	}
}
