//go:build linux

package sockets_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// TestFlood has a client send without end while its session blocks: what is kept for it
// outside of the kernel is one read.
func TestFlood(t *testing.T) {
	const kept = 64 << 10
	eachDriver(t, func(t *testing.T, d driver) {
		taken := make(chan int, 1)
		release, begun := make(chan struct{}), make(chan struct{}, 1)
		addr, _ := script(t, d, transport.Config{}, scripted{feed: func(s *scripted, in []byte, out *buf.Queue) (int, error) {
			what := bytes.TrimLeft(in, "f") // one byte, which no read cuts
			if len(what) == 0 {
				return len(in), nil
			}
			if what[0] != 'q' {
				begun <- struct{}{}
				<-release
			}
			if what[0] != 'h' {
				_, err := out.WriteString("done")
				return len(in), err
			}
			nc, err := s.Hijack(nil, out)
			if err != nil {
				return 0, err
			}
			n := 0
			if early, ok := nc.(*transport.Hijacked); ok {
				n = early.Buffered()
			}
			taken <- n
			return len(in), nc.Close()
		}})
		c := open(t, addr)
		flood := make([]byte, 1<<20)
		for i := range flood {
			flood[i] = 'f'
		}
		for _, what := range []string{"q", "b", "q", "b", "q", "h"} { // quick, block, hijack
			// A connection that has been served is received from as the driver likes.
			send(t, c, what)
			if what == "q" {
				want(t, c, "done")
				continue
			}
			receive(t, begun, "Feed runs")
			if err := c.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			var err error
			for sent := 0; err == nil && sent < 256<<20; sent += len(flood) {
				_, err = c.Write(flood)
			}
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("nothing holds the client back: %v", err)
			}
			if err := c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			release <- struct{}{}
			if what == "b" {
				want(t, c, "done")
			}
		}
		if n := receive(t, taken, "it is hijacked"); n > kept {
			t.Errorf("%d bytes were kept for a connection that is not being fed, want %d at most", n, kept)
		}
		_, _ = io.Copy(io.Discard, c) // its end, or a reset
	})
}
