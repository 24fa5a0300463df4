//go:build !race

// The race detector makes pools forget, and allocates.

package http2

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
)

// BenchmarkRequest feeds requests to a session, without a socket.
func BenchmarkRequest(b *testing.B) {
	for name, timeout := range map[string]time.Duration{"plain": 0, "WriteTimeout": time.Hour} {
		b.Run(name, func(b *testing.B) {
			s, feed := requests(b, timeout)
			defer s.due.stop()
			b.ReportAllocs()
			for b.Loop() {
				feed()
			}
		})
	}
}

// TestDeadlineAllocs wants a request to need no memory for its write deadline.
func TestDeadlineAllocs(t *testing.T) {
	allocs := func(timeout time.Duration) float64 {
		s, feed := requests(t, timeout)
		defer s.due.stop()
		feed()
		return testing.AllocsPerRun(1000, feed)
	}
	if plain, timed := allocs(0), allocs(time.Hour); timed > plain {
		t.Errorf("%v allocations with a deadline, %v without", timed, plain)
	}
}

// requests returns a session, and a function that feeds one request to it.
func requests(t testing.TB, timeout time.Duration) (s *Session, feed func()) {
	p := newPeer(t, 1, routes{})
	block := p.block(request("GET", "/ok")...)
	s = plainSession(routes{})
	s.cfg.WriteTimeout = timeout
	in := append([]byte(Preface), appendFrame(nil, 0, frameSettings, 0, 0)...)
	request := append(appendFrame(nil, len(block), frameHeaders, flagEndHeaders|flagEndStream, 1), block...)
	var out buf.Queue
	id := uint32(1)
	send := func(in []byte) {
		if n, err := s.Feed(in, &out); n != len(in) || err != nil {
			t.Fatal(n, err)
		}
		out.Reset()
	}
	send(in)
	return s, func() {
		binary.BigEndian.PutUint32(request[5:], id)
		id = (id + 2) & maxWindow
		s.send = 1 << 20
		send(request)
	}
}
