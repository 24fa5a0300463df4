package redline_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// fill writes to a stream until it takes nothing any more, as its client reads
// nothing. In between other clients are served, so that a loop that has not had
// its turn is not taken for one that is held up.
func (r *running) fill(s *redline.Stream, most int) (n int) {
	t := r.t
	t.Helper()
	p := bytes.Repeat([]byte("0123456789abcdef"), 64)
	other, full := r.dial(), 0
	until(t, "the stream is full", func() bool {
		for {
			ok, err := s.TryWrite(p)
			if err != nil {
				t.Fatal(err)
			}
			if b := s.Buffered(); b > most+4*len(p) { // chunk heads count too
				t.Fatalf("%d bytes are buffered, at most %d may be", b, most)
			}
			if !ok {
				break
			}
			n += len(p)
			full = 0
		}
		full++
		other.want("/other", "/other")
		return full > 100 // in the time of 100 requests nothing was taken
	})
	other.Close()
	return n
}

// TestStreamHighWater fills a stream: TryWrite says so, Write and Drain wait, in
// any number; and they go on when the client reads.
func TestStreamHighWater(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		const most = 32 << 10
		r, streams := streaming(t, &redline.Server{Transport: transport, WriteBuffer: most, StallTimeout: -1})
		c := r.dial()
		c.ask("/stream")
		s := receive(t, streams, "the stream is open")
		n := r.fill(s, most)
		const waiters = 8
		done := make(chan error, 2*waiters)
		large := bytes.Repeat([]byte("x"), 3*most)
		for i := range waiters {
			go func() { done <- s.Drain(context.Background(), i*most/waiters) }()
			go func() { _, err := s.Write(large); done <- err }()
		}
		short, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		if err := s.Drain(short, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Drain: %v", err)
		}
		cancel()
		select {
		case err := <-done:
			t.Errorf("a goroutine did not wait: %v", err)
		default:
		}
		go func() {
			for range 2 * waiters {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			if err := s.Drain(context.Background(), 0); err != nil {
				t.Error(err)
			}
			if b := s.Buffered(); b != 0 {
				t.Errorf("drained, but %d bytes are buffered", b)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		got, err := io.Copy(io.Discard, c.response().Body)
		if want := int64(n + waiters*len(large)); err != nil || got != want {
			t.Errorf("client reads %d bytes, %v, want %d", got, err, want)
		}
	})
}

// TestTryWriteTooLong refuses what only Write can send.
func TestTryWriteTooLong(t *testing.T) {
	r, streams := streaming(t, &redline.Server{WriteBuffer: 8 << 10})
	c := r.dial()
	c.ask("/stream")
	s := receive(t, streams, "the stream is open")
	if ok, err := s.TryWrite(make([]byte, 8<<10+1)); ok || !errors.Is(err, redline.ErrTooLong) {
		t.Errorf("TryWrite: %v, %v", ok, err)
	}
	if ok, err := s.TryWrite(make([]byte, 8<<10)); !ok || err != nil {
		t.Errorf("TryWrite: %v, %v", ok, err)
	}
	noError(t, s.Close())
}
