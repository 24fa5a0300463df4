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
// called, one wake is under way at a time, and what has gathered until then is
// one chunk.
type held struct {
	s *Session
	x *exchange.Exchange

	timed bool // the deadline for the client to take output runs; the loop's
	mark  int  // bytes handed over and unsent since it does; the loop's

	mu      sync.Mutex
	pending []byte
	unsent  int // bytes handed to the connection and not taken by the kernel
	open    bool
	mute    bool  // the answer to HEAD: what is sent is dropped
	empty   bool  // the status allows no body
	room    int64 // bytes of the announced length to come; UnknownLength
	waking  bool
	closed  bool
	gone    bool
	most    int // drain is called at this many bytes
	drain   func()
}

// Hold implements exchange.Session.
func (s *Session) Hold(x *exchange.Exchange) exchange.Held {
	w := s.w
	if w.held == nil {
		w.held = &held{s: s, x: x, gone: x.Hijacked}
	}
	return w.held
}

// hold is called when the handler has returned: from now on the loop sends.
func (s *Session) hold() error {
	w := s.w
	if !s.skipAtHand() {
		w.x.Response.Close = true // it cannot be read later: reading pauses
	}
	s.phase = inHeld
	s.conn.Pause(true)
	s.deadline(0)
	if err := s.SendBody(&w.x, nil); err != nil && err != exchange.ErrNoBody {
		return s.cut()
	}
	w.held.opened(s.out)
	return nil
}

// skipAtHand reads over content that nobody has read, as far as it has come, and
// reports whether that was all of it.
func (s *Session) skipAtHand() bool {
	w := s.w
	for _, src := range [...]*[]byte{nil, &w.rest} {
		in := s.in
		if src != nil {
			in = *src
		}
		for len(in) > 0 && !w.body.Done() {
			_, n, code := w.body.Next(in)
			if code.Refused() {
				return false
			}
			in = in[n:]
		}
		if src != nil {
			*src = in
		} else {
			s.in = in
		}
	}
	if w.body.Done() && len(w.rest) > 0 {
		s.unread(w)
	}
	return w.body.Done()
}

// opened lets the answer go on.
func (h *held) opened(out *buf.Queue) {
	h.watch(out.Len())
	h.mu.Lock()
	h.open, h.unsent = true, 0 // of what is left the session is told only when more is sent
	r := &h.x.Response
	h.mute = h.x.Method == exchange.MethodHead
	h.empty = r.Bodiless && !h.mute
	if h.room = r.Length; r.Length != exchange.UnknownLength {
		h.room -= r.Sent + int64(len(h.pending))
	}
	wake := len(h.pending) > 0 || h.closed
	h.waking = wake
	h.mu.Unlock()
	if wake && !h.s.conn.Wake(h.flush) {
		h.lost()
	}
}

// Send implements exchange.Held.
func (h *held) Send(p []byte) error {
	h.mu.Lock()
	if err := h.admit(p); err != nil || len(p) == 0 || h.mute {
		h.mu.Unlock()
		return err
	}
	if h.pending == nil {
		h.pending = buf.Get(len(p))
	}
	h.pending = append(buf.Grow(h.pending, len(p)), p...)
	return h.wake()
}

// Push implements exchange.Held. What is not a part of the body is dropped.
func (h *held) Push(most int) error {
	s := h.s
	if l := s.w.shared; l != nil {
		l.Lock()
		defer l.Unlock()
	}
	h.mu.Lock()
	pending := h.pending
	h.pending = nil
	h.unsent += len(pending) // who asks meanwhile must not take it for sent
	h.mu.Unlock()
	err := s.SendBody(h.x, nil)
	if err == nil {
		err = h.put(pending, s.out)
	}
	if err == nil {
		err = s.flush(most)
	}
	if h.x.Aborted {
		h.lost()
		return exchange.ErrGone
	}
	h.mu.Lock()
	h.unsent = s.conn.Pending() + s.out.Len()
	h.mu.Unlock()
	h.tell()
	return err
}

// admit refuses what cannot be a part of the body. Before the handler has
// returned that is not known. h.mu is held.
func (h *held) admit(p []byte) error {
	switch {
	case h.gone || h.closed:
		return exchange.ErrGone
	case len(p) == 0 || !h.open || h.mute:
		return nil
	case h.empty:
		return exchange.ErrNoBody
	case h.room == exchange.UnknownLength:
		return nil
	case int64(len(p)) > h.room:
		return exchange.ErrLength
	}
	h.room -= int64(len(p))
	return nil
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
	pending, closed := h.pending, h.closed
	h.pending = nil
	h.unsent += len(pending) // who asks meanwhile must not take it for sent
	h.mu.Unlock()
	err := h.put(pending, out)
	queued := out.Len()
	h.watch(queued)
	h.mu.Lock()
	h.unsent = h.s.conn.Pending() + queued
	h.mu.Unlock()
	if err != nil {
		return h.s.cut() // it was sent before anybody could know that it does not fit
	}
	h.tell()
	if closed {
		return h.s.endHeld(out)
	}
	return nil
}

// put queues a part of the body and gives its memory back.
func (h *held) put(p []byte, out *buf.Queue) error {
	if p == nil {
		return nil
	}
	defer buf.Put(p)
	for rest := p; len(rest) > 0; {
		n := min(len(rest), refBody-1) // to be copied
		if err := h.s.put(h.x, rest[:n], out); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// watch sets the deadline for the client to take what is unsent, unless it runs:
// however often something is sent, a client that takes nothing is out of time.
func (h *held) watch(queued int) {
	h.mark += queued
	if h.timed {
		return
	}
	if h.mark = queued + h.s.conn.Pending(); h.mark > 0 {
		h.timed = true
		h.s.deadline(h.s.cfg.StallTimeout)
	}
}

// expired judges the client when the deadline has passed: one that has taken
// something since is slow, but there.
func (h *held) expired() error {
	pending := h.s.conn.Pending()
	if pending > 0 && pending >= h.mark {
		h.s.lose()
		return h.s.cut()
	}
	h.timed = false
	h.s.deadline(0)
	h.watch(0)
	return nil
}

// drained runs on the loop when the kernel has taken everything.
func (h *held) drained() {
	h.mu.Lock()
	h.unsent = 0
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
	h.unsent = 0
	if h.pending != nil {
		buf.Put(h.pending)
		h.pending = nil
	}
	h.mu.Unlock()
	h.tell()
}

// endHeld ends a held exchange on the loop, and reading goes on.
func (s *Session) endHeld(out *buf.Queue) error {
	s.out, s.in = out, nil
	s.w.held = nil
	s.phase = inHead
	closed, err := s.end()
	s.out = nil
	if closed {
		return err
	}
	if err := s.rest(); err != nil {
		return err
	}
	s.conn.Pause(false)
	return nil
}
