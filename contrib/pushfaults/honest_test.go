package pushfaults

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A crowd are the honest clients of a service.
type crowd struct {
	t        *testing.T
	a        *attack
	s        *service
	n        int
	clients  []*client
	received atomic.Int64  // events, of all
	moved    chan struct{} // gets a value when all clients may have an event
	over     atomic.Bool   // the clients may end
	ended    atomic.Int64
	lost     atomic.Int64
	slowest  atomic.Int64 // resumption, in nanoseconds

	mu  sync.Mutex
	ids []string // of the events
}

// A client reads the events of the topic of honest clients.
type client struct {
	crowd  *crowd
	conn   net.Conn
	last   int     // event
	delays []int64 // of each event, in nanoseconds
}

// visit connects from an address of its own, and reads the head of a stream.
func visit(at, target string) (net.Conn, *bufio.Reader, error) {
	d := net.Dialer{Timeout: patience}
	if runtime.GOOS == "linux" {
		d.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)} // of 127.0.0.0/8, all of which is this machine
	}
	conn, err := d.Dial("tcp", at)
	if err != nil {
		return nil, nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n", target)
	r := bufio.NewReaderSize(conn, 512)
	resp, err := http.ReadResponse(r, nil)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s", resp.Status)
	}
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	_ = conn.SetDeadline(time.Time{})
	return conn, r, nil
}

func newCrowd(t *testing.T, a *attack, s *service, n int) *crowd {
	t.Helper()
	c := &crowd{t: t, a: a, s: s, n: n, moved: make(chan struct{}, 1)}
	var reading sync.WaitGroup
	for i := range n {
		conn, r, err := visit(s.at, a.honest())
		if err != nil {
			t.Fatal(err)
		}
		one := &client{crowd: c, conn: conn}
		c.clients = append(c.clients, one)
		reading.Go(func() { one.read(r, i == 0) })
	}
	t.Cleanup(func() {
		c.over.Store(true)
		for _, one := range c.clients {
			one.conn.Close()
		}
		reading.Wait()
	})
	return c
}

// event reads an event of honest clients, or reports false.
func event(line []byte) (seq int, stamp int64, ok bool) {
	text, ok := bytes.CutPrefix(line, []byte("data: "))
	if !ok {
		return 0, 0, false
	}
	_, err := fmt.Sscan(string(text), &seq, &stamp)
	return seq, stamp, err == nil
}

// read reads to the end. One client notes the IDs, for those who resume.
func (c *client) read(r *bufio.Reader, notes bool) {
	id := ""
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			if !c.crowd.over.Load() {
				c.crowd.ended.Add(1)
				c.crowd.move()
			}
			return
		}
		if notes && bytes.HasPrefix(line, []byte("id: ")) {
			id = strings.TrimSpace(string(line[4:]))
		}
		seq, stamp, ok := event(line)
		if !ok {
			continue
		}
		c.delays = append(c.delays, time.Now().UnixNano()-stamp)
		if seq != c.last+1 {
			c.crowd.lost.Add(int64(max(seq-c.last-1, 1)))
		}
		if c.last = seq; notes {
			c.crowd.mu.Lock()
			c.crowd.ids = append(c.crowd.ids, id)
			c.crowd.mu.Unlock()
		}
		if c.crowd.received.Add(1)%int64(c.crowd.n) == 0 {
			c.crowd.move()
		}
	}
}

func (c *crowd) move() {
	select {
	case c.moved <- struct{}{}:
	default:
	}
}

// publish has events published, in calm or until an attack is over. All clients must have one before the next is
// published, except with -full, which measures.
func (c *crowd) publish(f *figures, attacker *attacker) {
	c.t.Helper()
	switch {
	case *full && f != nil:
		c.measure(f, attacker)
	case attacker == nil:
		c.step(3)
	default:
		for done := false; !done; {
			c.step(5)
			c.resume()
			select {
			case <-attacker.over:
				done = true
			default:
			}
		}
		c.step(c.a.steps)
		c.resume()
	}
	c.wait()
}

func (c *crowd) step(n int) {
	c.t.Helper()
	for range n {
		c.s.publish()
		c.wait()
	}
}

// measure publishes at a rate for a while.
func (c *crowd) measure(f *figures, attacker *attacker) {
	c.t.Helper()
	tick := time.NewTicker(every)
	defer tick.Stop()
	var resuming sync.WaitGroup
	for i := range int(phase / every) {
		<-tick.C
		c.s.publish()
		f.look()
		if attacker != nil && i%10 == 5 {
			resuming.Go(c.resume)
		}
	}
	resuming.Wait()
}

// wait waits until all clients have what was published.
func (c *crowd) wait() {
	c.t.Helper()
	give := time.NewTimer(patience)
	defer give.Stop()
	for int(c.received.Load()) < c.s.published*c.n {
		if c.ended.Load() > 0 || c.lost.Load() > 0 {
			c.t.Fatalf("%d honest clients were ended, and %d events lost: %+v", c.ended.Load(), c.lost.Load(), c.s.state())
		}
		select {
		case <-c.moved:
		case <-give.C:
			c.t.Fatalf("waited too long: %d of %d events have come", c.received.Load(), c.s.published*c.n)
		}
	}
}

// resume has a client come back that has missed some events, and wants them to come.
func (c *crowd) resume() {
	const missed = 4
	c.mu.Lock()
	n := len(c.ids)
	if n <= missed {
		c.mu.Unlock()
		return
	}
	from, next := c.ids[n-missed-1], n-missed+1
	c.mu.Unlock()
	began := time.Now()
	conn, r, err := visit(c.s.at, c.a.honest()+"&last_event_id="+from+"&lastEventID="+from)
	if err != nil {
		c.t.Errorf("resume: %v", err)
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	for next <= n {
		line, err := r.ReadSlice('\n')
		if err != nil {
			c.t.Errorf("resume after %s: %v", from, err)
			return
		}
		seq, _, ok := event(line)
		switch {
		case bytes.HasPrefix(line, []byte("event: hub:")):
			c.t.Errorf("resume after %s: got %s", from, line)
			return
		case ok && seq != next:
			c.t.Errorf("resume after %s: got %d, want %d", from, seq, next)
			return
		case ok:
			next++
		}
	}
	for took := int64(time.Since(began)); ; {
		if old := c.slowest.Load(); took <= old || c.slowest.CompareAndSwap(old, took) {
			return
		}
	}
}

// check returns how many clients were ended, and how many events they have not got.
func (c *crowd) check() (ended, lost int64) {
	c.t.Helper()
	ended, lost = c.ended.Load(), c.lost.Load()
	if ended > 0 || lost > 0 {
		c.t.Errorf("%d honest clients were ended, and %d events lost", ended, lost)
	}
	return ended, lost
}

// delays returns those in calm and under the attack. Nothing is being published.
func (c *crowd) delays(f *figures) (calm, attacked spread) {
	var before, under []int64
	for _, one := range c.clients {
		n := min(f.calmUntil, len(one.delays))
		before = append(before, one.delays[:n]...)
		under = append(under, one.delays[n:]...)
	}
	return newSpread(before), newSpread(under)
}
