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

// A Stream is a response that goes on after its handler has returned. Its
// methods may be called by any goroutine at any time. It must be closed, also when
// the client has left: its connection lives until then.
//
// The connection parses no further request until the stream is closed.
type Stream struct {
	held exchange.Held
	ctx  context.Context
	end  func()
	most int

	asked atomic.Bool // somebody knows the context

	write sync.Mutex // of who writes, also while it waits

	mu    sync.Mutex
	level []int // of those who wait: how much may be buffered
	moved atomic.Pointer[chan struct{}]
}

// ErrTooLong is returned by [Stream.TryWrite] for what is longer than the server's
// WriteBuffer: only Write, which may wait, sends it.
var ErrTooLong = errors.New("redline: longer than Server.WriteBuffer: use Stream.Write, which waits")

// Stream keeps the response open when the handler returns. Its head is sent then,
// with what the handler has written, and f is called on a goroutine of its own: it
// may write to the stream itself, or hand it to others, and returns when it likes.
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
// f is not called when the handler panics or takes the connection over, nor when the
// client has left already. A panic of f is logged, and aborts the stream. A handler
// that calls Stream twice panics.
func (c *Ctx) Stream(f func(*Stream)) {
	x := c.exchange()
	frame := x.Local.(*frame)
	if frame.streams {
		panic("redline: Ctx.Stream called twice: a response is one stream")
	}
	frame.streams = true
	ctx := c.requestContext() // it ends with the stream, not with the handler
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

// Write queues p, which is copied, and returns at once while less than the
// server's WriteBuffer is unsent; beyond that it waits until the client has
// taken some. What other goroutines write comes before p or after it. The error
// is ErrGone when the client has left, or is too slow (see Server.StallTimeout), or
// the stream is closed.
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

// TryWrite is Write that never waits: it reports false, and queues nothing, when
// it would have to. The error is Write's, or [ErrTooLong].
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

// Buffered is the number of bytes written and not yet taken by the kernel.
func (s *Stream) Buffered() int { return s.held.Buffered() }

// Drain waits until at most that many bytes are buffered. The error is ctx's, or
// that of Write.
func (s *Stream) Drain(ctx context.Context, most int) error { return s.drain(ctx, most) }

func (s *Stream) drain(ctx context.Context, most int) error {
	for {
		// In this order: nothing is buffered of a client that has left.
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

// await has the channel that it returns closed when the first of those who wait
// can go on; all of them look then. There is one notice to be had from held, for
// the one who waits for the least.
func (s *Stream) await(most int) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level = append(s.level, most)
	moved := *s.moved.Load()
	s.held.OnDrain(slices.Max(s.level), s.notice) // which may call it here and now
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

// Context is cancelled when the client has left, with cause ErrGone, or the stream
// is closed. A client that only ends its own side has left in this sense: that
// cannot be told from one that is gone. It still gets what is written.
func (s *Stream) Context() context.Context {
	s.asked.Store(true)
	return s.ctx
}

// Close ends the response. It may be called more than once; the error is nil. When the
// client has left by what Context says, and somebody has asked that, Close is Abort:
// the response has most likely been given up because of it, and must not look complete
// to a client that has closed its sending side alone.
func (s *Stream) Close() error {
	if s.asked.Load() && context.Cause(s.ctx) == ErrGone {
		s.held.Abort()
	} else {
		s.held.Close()
	}
	s.end()
	return nil
}

// Abort ends the connection. The client gets what was written before, as far as it
// takes it, and can tell that the response is not complete. Where only a reset can tell,
// to a client of HTTP/1.0 and without a Content-Length, it may lose the last of it. Abort
// does nothing when the stream is closed.
func (s *Stream) Abort() {
	s.held.Abort()
	s.end()
}
