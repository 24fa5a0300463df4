package redline

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/redline-go/redline/internal/exchange"
)

// A Stream is a response that goes on after its handler has returned. Its
// methods may be called by any goroutine. It must be closed, also when the client
// has left: its connection lives until then.
//
// The connection parses no further request until the stream is closed.
type Stream struct {
	held exchange.Held
	ctx  context.Context
	end  func()
	most int

	home     uint64      // the handler's goroutine
	returned atomic.Bool // the handler has

	write sync.Mutex // of who writes, also while it waits

	mu    sync.Mutex
	level []int // of those who wait: how much may be buffered
	moved atomic.Pointer[chan struct{}]
}

// Stream keeps the response open: the head is sent when the handler returns, or
// writes more to the Stream than may be buffered, and what is written to the
// Stream follows as it comes. A second call returns the same one.
func (c *Ctx) Stream() *Stream {
	x := c.exchange()
	f := x.Local.(*frame)
	if f.stream != nil {
		return f.stream
	}
	ctx := c.requestContext() // it ends with the stream, not with the handler
	s := &Stream{
		held: x.Session.Hold(x), ctx: ctx, end: ctx.finish,
		most: f.server.writeBuffer(), home: goroutine(),
	}
	moved := make(chan struct{})
	s.moved.Store(&moved)
	f.stream = s
	return s
}

// Write queues p, which is copied, and returns at once while less than the
// server's WriteBuffer is unsent; beyond that it waits until the client has
// taken some. What other goroutines write comes before p or after it. The error
// is ErrGone when the client has left, or takes nothing for the server's
// StallTimeout, or the stream is closed.
//
// Until the handler has returned, what is written waits for that. A handler that
// writes more than WriteBuffer itself has it sent, head first, as [Ctx.Flush]
// does, within its WriteTimeout. Another goroutine that has to wait does so until
// the handler has returned, which must not wait for it in turn.
func (s *Stream) Write(p []byte) (n int, err error) {
	s.write.Lock()
	defer s.write.Unlock()
	for {
		part := p[n:]
		if len(part) > s.most {
			part = part[:(s.most+1)/2]
		}
		if err := s.Drain(s.ctx, s.most-len(part)); err != nil {
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
// it would have to. When nothing is buffered it takes any p.
func (s *Stream) TryWrite(p []byte) (bool, error) {
	if s.ctx.Err() != nil {
		return false, ErrGone
	}
	if !s.write.TryLock() {
		return false, nil
	}
	defer s.write.Unlock()
	if n := s.held.Buffered(); n > 0 && n+len(p) > s.most {
		if !s.athome() {
			return false, nil
		}
		if err := s.held.Push(math.MaxInt); err != nil {
			return false, err
		}
		if n = s.held.Buffered(); n > 0 && n+len(p) > s.most {
			return false, nil
		}
	}
	if err := s.held.Send(p); err != nil {
		return false, err
	}
	return true, nil
}

// Buffered is the number of bytes written and not yet taken by the kernel.
func (s *Stream) Buffered() int { return s.held.Buffered() }

// Drain waits until at most that many bytes are buffered. The error is ctx's, or
// that of Write. In the handler itself it sends them, as Write does, and looks at
// ctx before and after.
func (s *Stream) Drain(ctx context.Context, most int) error {
	for {
		switch {
		case s.ctx.Err() != nil, s.held.Send(nil) != nil:
			return ErrGone
		case s.held.Buffered() <= most:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if s.athome() {
			if err := s.held.Push(most); err != nil {
				return err
			}
			continue
		}
		moved := s.await(most)
		select {
		case <-moved:
		case <-ctx.Done():
		case <-s.ctx.Done():
		}
		s.leave(most)
	}
}

// athome reports whether the caller is the handler. Nobody else can send for it
// then: the loop has to wait until it returns.
func (s *Stream) athome() bool { return !s.returned.Load() && s.home == goroutine() }

// goroutine returns the number of the calling goroutine, as it stands at the head
// of its stack: "goroutine 7 [running]:". It costs about a microsecond.
func goroutine() (n uint64) {
	var b [64]byte
	for _, c := range b[len("goroutine "):runtime.Stack(b[:], false)] {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + uint64(c-'0')
	}
	return n
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

// Context is cancelled when the client has left or the stream is closed.
func (s *Stream) Context() context.Context { return s.ctx }

// Close ends the response. It may be called more than once.
func (s *Stream) Close() error {
	err := s.held.Close()
	s.end()
	return err
}
