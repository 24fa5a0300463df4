//go:build !race

// The race detector makes pools forget, and keeps what nobody uses any more.

package transporttest

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/redline-go/redline/internal/buf"
)

func init() { cases = append(cases, testCase{"block/memory", heldMemory}) }

// heldBound is what a blocked Feed may hold, in bytes of the heap.
const heldBound = 512 + 100 // the latter for waiting in the test's channel

// heldMemory bounds what a session holds whose Feed blocks for long, besides its
// goroutine's stack: with input that was released and output that was flushed,
// it is a few hundred bytes.
func heldMemory(e *env) {
	for _, how := range []struct {
		name  string
		n     int
		piece bool // the line comes in two
		hold  func(s *session)
	}{
		{"released, then detached", 500, false, func(s *session) { s.Release(); s.Detach() }},
		{"detached, then released", 500, false, func(s *session) { s.Detach(); s.Release() }},
		{"a line in pieces", 500, true, func(s *session) { s.Detach(); s.Release() }},
		{"taken over", 200, false, (*session).Release},
	} {
		var begun, blocked atomic.Int64
		release := make(chan struct{})
		e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
			if _, _, ok := line(in); !ok {
				begun.Add(1)
				return 0, nil
			}
			how.hold(s)
			fmt.Fprint(out, "begin ")
			if err := s.Flush(out, 0, nil); err != nil {
				return 0, err
			}
			blocked.Add(1)
			<-release
			fmt.Fprint(out, "end")
			return len(in), nil
		}})
		clients := make([]*client, how.n)
		for i := range clients {
			clients[i] = e.dial()
		}
		hold := func() {
			begun.Store(0)
			blocked.Store(0)
			if how.piece {
				for _, c := range clients {
					c.send("par")
				}
				e.until("all lines have begun", func() bool { return begun.Load() == int64(how.n) })
			}
			for _, c := range clients {
				c.send("t\n")
			}
			e.until("all Feeds are blocked", func() bool { return blocked.Load() == int64(how.n) })
		}
		let := func() {
			for range clients {
				release <- struct{}{}
			}
			for _, c := range clients {
				c.want("begin end")
			}
		}
		each := int64(heldBound + 1)
		for try := 0; try < 5 && each > heldBound; try++ { // others may hold something for a while
			hold() // goroutines and pools are there from now on
			let()
			before := heap()
			hold()
			each = (int64(heap()) - int64(before)) / int64(how.n)
			let()
		}
		if each > heldBound {
			e.Errorf("%s: a blocked Feed holds %d bytes of the heap, want %d at most", how.name, each, heldBound)
		}
		e.stop()
	}
}

// heap is the memory in use after a collection.
func heap() uint64 {
	for range 3 {
		runtime.GC() // pools are emptied by the second
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
