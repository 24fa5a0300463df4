package http2

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redline-go/redline/internal/exchange"
)

// blocking are handlers that wait until they may return, and count themselves.
func blocking(release <-chan struct{}, running chan<- int) routes {
	return routes{"/wait": func(x *exchange.Exchange) {
		x.Session.Detach()
		running <- 1
		<-release
		running <- -1
	}}
}

// TestFloods ends connections whose frames achieve nothing.
func TestFloods(t *testing.T) {
	open := func(p *peer) { p.headers(1, false, request("POST", "/wait")...) }
	for name, c := range map[string]struct {
		begin func(p *peer)
		frame func(p *peer, i uint32)
	}{
		"PING":          {nil, func(p *peer, _ uint32) { p.frame(framePing, 0, 0, make([]byte, 8)) }},
		"PING answers":  {nil, func(p *peer, _ uint32) { p.frame(framePing, flagAck, 0, make([]byte, 8)) }},
		"SETTINGS":      {nil, func(p *peer, _ uint32) { p.frame(frameSettings, 0, 0, nil) }},
		"SETTINGS acks": {nil, func(p *peer, _ uint32) { p.frame(frameSettings, flagAck, 0, nil) }},
		"PRIORITY":      {nil, func(p *peer, i uint32) { p.frame(framePriority, 0, i|1, []byte{0, 0, 0, 0, 0}) }},
		"unknown":       {nil, func(p *peer, i uint32) { p.frame(byte(0x0a+i%6), 0xff, i, []byte("x")) }}, // CVE-2026-27141
		"empty DATA":    {open, func(p *peer, _ uint32) { p.data(1, false, "") }},
		"only padding":  {open, func(p *peer, _ uint32) { p.frame(frameData, flagPadded, 1, []byte{2, 0, 0}) }},
		"small windows": {open, func(p *peer, _ uint32) { p.word(frameWindowUpdate, 1, 1) }},
		"rapid reset": {nil, func(p *peer, i uint32) { // CVE-2023-44487
			p.headers(2*i+1, false, request("POST", "/wait")...).word(frameReset, 2*i+1, uint32(Cancel))
		}},
		"window by zero": {nil, func(p *peer, i uint32) { // CVE-2025-8671, here and below
			p.headers(2*i+1, false, request("POST", "/wait")...).word(frameWindowUpdate, 2*i+1, 0)
		}},
		"window overflows": {nil, func(p *peer, i uint32) {
			p.headers(2*i+1, false, request("POST", "/wait")...).word(frameWindowUpdate, 2*i+1, maxWindow)
		}},
		"DATA after the end": {nil, func(p *peer, i uint32) {
			p.headers(2*i+1, true, request("POST", "/wait")...).data(2*i+1, false, "x")
		}},
		"HEADERS after the end": {nil, func(p *peer, i uint32) {
			p.headers(2*i+1, true, request("POST", "/wait")...).headers(2*i+1, true, "a", "b")
		}},
		"wrong length": {nil, func(p *peer, i uint32) {
			p.headers(2*i+1, false, request("POST", "/wait", "content-length", "1")...).data(2*i+1, false, "xx")
		}},
		"malformed": {nil, func(p *peer, i uint32) { p.headers(2*i+1, true, ":path", "/") }},
		"refused":   {nil, func(p *peer, i uint32) { p.headers(2*i+1, true, request("GET", "/#")...) }},
	} {
		t.Run(name, func(t *testing.T) {
			release, running := make(chan struct{}), make(chan int, 10000)
			p := newPeer(t, 6, blocking(release, running))
			if c.begin != nil {
				c.begin(p)
			}
			for i := range uint32(maxPoints + 10) {
				c.frame(p, i)
			}
			p.wantGone(EnhanceYourCalm)
			if n := len(running); n > DefaultMaxStreams {
				t.Errorf("%d handlers run for one client", n)
			}
			close(release)
			p.close()
		})
	}
}

// TestNotRead stops reading from a client that does not read the answers to its frames.
func TestNotRead(t *testing.T) {
	const asks = uint32(15) // for 5 MB
	p := newPeer(t, 7, handlers)
	p.run()
	p.f.Stall(true)
	p.word(frameWindowUpdate, 0, 1<<30)
	for i := range asks {
		p.get(2*i+1, "/large").frame(framePing, 0, 0, make([]byte, 8))
	}
	p.f.Run()
	held := func() int {
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		return p.s.late.Held()
	}
	if n := p.f.Pending() + held(); n > 256<<10 {
		t.Errorf("%d bytes wait for a client that reads nothing", n)
	}
	p.f.Stall(false)
	for i := range asks {
		p.word(frameWindowUpdate, 2*i+1, 1<<20)
	}
	for i := range asks {
		p.want(2*i+1, "200", large)
	}
	p.close()
}

// TestStreamLimit refuses streams beyond the limit; handlers count until they have returned,
// also of streams that the client has reset.
func TestStreamLimit(t *testing.T) {
	release, running := make(chan struct{}), make(chan int, 100)
	p := newPeer(t, 8, blocking(release, running), func(cfg *exchange.Config) { cfg.MaxStreams = 3 })
	for id := uint32(1); id <= 5; id += 2 {
		p.get(id, "/wait")
	}
	p.wait("three handlers run", func() bool { return len(running) == 3 })
	for id := uint32(1); id <= 5; id += 2 {
		p.word(frameReset, id, uint32(Cancel))
	}
	p.get(7, "/ok").wantReset(7, RefusedStream)
	close(release)
	p.wait("the handlers return", func() bool { return len(running) == 6 })
	p.wait("the handlers are counted off", func() bool {
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		return p.s.open == 0
	})
	p.alive(9)
	p.close()
}

// TestFaultyFrames ends connections because of frames that violate RFC 9113.
func TestFaultyFrames(t *testing.T) {
	for name, c := range map[string]struct {
		code Code
		send func(p *peer)
	}{
		"DATA on 0":             {ProtocolError, func(p *peer) { p.data(0, false, "x") }},
		"DATA on idle":          {ProtocolError, func(p *peer) { p.data(1, false, "x") }},
		"HEADERS on 0":          {ProtocolError, func(p *peer) { p.headers(0, true, request("GET", "/")...) }},
		"HEADERS on 2":          {ProtocolError, func(p *peer) { p.headers(2, true, request("GET", "/")...) }},
		"lower stream":          {StreamClosed, func(p *peer) { p.get(5, "/").get(3, "/") }},
		"long frame":            {FrameSizeError, func(p *peer) { p.frame(0x0b, 0, 0, make([]byte, 16385)) }},
		"PUSH_PROMISE":          {ProtocolError, func(p *peer) { p.frame(framePushPromise, 0, 1, make([]byte, 8)) }},
		"short PING":            {FrameSizeError, func(p *peer) { p.frame(framePing, 0, 0, []byte("x")) }},
		"padding":               {ProtocolError, func(p *peer) { p.frame(frameHeaders, flagPadded|flagEndHeaders, 1, []byte{9}) }},
		"bad HPACK":             {CompressionError, func(p *peer) { p.frame(frameHeaders, flagEndHeaders, 1, []byte{0xff, 0xff, 0xff}) }},
		"connection window":     {FlowControlError, func(p *peer) { p.word(frameWindowUpdate, 0, maxWindow) }},
		"zero window":           {ProtocolError, func(p *peer) { p.word(frameWindowUpdate, 0, 0) }},
		"reset of idle":         {ProtocolError, func(p *peer) { p.word(frameReset, 9, 0) }},
		"SETTINGS of 5 bytes":   {FrameSizeError, func(p *peer) { p.frame(frameSettings, 0, 0, make([]byte, 5)) }},
		"initial window":        {FlowControlError, func(p *peer) { p.frame(frameSettings, 0, 0, appendSetting(nil, settingInitialWindow, 1<<31)) }},
		"PRIORITY_UPDATE of 0":  {ProtocolError, func(p *peer) { p.frame(framePriorityUpdate, 0, 0, make([]byte, 4)) }},
		"depends on itself":     {ProtocolError, func(p *peer) { p.frame(frameHeaders, flagPriority|flagEndHeaders, 1, []byte{0, 0, 0, 1, 0}) }},
		"more than the windows": {FlowControlError, func(p *peer) { overrun(p) }},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, 10, routes{"/wait": func(x *exchange.Exchange) { _, _ = content(x) }})
			c.send(p)
			p.wantGone(c.code)
			p.close()
		})
	}
}

// overrun sends more content than the window of the connection allows, on many streams whose
// handlers read nothing.
func overrun(p *peer) {
	piece := strings.Repeat("x", defaultMaxFrame)
	const streams = uint32(maxConnWindow/streamWindow + 1)
	for i := range streams {
		p.headers(2*i+1, false, request("POST", fmt.Sprint("/", i), "expect", "100-continue")...)
	}
	release := make(chan struct{})
	defer close(release)
	p.s.cfg.Handler = exchangeFunc(func(x *exchange.Exchange) {
		x.Session.Detach()
		<-release
	})
	for range streamWindow / defaultMaxFrame {
		for i := range streams {
			p.data(2*i+1, false, piece)
		}
	}
	p.wait("the connection ends", func() bool { return len(p.gone) > 0 })
}
