package http2

import (
	"github.com/redline-go/redline/internal/exchange"
)

const (
	// refBody is the minimum length of a part of a body that waits in the caller's memory
	// instead of being copied.
	refBody = 32 << 10

	// filePiece is how much of a file is read at a time.
	filePiece = 64 << 10

	// paceBytes is what a client has to accept of its output within each StallTimeout,
	// unless less remains: a client that does is slow, but present.
	paceBytes = 64 << 10
)

// budget is how much content may be added to the output now. Without a bound the output of
// one stream would delay all others, and would be memory that a client can demand.
func (s *Session) budget() int {
	n := s.cfg.HighWater - s.unsent
	if s.out != nil {
		return n - s.out.Len()
	}
	return n - s.late.Len()
}

// allowance is how much of st's content may be sent now.
func (s *Session) allowance(st *stream) int {
	return int(max(0, min(st.send, s.send, int64(s.budget()))))
}

// emit sends as much of p as is allowed, and returns the rest. last means that the body ends
// with p.
func (st *stream) emit(p []byte, last bool) []byte {
	s := st.s
	most := s.allowance(st)
	for len(p) > 0 && most > 0 {
		n := min(len(p), most, s.peer.maxFrame)
		flags := byte(0)
		if last && n == len(p) {
			flags = flagEndStream
			st.sentEnd = true
		}
		b := appendFrame(s.tail(frameHeader+n), n, frameData, flags, st.id)
		s.write(append(b, p[:n]...))
		st.send -= int64(n)
		s.send -= int64(n)
		most -= n
		p = p[n:]
		s.moved(n)
		if s.paced += n; s.paced >= paceBytes {
			s.paced = 0
			s.paces++
		}
		st.writeLimit.progress(n, paceBytes)
	}
	return p
}

// endStream ends the response if nothing of it is left but its end.
func (st *stream) endStream() {
	s, x := st.s, &st.x
	if st.sentEnd || st.reset || st.queue.Len() > 0 {
		return
	}
	st.sentEnd = true
	if len(x.Response.Trailers) > 0 && !x.Bodiless {
		st.sendTrailers()
		return
	}
	s.write(appendFrame(s.tail(frameHeader), 0, frameData, flagEndStream, st.id))
}

// pump sends what streams have queued, as far as there is room, the most urgent first (RFC
// 9218, 10).
func (s *Session) pump() {
	for u := range s.ready {
		for l := &s.ready[u]; l.first != nil && s.send > 0 && s.budget() > 0 && !s.closed; {
			st := l.first
			if st.send <= 0 {
				s.unlist(st) // until its window opens
				continue
			}
			st.emitQueued()
			if st.queue.Len() > 0 {
				if st.incremental {
					s.rotate(st)
				}
				continue
			}
			s.unlist(st)
			if st.ending {
				st.endStream()
				if st.handled {
					s.finish(st)
				}
			}
		}
	}
	if s.waiting > 0 && s.send > 0 && s.unsent == 0 && !s.closed {
		// Everything so far may be sent at once, and then nobody tells us.
		s.request()
	}
}

// emitQueued sends one frame of what is queued.
func (st *stream) emitQueued() {
	p := st.queue.First()
	if len(p) > st.s.peer.maxFrame {
		p = p[:st.s.peer.maxFrame]
	}
	plain := st.ending && st.queue.Len() == len(p) && len(st.x.Response.Trailers) == 0
	rest := st.emit(p, plain)
	st.queue.Discard(len(p) - len(rest))
	st.tell()
}

// tell wakes goroutines that wait for output to be sent.
func (st *stream) tell() {
	st.notify()
	if st.held != nil {
		st.held.tell()
	}
	if st.pushed != nil {
		st.pushed.room()
	}
}

// opened is called when there is more to send for the stream, or its window is larger.
func (st *stream) opened() {
	if st.queue.Len() > 0 && st.send > 0 {
		st.s.list(st)
		st.s.wake()
	}
}

// rewindow changes the windows of all streams with their initial value (RFC 9113, 6.9.2).
func (s *Session) rewindow(window int64) error {
	change := window - s.peer.window
	s.peer.window = window
	for _, st := range s.streams {
		if st.send += change; st.send > maxWindow {
			return connError{FlowControlError, "the window of a stream exceeds 2^31-1"}
		}
		st.opened()
	}
	if st := s.inline; st != nil && !st.kept {
		st.send += change
	}
	return nil
}

// put sends a part of the body, and waits while too much of it is queued. If p is long, it
// waits until nothing refers to it.
func (st *stream) put(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if st.failed != nil {
		return st.failed // since the part before it was sent
	}
	if send, err := st.fits(int64(len(p))); !send {
		return err
	}
	st.x.Sent += int64(len(p))
	if st.queue.Len() == 0 && st.s.waiting == 0 {
		if p = st.emit(p, false); len(p) == 0 {
			return nil
		}
	}
	most := st.queueMost()
	if len(p) >= refBody || len(p) > most/2 {
		most = 0
		st.queue.Ref(p)
	} else {
		st.queue.Write(p)
	}
	st.opened()
	return st.drain(most)
}

// fits reports whether n more bytes of the body are to be sent.
func (st *stream) fits(n int64) (send bool, err error) {
	r := &st.x.Response
	switch {
	case r.Bodiless && st.x.Method == exchange.MethodHead:
		return false, nil
	case r.Bodiless:
		return false, exchange.ErrNoBody
	case r.Length != exchange.UnknownLength && n > r.Length-r.Sent:
		return false, exchange.ErrLength
	}
	return true, nil
}

// drain waits until at most that many bytes are queued. There is no error if all were sent, and the
// client left after that.
func (st *stream) drain(most int) error {
	for st.failed == nil && st.queue.Len() > most {
		if st.inline {
			st.leaveFeed()
			continue
		}
		st.excuse()
		if err := st.wait(&st.writeLimit); err != nil {
			_ = st.fail(err)
		}
	}
	if !st.wasted {
		return nil
	}
	return st.failed
}

// fail ends a stream whose client or handler is too slow, with the code that net/http sends. It does
// not count as an expense: a client whose streams often take too long is slow, and does not attack.
func (st *stream) fail(err error) error {
	st.failed = err
	st.s.counters.Reset.Add(1)
	st.s.writeReset(st.id, InternalError)
	st.lose()
	return err
}

// SendBody implements exchange.Session.
func (st *stream) SendBody(x *exchange.Exchange, p []byte) error {
	st.s.mu.Lock()
	defer st.s.unlock()
	return st.sendBody(x, p)
}

func (st *stream) sendBody(x *exchange.Exchange, p []byte) error {
	if st.failed != nil {
		return st.failed
	}
	r := &x.Response
	if !r.HeadSent {
		st.sendHead(r.Length, false)
	}
	if static := r.Static; static != nil {
		r.Static = nil
		if err := st.put(static); err != nil {
			return err
		}
	}
	if len(r.Body) > 0 {
		body := r.Body
		r.Body = r.Body[:0]
		if err := st.put(body); err != nil {
			return err
		}
	}
	return st.put(p)
}

// SendFile implements exchange.Session.
func (st *stream) SendFile(x *exchange.Exchange, f *exchange.File, off, n int64) error {
	if err := st.SendBody(x, nil); err != nil || n <= 0 {
		return err
	}
	if send, err := st.fits(n); !send {
		return err
	}
	if n > filePiece {
		st.Detach()
	}
	piece := make([]byte, min(n, filePiece))
	for n > 0 {
		p := piece[:min(n, filePiece)]
		if _, err := f.ReadAt(p, off); err != nil {
			st.s.mu.Lock()
			_ = st.s.resetStream(st, InternalError) // the announced rest does not exist
			st.s.unlock()
			return err
		}
		if err := st.SendBody(x, p); err != nil {
			return err
		}
		off, n = off+int64(len(p)), n-int64(len(p))
	}
	st.s.mu.Lock()
	defer st.s.unlock()
	return st.drain(0)
}

// Flush implements exchange.Session.
func (st *stream) Flush(x *exchange.Exchange) error {
	if x.Prebuilt != nil && !x.HeadSent {
		return nil // the answer leaves in one piece, when the handler returns
	}
	st.s.mu.Lock()
	defer st.s.unlock()
	if err := st.sendBody(x, nil); err != nil {
		return err
	}
	if st.inline {
		st.leaveFeed() // which sends
	}
	return st.drain(st.queueMost())
}
