package http1

import (
	"net"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/transport"
)

// A subscribed is a session in its role as [exchange.Subscribed]: between the turns, nothing
// but the session itself is needed.
//
//	any goroutine            loop
//	Turn, Walk ────────────▶ Session.Turn ─▶ Subscriber.Turn ─▶ Put ─▶ out
//	                         Drained ──────▶ Turn, because there is room again
type subscribed Session

var (
	_ transport.Turner    = (*Session)(nil)
	_ exchange.Subscribed = (*subscribed)(nil)
)

// Subscribe implements exchange.Session.
func (s *Session) Subscribe(_ *exchange.Exchange, to exchange.Subscriber) exchange.Subscribed {
	s.push = to
	return (*subscribed)(s)
}

// unsubscribe tells the subscriber, if there is one, that it is gone.
func (s *Session) unsubscribe(err error) {
	if to := s.push; to != nil {
		s.push = nil
		to.Gone(err)
	}
}

// closedBy is what a subscriber is told about the end of a connection.
func closedBy(err error) error {
	switch err {
	case transport.ErrStopped:
		return err
	case transport.ErrDeadline:
		return exchange.ErrTimeout
	case transport.ErrExited:
		return exchange.ErrAborted
	}
	return exchange.ErrGone
}

// subscribe is called when the handler has returned: the head is sent, and the memory of the
// request returned.
func (s *Session) subscribe() error {
	w := s.w
	x := &w.x
	r := &x.Response
	if !s.skipAtHand() {
		r.Close = true // the content cannot be read later: reading pauses
	}
	if r.HeadSent && r.Length != exchange.UnknownLength {
		s.unsubscribe(exchange.ErrLength) // what was announced cannot be kept
		return s.abort()
	}
	r.Length, r.Trailers = exchange.UnknownLength, r.Trailers[:0]
	if err := s.SendBody(x, nil); err != nil && err != exchange.ErrNoBody {
		s.unsubscribe(err)
		return s.cut()
	}
	if r.Bodiless {
		err := s.complete()
		s.unsubscribe(nil)
		return err
	}
	s.chunked, s.last = r.TakesTrailers, r.Close || x.Request.Close
	s.freeChunk(w)
	s.w = nil
	works.Put(w)
	s.release()
	s.spare()
	s.phase = inPush
	s.conn.Pause(true)
	s.outlive(&limit{})
	s.open.Store(turning)
	return s.turn()
}

// Turn implements transport.Turner.
func (s *Session) Turn(out *buf.Queue) error {
	if s.phase != inPush {
		return nil
	}
	s.out = out
	err := s.turn()
	s.out = nil
	s.retime(out.Len())
	return err
}

// turn lets the subscriber write. Lost first notes that the client has gone and then looks
// at open, subscribe does it in the reverse order: so at least one of them sees the other.
func (s *Session) turn() error {
	switch s.lost.Load() {
	case byPeer:
		return s.cutPush(exchange.ErrGone)
	case byStop:
		return s.cutPush(transport.ErrStopped)
	}
	s.calling = false
	verdict := s.push.Turn()
	switch verdict {
	case exchange.End:
		return s.endPush()
	case exchange.Cut:
		if s.conn.Pending() > 0 { // what the client does not take is not to be kept
			s.endTurns(exchange.ErrGone)
			return s.cut()
		}
		return s.cutPush(exchange.ErrGone)
	}
	return nil
}

// endPush ends the response, and reading continues.
func (s *Session) endPush() error {
	if s.chunked {
		s.out.Commit(AppendChunkTail(AppendLastChunk(s.out.Tail(8))))
	}
	s.endTurns(nil)
	s.served()
	if s.last || s.stopping() {
		return s.close()
	}
	s.phase = inHead
	if err := s.idle(); err != nil {
		return err
	}
	s.conn.Pause(false)
	s.spareWork()
	return nil
}

// cutPush ends the response in such a way that the client can tell that it is incomplete.
func (s *Session) cutPush(err error) error {
	s.endTurns(err)
	if !s.chunked {
		return s.cut()
	}
	return s.close()
}

// endTurns tells the subscriber that it is gone.
func (s *Session) endTurns(err error) {
	s.open.Store(nothing)
	s.phase = inClose
	s.unsubscribe(err)
}

// requestTurn makes the loop call Turn. It fails only if the connection is gone, which
// Closed tells.
func (s *Session) requestTurn() { s.conn.(transport.Looped).Turn() }

// Turn implements exchange.Subscribed.
func (p *subscribed) Turn() bool { return p.conn.(transport.Looped).Turn() }

// Loop implements exchange.Subscribed.
func (p *subscribed) Loop() exchange.Loop { return p.conn.(transport.Looped).Loop() }

// At implements exchange.Subscribed.
func (p *subscribed) At() exchange.Turned { return p.conn.(transport.Looped).At() }

// RemoteAddr implements exchange.Subscribed.
func (p *subscribed) RemoteAddr() net.Addr { return p.conn.RemoteAddr() }

// SetAckTimeout implements exchange.Subscribed.
func (p *subscribed) SetAckTimeout(d time.Duration) {
	if c, ok := p.conn.(transport.Acked); ok {
		c.SetAckTimeout(d)
	}
}

// Pending implements exchange.Subscribed.
func (p *subscribed) Pending() int { return p.out.Len() + p.conn.Pending() }

// Put implements exchange.Subscribed.
func (p *subscribed) Put(b []byte) bool {
	switch {
	case len(b) == 0:
		return true
	case !p.takes(len(b)):
		return false
	}
	if p.chunked {
		p.out.Commit(AppendChunkHead(p.out.Tail(20), len(b)))
	}
	p.out.Write(b)
	if p.chunked {
		p.out.Commit(AppendChunkTail(p.out.Tail(2)))
	}
	return true
}

// PutFrame implements exchange.Subscribed.
func (p *subscribed) PutFrame(f *exchange.Frame) bool {
	if !p.takes(len(f.Body)) {
		return false
	}
	if p.chunked {
		p.out.Ref(f.Chunk)
	} else {
		p.out.Ref(f.Body)
	}
	return true
}

// takes reports whether n more bytes may wait for the client. If not, there will be a turn
// when all are gone: Drained requests it, unless the kernel accepts at once what this turn
// leaves, and nothing else waits. So this case is looked at again.
func (p *subscribed) takes(n int) bool {
	pending := p.conn.Pending()
	unsent := pending + p.out.Len()
	if unsent == 0 || n <= p.cfg.HighWater-unsent {
		return true
	}
	if pending == 0 && !p.calling {
		p.calling = true
		(*Session)(p).requestTurn()
	}
	return false
}
