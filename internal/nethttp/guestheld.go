package nethttp

import (
	"context"
	"net/http"
	"sync"

	"github.com/redline-go/redline/internal/exchange"
)

// A guestHeld is an answer of a guest that continues after its handler has returned. Only
// the goroutine of the request may write it; Send passes data to that goroutine.
type guestHeld struct {
	run     func(exchange.Held)
	mu      sync.Mutex
	moved   sync.Cond
	pending []byte
	writing int // bytes that pump has taken and not written yet
	closed  bool
	aborted bool
	gone    bool
	most    int
	drain   func()
}

// Hold implements exchange.Session.
func (g *Guest) Hold(_ *exchange.Exchange, f func(exchange.Held)) {
	g.held = &guestHeld{run: f}
	g.held.moved.L = &g.held.mu
}

// pump sends data from Send until the answer is closed or the client has left.
func (h *guestHeld) pump(g *Guest) {
	stop := context.AfterFunc(g.r.Context(), h.lose)
	defer stop()
	err := g.Flush(&g.X)
	if err == nil || err == exchange.ErrNoBody {
		err = nil
		go h.run(h)
	}
	h.mu.Lock()
	for !h.gone && err == nil && (!h.closed || len(h.pending) > 0) {
		if len(h.pending) == 0 {
			h.moved.Wait()
			continue
		}
		err = h.write(g)
	}
	aborted := h.aborted
	h.mu.Unlock()
	h.lose()
	if err != nil {
		g.lost() // goroutines may wait for the client to leave
	}
	if aborted {
		panic(http.ErrAbortHandler)
	}
	g.finish()
}

// write sends the queued data. h.mu is held, but released while writing.
func (h *guestHeld) write(g *Guest) error {
	p := h.pending
	h.pending, h.writing = nil, len(p)
	h.mu.Unlock()
	err := g.SendBody(&g.X, p)
	if err == nil {
		err = g.Flush(&g.X)
	}
	h.mu.Lock()
	h.writing = 0
	h.tell()
	return err
}

// tell calls the function that waits for the output to drain, if it is due. h.mu is held,
// but released while the function runs.
func (h *guestHeld) tell() {
	if h.drain == nil || !h.gone && len(h.pending)+h.writing > h.most {
		return
	}
	f := h.drain
	h.drain = nil
	h.mu.Unlock()
	f()
	h.mu.Lock()
}

func (h *guestHeld) lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gone, h.pending = true, nil
	h.moved.Broadcast()
	h.tell()
}

// Send implements exchange.Held.
func (h *guestHeld) Send(p []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gone || h.closed {
		return exchange.ErrGone
	}
	h.pending = append(h.pending, p...)
	h.moved.Broadcast()
	return nil
}

// Buffered implements exchange.Held.
func (h *guestHeld) Buffered() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.pending) + h.writing
}

// OnDrain implements exchange.Held.
func (h *guestHeld) OnDrain(most int, f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.most, h.drain = most, f
	h.tell()
}

// Close implements exchange.Held.
func (h *guestHeld) Close() { h.finish(false) }

// Abort implements exchange.Held.
func (h *guestHeld) Abort() { h.finish(true) }

func (h *guestHeld) finish(abort bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.closed, h.aborted = true, abort
	h.moved.Broadcast()
}
