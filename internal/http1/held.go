package http1

import (
	"sync"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/transport"
)

// A held is an answer that continues after its handler has returned.
//
//	any goroutine            loop
//	Send ─▶ pending ─ wake ─▶ flush: pending ─▶ out
//	                          drained: tells who waits
//
// It is not available before the handler has returned and the head has been sent. pending
// is output that has not been passed to the loop yet. However often Send is called, only
// one wake is pending at a time, and the output collected until then is one chunk.
type held struct {
	s   *Session
	x   *exchange.Exchange
	run func(exchange.Held)

	ending bool // the connection is cut when everything is sent; belongs to the loop

	mu      sync.Mutex
	pending []byte
	unsent  int   // bytes passed to the connection and not yet accepted by the kernel
	mute    bool  // the answer to HEAD: output is dropped
	empty   bool  // the status allows no body
	room    int64 // remaining bytes of the announced length; UnknownLength
	waking  bool
	closed  bool
	aborted bool
	gone    bool
	most    int // drain is called at this many bytes
	drain   func()
}

// Hold implements exchange.Session.
func (s *Session) Hold(x *exchange.Exchange, f func(exchange.Held)) {
	s.w.held = &held{s: s, x: x, run: f}
}

// hold is called when the handler has returned: from then on the loop sends.
func (s *Session) hold() error {
	w := s.w
	if !s.skipAtHand() {
		w.x.Response.Close = true // the content cannot be read later: reading pauses
	}
	s.phase = inHeld
	s.conn.Pause(true)
	s.outlive(&limit{}) // the answer may take as long as it likes
	if err := s.SendBody(&w.x, nil); err != nil && err != exchange.ErrNoBody {
		return s.cut()
	}
	w.held.open()
	return nil
}

// skipAtHand skips unread content, as far as it has arrived, and reports whether that was
// all of it.
func (s *Session) skipAtHand() bool {
	w := s.w
	for _, src := range [...]*[]byte{&s.in, &w.rest} {
		for len(*src) > 0 && !w.body.Done() {
			_, n, code := w.body.Next(*src)
			if code.Refused() {
				return false
			}
			*src = (*src)[n:]
		}
	}
	if w.body.Done() && len(w.rest) > 0 {
		s.unread(w)
	}
	return w.body.Done()
}

// open lets the answer continue.
func (h *held) open() {
	r := &h.x.Response
	h.mute = h.x.Method == exchange.MethodHead
	h.empty = r.Bodiless && !h.mute
	if h.room = r.Length; r.Length != exchange.UnknownLength {
		h.room -= r.Sent
	}
	go h.run(h)
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

// admit refuses data that cannot be part of the body. h.mu is held.
func (h *held) admit(p []byte) error {
	switch {
	case h.gone || h.closed:
		return exchange.ErrGone
	case len(p) == 0 || h.mute:
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

// wake makes the loop flush, unless a flush is already pending. It unlocks.
func (h *held) wake() error {
	need := !h.waking
	h.waking = true
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
	pending, closed, aborted := h.pending, h.closed, h.aborted
	h.pending = nil
	h.unsent += len(pending) // concurrent readers must not take it for sent
	h.mu.Unlock()
	h.put(pending, out)
	h.mu.Lock()
	h.unsent = h.s.conn.Pending() + out.Len()
	h.mu.Unlock()
	h.tell()
	var err error
	switch {
	case aborted:
		err = h.s.abortHeld(out)
	case closed:
		err = h.s.endHeld(out)
		h.lost() // notifies waiting goroutines
	}
	h.s.retime(out.Len())
	return err
}

// put queues a part of the body and frees its memory.
func (h *held) put(p []byte, out *buf.Queue) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), refBody)
		_ = h.s.put(h.x, rest[:n], out, false) // admit has checked that it fits
		rest = rest[n:]
	}
	buf.Put(p)
}

// drained runs on the loop when the kernel has accepted everything.
func (h *held) drained() {
	h.mu.Lock()
	h.unsent = 0
	h.mu.Unlock()
	h.tell()
	if h.ending {
		_ = h.s.cut() // returns nil
	}
}

// tell calls the function that waits for the output to drain, if it is due.
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
func (h *held) Close() { h.finish(false) }

// Abort implements exchange.Held.
func (h *held) Abort() { h.finish(true) }

func (h *held) finish(abort bool) {
	h.mu.Lock()
	if h.closed || h.gone {
		h.mu.Unlock()
		return
	}
	h.closed, h.aborted = true, abort
	_ = h.wake() // an error means that the client has left
}

// lost reports that nothing can be sent any more.
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

// endHeld ends a held exchange on the loop, and reading continues.
func (s *Session) endHeld(out *buf.Queue) error {
	s.out, s.in = out, nil
	defer func() { s.out = nil }()
	s.w.held = nil
	s.phase = inHead
	if closed, err := s.end(); closed {
		return err
	}
	if err := s.idle(); err != nil {
		return err
	}
	s.conn.Pause(false)
	s.spareWork()
	return nil
}

// abortHeld is abort for a held answer. Nothing may block on the loop: an answer without
// framing is cut when the client has received everything that was sent, or is too slow to
// accept it.
func (s *Session) abortHeld(out *buf.Queue) error {
	s.lose(transport.ErrLost)
	h := s.w.held
	if h.ending = unframed(&s.w.x.Response) && out.Len()+s.conn.Pending() > 0; h.ending {
		return nil
	}
	s.out = out
	defer func() { s.out = nil }()
	err := s.abort()
	h.lost() // notifies waiting goroutines
	return err
}
