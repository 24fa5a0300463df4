package redline

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/http1"
	"github.com/redline-go/redline/internal/transport"
)

// A Subscriber writes a response that continues after its handler has returned, by turns on
// the event loop of its connection: between the turns nothing of the server waits for it, no
// goroutine, no timer and no buffer. Tens of thousands of them cost little more than their
// connections.
//
// The methods are called one at a time. They must not block, and may call every method of
// [Subscription] and [Loop]; no lock of the server is held meanwhile.
type Subscriber interface {
	// Turn writes what there is to send, if there is anything. It is called right after the
	// head has been sent, after [Subscription.Wake], in a [Loop.Walk], and when output that
	// was refused, or that the kernel did not accept at once, has all gone. It may also be
	// called without a reason.
	Turn(t *Turn)
	// Gone is called once, and is the last call: nothing more can be sent. err is
	//
	//	nil              the response has ended with Close, or has no body (HEAD, 204, 304)
	//	ErrGone          the client has left
	//	ErrTimeout       the client was too slow, see Server.StallTimeout
	//	ErrAbort         Abort was called, or the handler or Turn has panicked
	//	ErrServerClosed  the server was closed
	//
	// or says why the head could not be sent. A client that closes only its sending side
	// counts as having left.
	Gone(err error)
}

// A Subscription is a response that its [Subscriber] writes. Any goroutine may call its
// methods at any time. It must be closed, unless the client leaves; see Subscriber.Gone.
//
// The connection parses no further request of HTTP/1 until the subscription is closed.
type Subscription struct {
	side  exchange.Subscribed
	to    Subscriber
	loop  *Loop
	state atomic.Uint32
}

// The state of a subscription.
const (
	opened  uint32 = 1 << iota // the first turn has begun
	woken                      // a turn is to come
	turning                    // Turn runs
	closing                    // Close was called
	cutting                    // Abort was called
	over                       // Gone was called, or is about to be
)

// Subscribe is [Ctx.Subscribe] for an http.Handler that runs on this engine. It finds the
// engine's ResponseWriter behind others that have an Unwrap method, as
// http.ResponseController does. After it the handler may still write, and returns. If there
// is none, as under another server, the error wraps errors.ErrUnsupported: then the handler
// has to stay and write by itself.
func Subscribe(w http.ResponseWriter, sub Subscriber) (s *Subscription, err error) {
	for {
		switch v := w.(type) {
		case interface {
			Exchange(f func(x *exchange.Exchange, server any)) error
		}:
			err = v.Exchange(func(x *exchange.Exchange, server any) { s = subscribe(server.(*Server), x, sub) })
			return s, err
		case interface{ Unwrap() http.ResponseWriter }:
			w = v.Unwrap()
		default:
			return nil, fmt.Errorf("redline: %T does not belong to this engine: subscribe: %w", w, errors.ErrUnsupported)
		}
	}
}

// Subscribe keeps the response open when the handler returns. The head is then sent, with
// what the handler has written, and sub writes the rest of the body, whose length is not
// announced: SetContentLength has no effect.
//
// The memory of the request is released when the handler returns, and its Context ends. If
// the handler panics, or takes the connection over, sub is told that it is gone. A second
// call in a handler panics, and so does a call beside [Ctx.Stream].
//
// Nothing bounds the time of the response but the client: it has to accept what is written as
// Server.StallTimeout demands. ReadTimeout, WriteTimeout and IdleTimeout do not apply.
//
// [Server.Shutdown] waits for subscriptions, as it does for streams: [Server.Stopping] or
// [Server.RegisterOnShutdown] is the time to close them.
func (c *Ctx) Subscribe(sub Subscriber) *Subscription {
	x := c.exchange()
	f := x.Local.(*frame)
	if f.streams {
		panic(onlyOnce)
	}
	return subscribe(f.server, x, sub)
}

// onlyOnce is the panic of a handler that continues its response twice.
const onlyOnce = "redline: a response can be continued only once, by Stream or by Subscribe"

func subscribe(server *Server, x *exchange.Exchange, sub Subscriber) *Subscription {
	if x.Subscribed {
		panic(onlyOnce)
	}
	x.Subscribed = true
	s := &Subscription{to: sub}
	s.side = x.Session.Subscribe(x, (*subscriber)(s))
	s.loop = server.loop(s.side.Loop())
	return s
}

// Wake requests a turn, and reports whether there will be one: not if the subscription is
// gone. Requests before the turn begins are one.
func (s *Subscription) Wake() bool {
	switch old := s.state.Or(woken); {
	case old&over != 0:
		return false
	case old&woken != 0 || old&opened == 0:
		return true
	}
	return s.side.Turn()
}

// Loop returns the loop on which the turns are taken. It stays the same.
func (s *Subscription) Loop() *Loop { return s.loop }

// Close ends the response: the client gets what the turns so far have written, and no turn
// follows. It may be called more than once. To write a last part, use [Turn.Close].
func (s *Subscription) Close() { s.end(closing) }

// Abort ends the connection, or the stream of HTTP/2, in such a way that the client can tell
// that the response is incomplete. If only a reset can show this (HTTP/1.0), or the client has
// not accepted all of its output, whose memory is released at once, it may lose the last part.
// It has no effect after Close.
func (s *Subscription) Abort() { s.end(cutting) }

// end requests the end of the response. A turn that is running, or that is the first, sees
// it; otherwise one is requested.
func (s *Subscription) end(how uint32) {
	for {
		old := s.state.Load()
		if old&(closing|cutting|over) != 0 {
			return
		}
		if s.state.CompareAndSwap(old, old|how) {
			if old&(opened|turning) == opened {
				s.side.Turn() // false: Gone has been called, or is next
			}
			return
		}
	}
}

// RemoteAddr returns the client's address; see [Ctx.RemoteAddr].
func (s *Subscription) RemoteAddr() net.Addr { return s.side.RemoteAddr() }

// SetAckTimeout bounds the time for which the client's system may acknowledge nothing of what
// was sent to it: then the connection ends, and Gone is called with ErrGone. Without it, a
// client whose machine or network has vanished without a word is noticed only after the
// system's own bound, a quarter of an hour on Linux, as long as what is sent to it fits into
// the kernel's buffers. 0 restores that bound.
//
// It is TCP_USER_TIMEOUT (tcp(7); RFC 9293, 3.8.3), and has no effect on other systems than
// Linux, on Unix sockets, and under another server. A client that reads nothing, so that its
// window stays closed, ends in the same way. It holds for the connection: for all
// streams of HTTP/2, and for later requests of HTTP/1.
func (s *Subscription) SetAckTimeout(d time.Duration) { s.side.SetAckTimeout(max(d, 0)) }

// at is what a walk visits for the subscription: nil if there is nothing to be visited.
func (s *Subscription) at() exchange.Turned {
	v := s.state.Load()
	if v&opened == 0 {
		v = s.state.Or(woken) // the first turn is to come, or has just begun
	}
	if v&over != 0 || v&opened == 0 {
		return nil
	}
	return s.side.At()
}

// A Turn is the turn of a subscription, within [Subscriber.Turn].
type Turn Subscription

// use panics if the turn is over.
func (t *Turn) use() {
	if t.state.Load()&turning == 0 {
		panic("redline: Turn used after Subscriber.Turn has returned: call Subscription.Wake, and write in the turn that follows")
	}
}

// Write appends a copy of p to the body, and reports whether it did: not if more than the
// server's WriteBuffer would be unsent. Then p is to be kept for a later turn, which comes
// when everything is sent. However long p is, it is taken if nothing is unsent.
func (t *Turn) Write(p []byte) bool {
	t.use()
	return t.side.Put(p)
}

// WriteFrame is Write for a frame, which is not copied if it is long.
func (t *Turn) WriteFrame(f *Frame) bool {
	t.use()
	return t.side.PutFrame(&f.f)
}

// Pending is the number of bytes that the kernel has not accepted yet, including those of
// this turn.
func (t *Turn) Pending() int {
	t.use()
	return t.side.Pending()
}

// Close ends the response after this turn: see [Subscription.Close].
func (t *Turn) Close() {
	t.use()
	(*Subscription)(t).end(closing)
}

// A Frame is a part of the bodies of many responses, prepared once for all of them. It does
// not change, and any number of goroutines may use it.
type Frame struct{ f exchange.Frame }

// NewFrame returns a frame with a copy of p.
func NewFrame(p []byte) *Frame {
	if len(p) == 0 {
		return new(Frame)
	}
	b := http1.AppendChunkHead(make([]byte, 0, len(p)+20), len(p))
	head := len(b)
	b = append(b, p...)
	b = http1.AppendChunkTail(b)
	return &Frame{exchange.Frame{Body: b[head : head+len(p) : head+len(p)], Chunk: b}}
}

// BytesNoCopy is the frame's own memory, which must not be changed.
func (f *Frame) BytesNoCopy() []byte { return f.f.Body }

// Len is the length of the frame in bytes.
func (f *Frame) Len() int { return len(f.f.Body) }

// subscriber is a subscription as its session sees it.
type subscriber Subscription

// Turn implements exchange.Subscriber.
func (s *subscriber) Turn() (v exchange.Verdict) {
	if v = s.begin(); v != exchange.Continue {
		return v
	}
	defer func() {
		if p := recover(); p != nil {
			s.panicked(p)
			v = exchange.Cut
		}
	}()
	s.to.Turn((*Turn)(s))
	return verdict(s.state.And(^turning))
}

// begin begins a turn, unless the response is to end.
func (s *subscriber) begin() exchange.Verdict {
	for {
		old := s.state.Load()
		v := verdict(old)
		next := old&^woken | opened
		if v == exchange.Continue {
			next |= turning
		}
		if s.state.CompareAndSwap(old, next) {
			return v
		}
	}
}

func verdict(state uint32) exchange.Verdict {
	switch {
	case state&closing != 0:
		return exchange.End
	case state&cutting != 0:
		return exchange.Cut
	}
	return exchange.Continue
}

// Gone implements exchange.Subscriber.
func (s *subscriber) Gone(err error) {
	state := s.state.Or(over)
	switch {
	case err == exchange.ErrAborted || err != nil && state&cutting != 0:
		err = ErrAbort
	case err == transport.ErrStopped:
		err = ErrServerClosed
	}
	defer func() {
		if p := recover(); p != nil {
			s.panicked(p)
		}
	}()
	s.to.Gone(err)
}

// panicked handles a panic of the Subscriber.
func (s *subscriber) panicked(p any) {
	s.state.And(^turning)
	s.state.Or(cutting)
	s.loop.server.recovered("subscriber panicked", p, s.side.RemoteAddr())
}
