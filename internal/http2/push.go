package http2

import (
	"net"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/transport"
)

// A pushed is a response that its Subscriber writes by turns on the connection's loop. The
// session's mu guards it; it is not held while the Subscriber is called.
//
// All turns that are due when the loop calls the session are taken then, so what many streams
// of a connection have to send leaves in one write.
type pushed struct {
	s       *Session
	st      *stream // nil when the response is over
	to      exchange.Subscriber
	open    bool  // the handler has returned
	listed  bool  // in s.turns
	running bool  // a turn is being taken
	waits   bool  // a turn is due when there is room again; counted in s.helds
	gone    error // why it is over, while a turn is being taken
}

var (
	_ transport.Turner    = (*Session)(nil)
	_ exchange.Subscribed = (*pushed)(nil)
)

// Subscribe implements exchange.Session.
func (st *stream) Subscribe(_ *exchange.Exchange, to exchange.Subscriber) exchange.Subscribed {
	st.s.mu.Lock()
	defer st.s.unlock()
	st.pushed = &pushed{s: st.s, st: st, to: to}
	return st.pushed
}

// openPush lets the response continue after its handler has returned. It reports false if
// there is nothing to continue.
func (st *stream) openPush() bool {
	r := &st.x.Response
	switch {
	case r.HeadSent && r.Length != exchange.UnknownLength:
		st.pushed.over(exchange.ErrLength) // what was announced cannot be kept
		st.x.Response.Abort()
		return false
	case st.x.Method == exchange.MethodHead || bodiless(r.Status):
		st.pushed.over(nil)
		return false
	}
	r.Length, r.Trailers = exchange.UnknownLength, r.Trailers[:0]
	st.proceed()
	st.x.Body = nil
	st.pushed.open = true
	st.pushed.list()
	return true
}

// unsubscribe ends a subscription that was not opened.
func (st *stream) unsubscribe(err error) {
	if st.pushed != nil {
		st.pushed.over(err)
	}
}

// over ends the subscription: the stream is no longer its.
func (p *pushed) over(err error) {
	p.settle()
	p.st.pushed = nil
	p.st = nil
	if p.running {
		p.gone = err
		return
	}
	p.tell(err)
}

// tell tells the subscriber that it is gone, when mu is released.
func (p *pushed) tell(err error) { p.s.hooks = append(p.s.hooks, func() { p.to.Gone(err) }) }

// settle notes that no turn has to come for lack of room.
func (p *pushed) settle() {
	if p.waits {
		p.waits = false
		p.s.helds--
	}
}

// list requests a turn.
func (p *pushed) list() {
	if !p.listed {
		p.listed = true
		p.s.turns = append(p.s.turns, p)
		p.s.wake()
	}
}

// room requests a turn if it was due when there is room again.
func (p *pushed) room() {
	if p.waits && p.st.queue.Len() == 0 && p.unsent() <= p.s.cfg.HighWater/2 {
		p.settle()
		p.list()
	}
}

// takeTurns takes the turns that are due. Turns that are requested meanwhile come later, so
// that the loop can do other things. s.mu is held, but not while a turn is taken.
func (s *Session) takeTurns() {
	for n := len(s.turns); n > 0 && len(s.turns) > 0; n-- {
		p := s.turns[0]
		s.turns[0] = nil
		if s.turns = s.turns[1:]; len(s.turns) == 0 {
			s.turns = nil
		}
		if p.listed = false; p.st != nil {
			p.take()
		}
	}
}

// take takes one turn.
func (p *pushed) take() {
	s, st := p.s, p.st
	if st.reset {
		p.end(exchange.Cut, st.failed)
		return
	}
	p.settle()
	p.running = true
	s.unlock()
	verdict := p.to.Turn()
	s.mu.Lock()
	p.running = false
	switch {
	case p.st == nil: // the connection was closed meanwhile
		p.tell(p.gone)
	case st.reset:
		p.end(exchange.Cut, st.failed)
	case verdict == exchange.Cut:
		p.end(verdict, exchange.ErrGone)
	case verdict == exchange.End:
		p.end(verdict, nil)
	case st.queue.Len() > 0:
		p.await()
	}
}

// end ends the response, and tells the subscriber.
func (p *pushed) end(how exchange.Verdict, err error) {
	s, st := p.s, p.st
	p.over(err)
	switch {
	case st.reset:
	case how == exchange.Cut:
		_ = s.resetStream(st, InternalError)
	default:
		st.x.Static, st.x.Body = nil, st.x.Body[:0]
		st.endBody()
	}
	st.over()
}

// await has a turn come when there is room.
func (p *pushed) await() {
	if !p.waits {
		p.waits = true
		p.s.helds++
	}
}

// because says why the subscriptions of a connection end that is about to be lost.
func (s *Session) because(err error) {
	for _, st := range s.streams {
		if st.pushed != nil && st.failed == nil {
			st.failed = err
		}
	}
}

// losePushed ends all subscriptions, when the connection is closed.
func (s *Session) losePushed() {
	for _, st := range s.streams {
		if p := st.pushed; p != nil && p.open {
			p.over(st.failed)
			st.handled = true
		}
	}
}

// Turn implements exchange.Subscribed.
func (p *pushed) Turn() bool {
	p.s.mu.Lock()
	defer p.s.unlock()
	if p.st == nil {
		return false
	}
	p.list()
	return true
}

// Loop implements exchange.Subscribed.
func (p *pushed) Loop() exchange.Loop { return p.s.conn.(transport.Looped).Loop() }

// At implements exchange.Subscribed. The turns of all streams of a connection are taken with
// one message.
func (p *pushed) At() exchange.Turned { return p }

// RemoteAddr implements exchange.Subscribed.
func (p *pushed) RemoteAddr() net.Addr { return p.s.conn.RemoteAddr() }

// SetAckTimeout implements exchange.Subscribed, for all streams of the connection.
func (p *pushed) SetAckTimeout(d time.Duration) {
	if c, ok := p.s.conn.(transport.Acked); ok {
		c.SetAckTimeout(d)
	}
}

// Pending implements exchange.Subscribed.
func (p *pushed) Pending() int {
	p.s.mu.Lock()
	defer p.s.unlock()
	return p.unsent()
}

// unsent counts what the connection has not sent, too: see held.buffered.
func (p *pushed) unsent() int {
	if p.st == nil {
		return 0
	}
	return p.st.queue.Len() + p.s.pending()
}

// Put implements exchange.Subscribed.
func (p *pushed) Put(b []byte) bool { return p.put(b, (*buf.Queue).Write) }

// PutFrame implements exchange.Subscribed. What does not fit into the windows is not copied: many
// streams may wait for room for the same frame.
func (p *pushed) PutFrame(f *exchange.Frame) bool {
	return p.put(f.Body, func(q *buf.Queue, b []byte) (int, error) {
		q.Ref(b)
		return len(b), nil
	})
}

// put queues with keep what cannot be sent at once.
func (p *pushed) put(b []byte, keep func(*buf.Queue, []byte) (int, error)) bool {
	s := p.s
	s.mu.Lock()
	defer s.unlock()
	st := p.st
	if st == nil || st.reset || len(b) == 0 {
		return true // the end of the turn tells
	}
	if unsent := p.unsent(); unsent > 0 && len(b) > s.cfg.HighWater-unsent {
		p.await()
		return false
	}
	st.x.Sent += int64(len(b))
	if st.queue.Len() == 0 && s.waiting == 0 {
		b = st.emit(b, false)
	}
	if len(b) > 0 {
		_, _ = keep(&st.queue, b) // never fails
		st.opened()
	}
	return true
}
