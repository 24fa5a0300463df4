package http2

import (
	"strings"
	"testing"

	"github.com/redline-go/redline/internal/exchange"
)

// upload sends content as the windows allow, and returns how much the first frames might be.
func upload(p *peer, id uint32, size int, fields ...string) (first int64) {
	p.headers(id, false, request("POST", "/read", fields...)...).run()
	r := p.reply(id)
	first = r.granted
	piece := strings.Repeat("x", defaultMaxFrame)
	for sent := 0; sent < size; sent += len(piece) {
		p.wait("the windows open", func() bool {
			p.s.mu.Lock()
			defer p.s.mu.Unlock()
			return r.granted >= int64(sent+len(piece)) && p.s.room >= int64(len(piece))
		})
		p.data(id, sent+len(piece) == size, piece)
		p.wait("it is read", func() bool {
			p.s.mu.Lock()
			defer p.s.mu.Unlock()
			st := p.s.streams[id]
			return st == nil || st.received == int64(sent+len(piece)) && st.content == nil
		})
	}
	p.whole(id)
	return first
}

// TestWindows wants the window of a stream to grow for a handler that reads, the next stream to
// begin with what was needed, and nothing to remain when a handler does not read.
func TestWindows(t *testing.T) {
	counters := new(exchange.StreamCounters)
	p := newPeer(t, 5, routes{
		"/read": func(x *exchange.Exchange) { _, _ = content(x) },
		"/leave": func(x *exchange.Exchange) {
			x.Session.Detach()
			x.Status = 204
		},
	}, func(c *exchange.Config) { c.Streams = counters })
	const size = 1 << 20
	if first := upload(p, 1, size); first != streamWindow && first != readWindow { // the handler may wait already
		t.Errorf("the first upload begins with a window of %d", first)
	}
	if first := upload(p, 3, size); first <= readWindow || first > maxStreamWindow {
		t.Errorf("the second upload begins with a window of %d", first)
	}
	if first := upload(p, 5, streamWindow, "content-length", "65536"); first != streamWindow {
		t.Errorf("a small upload begins with a window of %d", first)
	}
	if n := counters.Windows.Load(); n != 0 {
		t.Errorf("%d bytes remain borrowed", n)
	}
	p.headers(7, false, request("POST", "/leave")...)
	p.data(7, false, strings.Repeat("x", 1000))
	p.whole(7)
	if first := upload(p, 9, size); first != streamWindow && first != readWindow {
		t.Errorf("after content that nobody has read an upload begins with a window of %d", first)
	}
	p.close()
	if n := counters.Windows.Load(); n != 0 {
		t.Errorf("%d bytes remain borrowed", n)
	}
}

// TestWindowsShared has uploads that nobody reads take nearly all of the largest window that they can
// make the connection have: another one continues with what is left.
func TestWindowsShared(t *testing.T) {
	release := make(chan struct{})
	p := newPeer(t, 6, readOrStay(release))
	id := uint32(1)
	for range maxUnread/streamWindow - 1 {
		p.headers(id, false, request("POST", "/stay")...).run()
		p.fill(id)
		id += 2
	}
	upload(p, id, 1<<20)
	close(release)
	p.close()
}

// TestWindowsTaken has an upload that nobody reads take the whole window of a connection of a server
// that has no memory for more: another one waits for its end.
func TestWindowsTaken(t *testing.T) {
	release := make(chan struct{})
	p := newPeer(t, 7, readOrStay(release), borrows(new(exchange.StreamCounters), maxShare))
	p.headers(1, false, request("POST", "/stay")...).run()
	p.fill(1)
	p.headers(3, false, request("POST", "/read")...).run()
	if p.s.window != connWindow {
		t.Errorf("the window is %d", p.s.window)
	}
	close(release)
	upload(p, 5, 1<<20)
	p.close()
}

// readOrStay reads content, or stays.
func readOrStay(release <-chan struct{}) routes {
	return routes{"/read": func(x *exchange.Exchange) { _, _ = content(x) }, "/stay": staying(release)}
}
