package transporttest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// coin lets Feed go at random, by Left or by itself, while takeovers come at all points.
func (s *leaver) coin(n int, name string, out *buf.Queue) bool {
	r := rand.New(rand.NewPCG(uint64(s.n), uint64(len(name)*1000+n)))
	if r.IntN(8) == 0 {
		s.Detach()
	}
	pause := func() { time.Sleep(time.Duration(r.IntN(400)) * time.Microsecond) }
	if r.IntN(4) > 0 && !s.mayGo(n, name, out, pause) {
		return false
	}
	if r.IntN(3) > 0 {
		fmt.Fprintf(out, "%s stays\n", name)
		return true
	}
	fmt.Fprintf(out, "%s left\n", name)
	s.goes()
	s.Leave(n)
	return false
}

// visits visits all sessions again and again, until the returned function is called.
func (x *leaving) visits() (end func()) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				x.transport.Each(func(transport.Session, *buf.Queue) error { return nil }, stop)
			}
		}
	})
	return func() {
		close(stop)
		wg.Wait()
	}
}

// leaveAnywhere has Feeds let go, leave, and return at about the time at which they are taken
// over: each line is answered once.
func leaveAnywhere(e *env) {
	e.config.Takeover = 100 * time.Microsecond
	x := leavingOn(e)
	defer x.visits()()
	var wg sync.WaitGroup
	for i := range 16 {
		c := e.dial()
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 6))
			for range 40 {
				n := 1 + r.IntN(8)
				var b strings.Builder
				for name := range n {
					fmt.Fprintf(&b, "coin %d\n", name)
				}
				cut := r.IntN(b.Len())
				c.send(b.String()[:cut])
				c.send(b.String()[cut:])
				if !c.wantTossed(n) {
					return
				}
			}
		})
	}
	wg.Wait()
	x.until("those that have left end", func() bool { return x.left.Load() == 0 })
}

// wantTossed reads the answers to n coins: of each, that it stays, or that it goes, followed by
// what is done after that.
func (c *client) wantTossed(n int) bool {
	went := make([]string, n)
	for left := n; left > 0; {
		l, err := c.r.ReadString('\n')
		var i int
		var what string
		if _, e := fmt.Sscanf(l, "%d %s", &i, &what); err != nil || e != nil || i < 0 || i >= n {
			c.e.Errorf("client reads %q, %v", l, err)
			return false
		}
		ok := false
		switch what {
		case "kept":
			ok = went[i] == ""
		case "stays":
			ok = went[i] == "" || went[i] == "kept"
			left--
		case "let":
			ok = went[i] == ""
		case "left":
			ok = went[i] == "" || went[i] == "kept"
		case "done":
			ok = went[i] == "let" || went[i] == "left"
			left--
		}
		if !ok {
			c.e.Errorf("client reads %q after %q", l, went[i])
			return false
		}
		went[i] = what
	}
	return true
}

// leaveClosedAnywhere closes connections, from all sides, while their Feeds leave.
func leaveClosedAnywhere(e *env) {
	e.config.Takeover = 100 * time.Microsecond
	x := leavingOn(e)
	end := x.visits()
	var wg sync.WaitGroup
	for i := range 100 {
		c := e.dial()
		s := e.session(i)
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 7))
			for name := range 1 + r.IntN(30) {
				if _, err := fmt.Fprintf(c, "coin %d\n", name); err != nil {
					break
				}
			}
			time.Sleep(time.Duration(r.IntN(2000)) * time.Microsecond)
			switch i % 6 {
			case 0:
				c.Close()
			case 1:
				c.reset()
			case 2:
				c.halfClose()
			case 3, 4:
				s.Close(transport.Closing(r.IntN(3)))
			default:
				return // the transport is closed
			}
			_, _ = io.Copy(io.Discard, c.r) // until the end, or a reset
		})
	}
	wg.Wait()
	end()
	x.stop()
	x.until("those that have left end", func() bool { return x.left.Load() == 0 })
}
