package redline

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/redline-go/redline/internal/exchange"
)

// A Stream is a response that continues after its handler has returned. Any goroutine may
// call its methods at any time. It must be closed, even if the client has left: its
// connection stays open until then.
//
// The connection parses no further request until the stream is closed.
type Stream struct {
	held exchange.Held
	ctx  context.Context
	end  func()
	most int

	asked atomic.Bool // the context has been requested

	write sync.Mutex // held by the writer, also while it waits

	mu    sync.Mutex
	level []int // how much may be buffered, for each goroutine that waits
	moved atomic.Pointer[chan struct{}]
}

// ErrTooLong is returned by [Stream.TryWrite] for data longer than the server's
// WriteBuffer: only Write, which may wait, can send it.
var ErrTooLong = errors.New("redline: longer than Server.WriteBuffer: use Stream.Write, which waits")

// Stream keeps the response open when the handler returns. The head is then sent, with what
// the handler has written, and f is called on its own goroutine. f may write to the stream
// itself or pass it to other goroutines, and may return at any time.
//
//	c.Stream(func(s *redline.Stream) {
//		defer s.Close()
//		for event := range events {
//			if _, err := s.Write(event); err != nil {
//				return // the client has left
//			}
//		}
//	})
//
// f is not called if the handler panics or takes the connection over, or if the client has
// already left. A panic of f is logged, and aborts the stream. A second call of Stream in a
// handler panics.
func (c *Ctx) Stream(f func(*Stream)) {
	x := c.exchange()
	frame := x.Local.(*frame)
	switch {
	case frame.streams:
		panic("redline: Ctx.Stream called twice: a response can have only one stream")
	case x.Subscribed:
		panic(onlyOnce)
	}
	frame.streams = true
	ctx := c.requestContext() // ends with the stream, not with the handler
	s := &Stream{ctx: ctx, end: ctx.finish, most: frame.server.writeBuffer()}
	s.asked.Store(frame.asked)
	moved := make(chan struct{})
	s.moved.Store(&moved)
	server, remote := frame.server, x.Session.RemoteAddr
	x.Session.Hold(x, func(held exchange.Held) {
		s.held = held
		defer func() {
			if p := recover(); p != nil {
				server.counters.panics.Add(1)
				server.logger().Error("stream panicked", "panic", p, "remote", remote(), "stack", string(debug.Stack()))
				s.Abort()
			}
		}()
		f(s)
	})
}

// Write queues a copy of p, and returns at once while less than the server's WriteBuffer is
// unsent; beyond that it waits until the client has accepted some of it. The output of
// other goroutines comes before p or after it. The error is ErrGone if the client has left
// or is too slow (see Server.StallTimeout), or if the stream is closed.
func (s *Stream) Write(p []byte) (n int, err error) {
	s.write.Lock()
	defer s.write.Unlock()
	for {
		part := p[n:]
		if len(part) > s.most {
			part = part[:(s.most+1)/2]
		}
		if err := s.drain(context.Background(), s.most-len(part)); err != nil {
			return n, err
		}
		if err := s.held.Send(part); err != nil {
			return n, err
		}
		if n += len(part); n == len(p) {
			return n, nil
		}
	}
}

// TryWrite is like Write but never waits: if it would have to, it reports false and queues
// nothing. The error is that of Write, or [ErrTooLong].
func (s *Stream) TryWrite(p []byte) (bool, error) {
	if err := s.held.Send(nil); err != nil {
		return false, err
	}
	if len(p) > s.most {
		return false, ErrTooLong
	}
	if !s.write.TryLock() {
		return false, nil
	}
	defer s.write.Unlock()
	if s.held.Buffered()+len(p) > s.most {
		return false, nil
	}
	if err := s.held.Send(p); err != nil {
		return false, err
	}
	return true, nil
}

// Buffered is the number of bytes written and not yet accepted by the kernel.
func (s *Stream) Buffered() int { return s.held.Buffered() }

// Drain waits until at most that many bytes are buffered. The error is that of ctx or of
// Write.
func (s *Stream) Drain(ctx context.Context, most int) error { return s.drain(ctx, most) }

func (s *Stream) drain(ctx context.Context, most int) error {
	for {
		// The order matters: nothing is buffered for a client that has left.
		buffered := s.held.Buffered()
		switch {
		case s.held.Send(nil) != nil:
			return ErrGone
		case buffered <= most:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
		moved := s.await(most)
		select {
		case <-moved:
		case <-ctx.Done():
		}
		s.leave(most)
	}
}

// await returns a channel that is closed when the first waiting goroutine can continue; all
// of them then check again. held gives only one notification, so it is requested for the
// goroutine that waits for the least.
func (s *Stream) await(most int) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level = append(s.level, most)
	moved := *s.moved.Load()
	s.held.OnDrain(slices.Max(s.level), s.notice) // which may call it immediately
	return moved
}

func (s *Stream) leave(most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.level, most)
	s.level = slices.Delete(s.level, i, i+1)
}

func (s *Stream) notice() {
	next := make(chan struct{})
	close(*s.moved.Swap(&next))
}

// Context is cancelled when the client has left, with cause ErrGone, or when the stream is
// closed. A client that closes only its sending side counts as having left, because this
// cannot be distinguished from a client that is gone. It still receives what is written.
func (s *Stream) Context() context.Context {
	s.asked.Store(true)
	return s.ctx
}

// Close ends the response. It may be called more than once; the error is nil. If the client
// has left according to Context, and Context has been called, Close is Abort: the response
// was most likely given up because of it, and must not look complete to a client that has
// closed only its sending side.
func (s *Stream) Close() error {
	if s.asked.Load() && context.Cause(s.ctx) == ErrGone {
		s.held.Abort()
	} else {
		s.held.Close()
	}
	s.end()
	return nil
}

// Abort ends the connection. The client receives what was written before, if it accepts it,
// and can tell that the response is incomplete. If only a reset can show this (to an
// HTTP/1.0 client without a Content-Length), the client may lose the last part. Abort has
// no effect if the stream is closed.
func (s *Stream) Abort() {
	s.held.Abort()
	s.end()
}
