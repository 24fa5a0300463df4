package http2

import (
	"strings"
	"testing"

	"github.com/redline-go/redline/internal/exchange"
)

// TestLate tolerates what clients send on streams that the server has ended before they knew: for as
// many streams as they may have open, and as much as their windows allowed. More is charged.
func TestLate(t *testing.T) {
	const streams = DefaultMaxStreams
	piece := strings.Repeat("x", 200)
	begin := func() *peer {
		p := newPeer(t, 31, routes{"/wait": func(x *exchange.Exchange) { _, _ = content(x) }})
		for i := range uint32(streams) {
			p.headers(2*i+1, false, request("POST", "/early")...).run()
		}
		for i := range uint32(streams) {
			if r := p.want(2*i+1, "200", "ok"); !r.reset {
				t.Fatalf("stream %d goes on", 2*i+1)
			}
		}
		return p
	}
	for name, send := range map[string]func(p *peer, id uint32){
		"content":            func(p *peer, id uint32) { p.data(id, false, piece).data(id, false, piece).data(id, true, piece) },
		"content to the end": func(p *peer, id uint32) { p.data(id, true, "") },
		"trailers":           func(p *peer, id uint32) { p.data(id, false, piece).headers(id, true, "a", "b") },
		"reset":              func(p *peer, id uint32) { p.data(id, false, piece).word(frameReset, id, uint32(Cancel)) },
		"window":             func(p *peer, id uint32) { p.word(frameWindowUpdate, id, 1000) },
	} {
		t.Run(name, func(t *testing.T) {
			p := begin()
			for i := range uint32(streams) {
				send(p, 2*i+1)
			}
			p.alive(2*streams + 1)
			if n := p.s.credit.points; n > streams {
				t.Errorf("it costs %d points", n)
			}
			p.close()
		})
	}
	for name, send := range map[string]func(p *peer, id uint32){
		"endless content":   func(p *peer, id uint32) { p.data(id, false, "x") },
		"content after end": func(p *peer, id uint32) { p.data(id, true, "x") },
		"windows":           func(p *peer, id uint32) { p.word(frameWindowUpdate, id, 1000) },
		"resets":            func(p *peer, id uint32) { p.word(frameReset, id, 0) },
		"blocks":            func(p *peer, id uint32) { p.headers(id, false, "a", "b") },
	} {
		t.Run(name, func(t *testing.T) {
			p := begin()
			for range maxPoints + streamWindow/gainBytes + 10 {
				send(p, 1)
			}
			p.wantGone(EnhanceYourCalm)
		})
	}
}

// TestLateAfterAll ends the connection of a client that opens a stream again with HEADERS, which
// cannot have been in transit.
func TestLateAfterAll(t *testing.T) {
	p := newPeer(t, 32, routes{})
	p.headers(1, false, request("POST", "/early")...).want(1, "200", "ok")
	p.headers(1, true, "a", "b").alive(3)
	p.headers(1, true, "a", "b").wantGone(StreamClosed)
}

// TestNoGain gives no points back for content that nobody takes.
func TestNoGain(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	p := newPeer(t, 33, routes{"/stay": staying(release)})
	p.headers(1, false, request("POST", "/early")...).want(1, "200", "ok")
	p.headers(3, true, request("POST", "/stay")...).run()
	for range 10 {
		p.frame(framePing, 0, 0, make([]byte, pingLength))
	}
	p.run()
	before := p.s.credit.points
	p.data(1, false, strings.Repeat("x", defaultMaxFrame)).run()
	if n := p.s.credit.points; n != before {
		t.Errorf("%d points become %d", before, n)
	}
}

// TestRefusedRequests keeps a connection that several share behind a proxy, if one of them sends
// requests that are refused: each of them is answered.
func TestRefusedRequests(t *testing.T) {
	p := newPeer(t, 34, routes{})
	id := uint32(1)
	for range 2 * maxPoints / costReset {
		p.word(frameWindowUpdate, 0, 100)
		p.get(id, "/#")
		p.want(id, "400", "malformed request\n")
		p.headers(id+2, false, request("POST", "/", "content-length", "999999999")...)
		p.want(id+2, "413", "request body exceeds the limit\n")
		id += 4
	}
	p.alive(id)
	p.close()
}
