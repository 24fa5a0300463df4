package http2

import "github.com/redline-go/redline/internal/exchange"

// A held is a response that continues after its handler has returned. The session's mu
// guards it.
type held struct {
	s     *Session
	st    *stream // until ended
	run   func(exchange.Held)
	gone  bool
	ended bool
	most  int // drained is called at this many bytes
	drain func()
}

// Hold implements exchange.Session.
func (st *stream) Hold(_ *exchange.Exchange, f func(exchange.Held)) {
	st.s.mu.Lock()
	st.held = &held{s: st.s, st: st, run: f}
	st.s.unlock()
}

// open lets the response continue. s.mu is held.
func (st *stream) open() {
	st.proceed()
	st.s.helds++
	go st.held.run(st.held)
}

// proceed sends what there is of a response that continues after its handler.
func (st *stream) proceed() {
	st.s.keep(st)
	st.unwanted = true
	st.writeLimit = limit{} // the deadline was the handler's
	x := &st.x
	if !x.HeadSent {
		st.sendHead(x.Response.Length, false)
	}
	for _, p := range [...][]byte{x.Static, x.Body} {
		if send, _ := st.fits(int64(len(p))); send && len(p) > 0 {
			x.Sent += int64(len(p))
			st.queue.Write(p)
		}
	}
	st.forget()
	st.opened()
}

// Send implements exchange.Held.
func (h *held) Send(p []byte) error {
	s := h.s
	s.mu.Lock()
	defer s.unlock()
	st := h.st
	if h.gone || h.ended {
		return exchange.ErrGone
	}
	if len(p) == 0 {
		return nil
	}
	if send, err := st.fits(int64(len(p))); !send {
		return err
	}
	st.x.Sent += int64(len(p))
	if st.queue.Len() == 0 && s.waiting == 0 {
		p = st.emit(p, false)
	}
	if len(p) > 0 {
		st.queue.Write(p)
		st.opened()
	}
	return nil
}

// Buffered implements exchange.Held.
func (h *held) Buffered() int {
	h.s.mu.Lock()
	defer h.s.unlock()
	if h.gone || h.ended {
		return 0
	}
	return h.buffered()
}

// buffered counts what the connection has not sent, too: without that a client that does
// not read could be sent to as long as its window is open.
func (h *held) buffered() int {
	return h.st.queue.Len() + h.s.pending()
}

// pending is what the connection has not sent.
func (s *Session) pending() int {
	n := s.late.Len() + s.unsent
	if s.out != nil {
		n += s.out.Len()
	}
	return n
}

// OnDrain implements exchange.Held.
func (h *held) OnDrain(most int, f func()) {
	h.s.mu.Lock()
	defer h.s.unlock()
	h.most, h.drain = most, f
	if h.tell(); h.drain != nil && h.s.unsent > 0 {
		h.s.wake() // it may have been accepted already: a turn tells
	}
}

// tell calls the function that waits for the output to drain, if it is due.
func (h *held) tell() {
	if f := h.drain; f != nil && (h.gone || h.ended || h.buffered() <= h.most) {
		h.drain = nil
		go f()
	}
}

// tellHelds is tell for all streams.
func (s *Session) tellHelds() {
	s.work += len(s.streams)
	for _, st := range s.streams {
		if st.held != nil {
			st.held.tell()
		}
		if st.pushed != nil {
			st.pushed.room()
		}
	}
}

// lost reports that nothing can be sent any more.
func (h *held) lost() {
	h.gone = true
	h.tell()
}

// Close implements exchange.Held.
func (h *held) Close() { h.end(false) }

// Abort implements exchange.Held.
func (h *held) Abort() { h.end(true) }

func (h *held) end(abort bool) {
	s := h.s
	s.mu.Lock()
	defer s.unlock()
	if h.ended {
		return
	}
	st := h.st
	h.ended = true
	h.tell()
	switch {
	case st.reset || s.closed:
	case abort:
		_ = s.resetStream(st, InternalError)
	default:
		st.x.Static, st.x.Body = nil, st.x.Body[:0]
		st.endBody()
	}
	st.held = nil
	s.helds--
	st.over()
}
