package transporttest

import (
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/buf"
)

// A loan is the output of one Feed.
type loan struct {
	mu   sync.Mutex
	lent atomic.Bool
}

// lends has Feeds block that have lent their output: little, and more than a socket takes. Their
// peers get all of it meanwhile, and what the Feeds leave when they return comes behind it.
func lends(e *env) {
	const rounds = 8
	size := 4 << 20
	if e.limits.Secure != nil {
		size = 60 << 10 // more is not encrypted ahead
	}
	release := make(chan struct{})
	var of sync.Map // session to loan
	e.start(hooks{
		feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
			l, n, ok := line(in)
			if !ok {
				return 0, nil
			}
			_, _ = io.WriteString(out, "ahead\n") // never fails
			if l == "large" {
				out.Ref(pattern(size))
			}
			v := new(loan)
			of.Store(s, v)
			v.lent.Store(true)
			if s.Detached() && v.lent.CompareAndSwap(true, false) {
				if err := s.Flush(out, math.MaxInt, nil); err != nil {
					return n, err
				}
			}
			if l == "returns" {
				time.Sleep(2 * time.Millisecond) // about as long as it takes until a takeover
			} else {
				<-release
			}
			if !v.lent.CompareAndSwap(true, false) {
				v.mu.Lock()
				defer v.mu.Unlock()
			}
			fmt.Fprintf(out, "%s\n", l)
			return n, nil
		},
		lend: func(s *session, send func()) {
			at, ok := of.Load(s)
			if !ok {
				return
			}
			v := at.(*loan)
			v.mu.Lock()
			defer v.mu.Unlock()
			if v.lent.CompareAndSwap(true, false) {
				send()
			}
		},
	})
	var clients []*client
	for i := range rounds {
		c := e.dial()
		for range 10 {
			c.send("returns\n")
			c.want("ahead\nreturns\n")
		}
		c.send([]string{"small", "large"}[i%2] + "\n")
		if c.want("ahead\n"); i%2 == 1 {
			c.want(string(pattern(size)))
		}
		clients = append(clients, c)
	}
	close(release)
	for i, c := range clients {
		c.want([]string{"small", "large"}[i%2] + "\n")
	}
}
