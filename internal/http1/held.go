package http1

import (
	"sync"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/exchange"
)

// A held is an answer that goes on after its handler returned.
//
//	any goroutine            loop
//	Send ─▶ pending ─ wake ─▶ flush: pending ─▶ out
//	                          drained: tells who waits
//
// pending is what nobody has handed to the loop yet; however often Send is
// called, one wake is under way at a time.
type held struct {
	s *Session
	x *exchange.Exchange

	mu      sync.Mutex
	pending []byte
	unsent  int // bytes handed to the connection and not taken by the kernel
	open    bool
	waking  bool
	closed  bool
	gone    bool
	most    int // drain is called at this many bytes
	drain   func()
}

// Hold implements exchange.Host.
func (s *Session) Hold(x *exchange.Exchange) exchange.Held {
	w := s.w
	if w.held == nil {
		w.held = &held{s: s, x: x}
	}
	return w.held
}

// opened is called when the handler has returned: from now on the loop sends.
func (h *held) opened() {
	s := h.s
	if err := s.SendBody(h.x, nil); err != nil {
		h.lost()
		return
	}
	h.mu.Lock()
	h.open = true
	wake := len(h.pending) > 0 || h.closed
	h.waking = wake
	h.mu.Unlock()
	if wake && !s.conn.Wake(h.flush) {
		h.lost()
	}
}

// Send implements exchange.Held.
func (h *held) Send(p []byte) error {
	h.mu.Lock()
	if h.gone || h.closed {
		h.mu.Unlock()
		return exchange.ErrGone
	}
	if len(p) == 0 {
		h.mu.Unlock()
		return nil
	}
	if h.pending == nil {
		h.pending = buf.Get(len(p) + 64)
	}
	h.pending = buf.Grow(h.pending, len(p)+24)
	if h.x.ProtoMinor == 0 || h.x.Length != exchange.UnknownLength {
		h.pending = append(h.pending, p...)
	} else {
		h.pending = AppendChunk(h.pending, p)
	}
	return h.wake()
}

// wake has the loop flush, unless it is on its way. It unlocks.
func (h *held) wake() error {
	need := h.open && !h.waking
	h.waking = h.waking || need
	h.mu.Unlock()
	if need && !h.s.conn.Wake(h.flush) {
		h.lost()
		return exchange.ErrGone
	}
	return nil
}

// flush runs on the loop.
func (h *held) flush(out *buf.Queue) error {
	h.mu.Lock()
	h.waking = false
	if h.gone {
		h.mu.Unlock()
		return nil
	}
	if len(h.pending) > 0 {
		out.Write(h.pending)
		buf.Put(h.pending)
		h.pending = nil
	}
	h.unsent = h.s.conn.Pending() + out.Len()
	closed := h.closed
	h.mu.Unlock()
	h.tell()
	if !closed {
		h.s.deadline(h.s.cfg.WriteTimeout)
		return nil
	}
	return h.s.endHeld(h, out)
}

// drained runs on the loop when the kernel took output that had waited.
func (h *held) drained() {
	h.mu.Lock()
	h.unsent = h.s.conn.Pending()
	h.mu.Unlock()
	h.tell()
}

// tell calls the function that waits for the output to drain, if it is time.
func (h *held) tell() {
	h.mu.Lock()
	f := h.drain
	if f != nil && (h.gone || len(h.pending)+h.unsent <= h.most) {
		h.drain = nil
	} else {
		f = nil
	}
	h.mu.Unlock()
	if f != nil {
		f()
	}
}

// Buffered implements exchange.Held.
func (h *held) Buffered() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.pending) + h.unsent
}

// OnDrain implements exchange.Held.
func (h *held) OnDrain(most int, f func()) {
	h.mu.Lock()
	h.most, h.drain = most, f
	h.mu.Unlock()
	h.tell()
}

// Close implements exchange.Held.
func (h *held) Close() error {
	h.mu.Lock()
	if h.closed || h.gone {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	return h.wake()
}

// lost says that nothing can be sent any more.
func (h *held) lost() {
	h.mu.Lock()
	h.gone = true
	if h.pending != nil {
		buf.Put(h.pending)
		h.pending = nil
	}
	h.mu.Unlock()
	h.tell()
}

// endHeld ends a held exchange on the loop, and reading goes on.
func (s *Session) endHeld(h *held, out *buf.Queue) error {
	s.w.held = nil
	s.phase = inHead
	s.out, s.in, s.off = out, nil, 0
	err := s.complete()
	s.out = nil
	if err == nil && s.w != nil && s.phase == inHead {
		s.rest()
	}
	if err == nil {
		s.conn.Resume()
	}
	return err
}

// Drained implements the transport's contract: output that had waited is sent.
func (s *Session) Drained() {
	if s.phase == inHeld && s.w != nil && s.w.held != nil {
		s.w.held.drained()
	}
}
