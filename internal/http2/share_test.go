package http2

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redline-go/redline/internal/exchange"
)

// borrows is a change of a configuration that makes a server count what it shares, of which some is
// taken.
func borrows(counters *exchange.StreamCounters, taken int64) func(*exchange.Config) {
	counters.Windows.Store(taken)
	return func(cfg *exchange.Config) { cfg.Streams = counters }
}

// staying is a handler that stays until it is released, and reads nothing.
func staying(release <-chan struct{}) func(*exchange.Exchange) {
	return func(x *exchange.Exchange) {
		x.Session.Detach()
		<-release
	}
}

// fill sends as much content as the first window of a stream, and that of the connection, allow.
func (p *peer) fill(id uint32) {
	for range streamWindow / defaultMaxFrame {
		p.s.mu.Lock()
		room := int(p.s.room)
		p.s.mu.Unlock()
		p.data(id, false, strings.Repeat("x", min(defaultMaxFrame, room))).run()
	}
}

// TestShare wants the window of a connection to grow with content that nobody reads only as far as
// the server's share allows, and what was taken to be given back when the connection ends.
func TestShare(t *testing.T) {
	for _, c := range []struct{ taken, window int64 }{
		{0, maxUnread},
		{shareUnread - 2*connWindow, 2 * connWindow},
		{shareUnread, connWindow},
	} {
		counters := new(exchange.StreamCounters)
		p := newPeer(t, 3, routes{}, borrows(counters, c.taken))
		overrun(p)
		p.wantGone(FlowControlError)
		if p.s.window != c.window {
			t.Errorf("with %d bytes taken the window grows to %d, want %d", c.taken, p.s.window, c.window)
		}
		p.close()
		p.wait("all is given back", func() bool { return counters.Windows.Load() == c.taken })
	}
}

// TestIdleWindow does not count the window that a client keeps while it is idle, and refuses
// content on it if there is no memory when it comes: the client has to connect anew.
func TestIdleWindow(t *testing.T) {
	release := make(chan struct{})
	counters := new(exchange.StreamCounters)
	p := newPeer(t, 4, routes{"/stay": staying(release)}, borrows(counters, 0))
	id := uint32(1)
	for range 8 {
		p.headers(id, false, request("POST", "/stay")...).run()
		p.fill(id)
		id += 2
	}
	if n := counters.Windows.Load(); n < 2*streamWindow {
		t.Errorf("%d bytes are borrowed for 8 uploads", n)
	}
	close(release)
	p.wait("the exchanges end", func() bool {
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		return p.s.open == 0
	})
	if n := counters.Windows.Load(); n != 0 {
		t.Errorf("%d bytes are borrowed for an idle connection", n)
	}
	p.alive(id)
	p.s.mu.Lock()
	p.s.window += streamWindow // what a client may keep that has used less than it was given
	p.s.mu.Unlock()
	counters.Windows.Store(maxShare)
	p.headers(id+2, false, request("POST", "/ok")...)
	p.wantReset(id+2, RefusedStream)
	if len(p.gone) != 1 || p.gone[0].code != NoError {
		t.Errorf("GOAWAY: %v, want one", p.gone)
	}
	p.close()
	if n := counters.Windows.Load(); n != maxShare {
		t.Errorf("%d bytes are borrowed at the end", n-maxShare)
	}
}

// TestHeads refuses heads that are large when there is no memory for them, in the connection or in
// the server, and never small ones.
func TestHeads(t *testing.T) {
	const size = 60 << 10
	for name, c := range map[string]struct {
		taken    int64
		accepted int
	}{
		"connection": {0, maxHeads / (size - keptText)},
		"server":     {shareHeads - 3*size, (3*size + ownHeads) / (size - keptText)},
	} {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			counters := new(exchange.StreamCounters)
			counters.Heads.Store(c.taken)
			p := newPeer(t, 5, routes{"/stay": staying(release)}, borrows(counters, 0))
			var refused int
			id := uint32(1)
			for range c.accepted + 5 {
				var fields []string
				for i := range 15 {
					fields = append(fields, fmt.Sprintf("x-%d", i), strings.Repeat("\x7e", size/15)) // no Huffman code is longer
				}
				p.large(id, true, request("GET", "/stay", fields...)...).run()
				if r := p.reply(id); r.reset && r.code == RefusedStream {
					refused++
				}
				id += 2
			}
			if refused < 4 || refused > 6 {
				t.Errorf("%d heads of %d are refused, want 5", refused, c.accepted+5)
			}
			p.alive(id)
			close(release)
			p.close()
			if n := counters.Heads.Load(); n != c.taken {
				t.Errorf("%d bytes are borrowed at the end", n-c.taken)
			}
		})
	}
}

// TestHeadsBeside serves a request with a long head whatever others have taken: windows, and heads.
func TestHeadsBeside(t *testing.T) {
	counters := new(exchange.StreamCounters)
	counters.Heads.Store(shareHeads)
	p := newPeer(t, 6, routes{}, borrows(counters, maxShare))
	p.large(1, true, request("GET", "/ok", "cookie", strings.Repeat("~", 30<<10))...).run()
	if r := p.reply(1); r.reset {
		t.Errorf("reset with %v", r.code)
	}
	p.close()
}
