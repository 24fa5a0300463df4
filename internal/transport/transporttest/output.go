package transporttest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// pattern is n bytes that differ by place.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8 + i>>16)
	}
	return b
}

// sized is a session that answers each line, a number, with so many bytes of the
// pattern.
func sized(most int) func(*session, []byte, *buf.Queue) (int, error) {
	p := pattern(most)
	return func(_ *session, in []byte, out *buf.Queue) (n int, err error) {
		for {
			l, k, ok := line(in[n:])
			if !ok {
				return n, nil
			}
			n += k
			size, err := strconv.Atoi(l)
			if err != nil {
				return n, err
			}
			out.Ref(p[:min(size, most)])
		}
	}
}

// outputKinds sends everything that a queue can hold, mixed.
func outputKinds(e *env) {
	const size = 200 << 10
	p := pattern(size)
	name := filepath.Join(e.TempDir(), "file")
	if err := os.WriteFile(name, p, 0o600); err != nil {
		e.Fatal(err)
	}
	var done atomic.Int32
	e.start(hooks{feed: func(_ *session, in []byte, out *buf.Queue) (int, error) {
		f, err := os.Open(name)
		if err != nil {
			return 0, err
		}
		out.Commit(append(out.Tail(100), "head "...))
		out.File(f, 10, size-10, nil)
		fmt.Fprint(out, " copied ")
		out.Ref(p)
		fmt.Fprint(out, " again ")
		out.File(f, 0, 100, func() { f.Close(); done.Add(1) })
		return len(in), nil
	}})
	for range 3 {
		c := e.dial()
		for range 3 {
			c.send("x")
			c.want("head " + string(p[10:]) + " copied " + string(p) + " again " + string(p[:100]))
		}
	}
	e.until("files are done with", func() bool { return done.Load() == 9 })

	// A client that leaves in the middle leaves no file open.
	c := e.dial()
	c.send("x")
	c.want("head ")
	c.reset()
	e.until("files are done with", func() bool { return done.Load() == 10 })
}

// slowReader reads a large answer slowly.
func slowReader(e *env) {
	const size = 8 << 20
	e.start(hooks{feed: sized(size)})
	p := pattern(size)
	var wg sync.WaitGroup
	for range 4 {
		c := e.dial()
		wg.Go(func() {
			c.send(fmt.Sprintf("%d\n10\n", size))
			b := make([]byte, 100<<10)
			for got := 0; got < size; {
				n, err := c.Read(b[:min(len(b), size-got)])
				if err != nil || !bytes.Equal(b[:n], p[got:got+n]) {
					e.Errorf("client reads wrong bytes at %d, or %v", got, err)
					return
				}
				if got += n; got%(1<<20) < n {
					time.Sleep(time.Millisecond)
				}
			}
			c.want(string(p[:10]))
		})
	}
	wg.Wait()
}

// small gives the client's socket a small buffer, so that the server's is full
// soon, again and again. With less than 4 KiB the window may stay below a segment:
// then Linux sends 1 KiB every 200 ms, by the timer of RFC 9293 section 3.8.6.1.
func small(_, _ string, rc syscall.RawConn) error {
	var err error
	if e := rc.Control(func(fd uintptr) { err = setReceiveBuffer(fd, 8<<10) }); e != nil {
		return e
	}
	return err
}

// tinyBuffers pipelines answers to clients with tiny buffers.
func tinyBuffers(e *env) {
	const size, rounds = 30000, 40
	e.start(hooks{feed: sized(size)})
	p := string(pattern(size))
	var wg sync.WaitGroup
	for i := range 8 {
		c := e.dialWith(&net.Dialer{Control: small})
		wg.Go(func() {
			go c.send(strings.Repeat(strconv.Itoa(size-i)+"\n", rounds))
			for range rounds {
				c.want(p[:size-i])
			}
		})
	}
	wg.Wait()
}

// flush streams with Flush within Feed: what is flushed arrives before Feed
// returns, and what waits is bounded.
func flush(e *env) {
	const parts, size = 50, 100 << 10
	p := pattern(size)
	release := make(chan struct{})
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		fmt.Fprint(out, "begin ")
		if err := s.Flush(out, 0, nil); err != nil {
			return 0, err
		}
		if out.Len() != 0 || s.Pending() != 0 {
			e.Errorf("Flush to 0 leaves %d and %d bytes", out.Len(), s.Pending())
		}
		s.Detach()
		<-release
		for range parts {
			out.Ref(p)
			if err := s.Flush(out, size, nil); err != nil {
				return 0, err
			}
			if out.Len() != 0 || s.Pending() > size {
				e.Errorf("Flush leaves %d and %d bytes", out.Len(), s.Pending())
			}
		}
		fmt.Fprint(out, " end")
		return len(in), nil
	}})
	slow := e.dialWith(&net.Dialer{Control: small})
	quick := e.dial()
	slow.send("x")
	quick.send("x")
	slow.want("begin ")
	quick.want("begin ")
	close(release)
	var wg sync.WaitGroup
	for _, c := range []*client{slow, quick} {
		wg.Go(func() {
			for range parts {
				c.want(string(p))
			}
			c.want(" end")
		})
	}
	wg.Wait()
}

// defaultHigh is Config.HighWater where it is not set.
const defaultHigh = 64 << 10

// neverReads wants the memory for a client to be bounded that sends requests and
// reads no answers.
func neverReads(e *env) {
	const size = 10000
	answer := pattern(size)
	var most, fed atomic.Int64
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		if n := s.Pending(); n > defaultHigh {
			e.Errorf("the session is fed while %d bytes are pending", n)
		}
		fed.Add(int64(len(in)))
		for range bytes.Count(in, []byte("\n")) {
			if s.Pending()+out.Len() > 1<<20 {
				break
			}
			out.Ref(answer)
		}
		if n := int64(s.Pending()); n > most.Load() {
			most.Store(n)
		}
		return len(in), nil
	}})
	c := e.dial()
	requests := bytes.Repeat([]byte("\n"), 4<<10)
	sent := 0
	for sent < 64<<20 {
		if err := c.SetWriteDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
			e.Fatal(err)
		}
		n, err := c.Write(requests)
		sent += n
		if err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				e.Error(err)
			}
			break
		}
	}
	if sent >= 64<<20 {
		e.Error("a client that reads nothing is not held back")
	}
	if n := most.Load(); n > 2<<20 {
		e.Errorf("%d bytes waited for a client that reads nothing", n)
	}
	// It is not forgotten: when it reads, it is served to the end.
	go func() {
		if _, err := io.Copy(io.Discard, c.Conn); err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, syscall.ECONNRESET) {
			e.Error(err)
		}
	}()
	e.until("everything is fed", func() bool { return fed.Load() == int64(sent) })
	e.until("everything is sent", func() bool {
		left := make(chan int, 1)
		s := e.session(0)
		return s.Wake(func(*buf.Queue) error { left <- s.Pending(); return nil }) && <-left == 0
	})
}

// lingers wants an answer with an error to arrive although the client is still
// sending.
func lingers(e *env) {
	refused := errors.New("refused")
	e.start(hooks{feed: func(_ *session, in []byte, out *buf.Queue) (int, error) {
		fmt.Fprint(out, "too large")
		return min(10, len(in)), refused
	}})
	const patient = 4 * time.Second // transports go on reading for five
	rounds := 0
	for good := 0; good < 10; rounds++ {
		c, began := e.dial(), time.Now()
		if c.refused() {
			good++
		} else if time.Since(began) < patient {
			e.Fatal("the answer is lost, or cut off")
		}
	}
	for i := range rounds {
		s := e.session(i)
		e.wait(s.gone, "the session is closed")
		if s.why != nil && rounds == 10 {
			e.Errorf("Closed receives %v, want nil", s.why)
		}
		if s.Wake(func(*buf.Queue) error { return transport.ErrClosed }) {
			e.Error("Wake reports true after Closed")
		}
	}
}

// refused sends a lot, and reports whether it reads a refusal and the end.
func (c *client) refused() bool {
	if _, err := io.WriteString(c.Conn, strings.Repeat("0123456789", 20<<10)); err != nil {
		return false
	}
	const answer = "too large"
	b := make([]byte, len(answer))
	if _, err := io.ReadFull(c.r, b); err != nil || string(b) != answer {
		return false
	}
	if err := c.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		return false
	}
	rest, err := io.ReadAll(c.r)
	return err == nil && len(rest) == 0
}

// Drained implements [transport.Session].
func (s *session) Drained() {
	defer s.enter("Drained")()
	if n := s.Pending(); n > 0 {
		s.e.Errorf("Drained is called with %d bytes pending", n)
	}
	if s.hooks.drained != nil {
		s.hooks.drained(s)
	}
}

// drained is told when everything has been sent: what Wake's functions leave,
// and what a client takes late.
func drained(e *env) {
	told := make(chan struct{}, 100)
	e.start(hooks{
		feed:    sized(4 << 20),
		drained: func(*session) { told <- struct{}{} },
	})
	tell := func(what string) {
		e.Helper()
		select {
		case <-told:
		case <-time.After(patience):
			e.Fatalf("Drained is not called %s", what)
		}
	}
	c := e.dial()
	s := e.session(0)
	for range 3 {
		s.Wake(func(out *buf.Queue) error {
			fmt.Fprint(out, "small")
			return nil
		})
		c.want("small")
		tell("when what Wake's function has left is sent")
	}
	for range 3 {
		s.Wake(func(out *buf.Queue) error {
			out.Ref(pattern(4 << 20))
			return nil
		})
		c.want(string(pattern(4 << 20)))
		tell("when the client has taken it late")
	}
}

// drainedBusy tells a session of the end of its output that comes while a call of it runs.
func drainedBusy(e *env) {
	told, running, release := make(chan struct{}, 8), make(chan struct{}), make(chan struct{})
	e.start(hooks{
		feed: func(_ *session, in []byte, out *buf.Queue) (int, error) {
			out.Ref(pattern(duplexSize))
			return len(in), nil
		},
		drained: func(*session) { told <- struct{}{} },
	})
	c := e.dialWith(&net.Dialer{Control: small})
	c.send("x")
	s := e.session(0)
	e.full(s)
	s.Wake(func(*buf.Queue) error {
		s.Detach()
		close(running)
		<-release
		return nil
	})
	e.wait(running, "the call runs")
	c.want(string(pattern(duplexSize)))
	close(release)
	e.wait(told, "Drained is called")
}

// full waits until a session has output that the socket does not accept. A client that reads
// from the beginning may take any amount at once.
func (e *env) full(s *session) {
	e.Helper()
	e.until("more is to be sent than the socket takes", func() bool {
		pending := make(chan int, 1)
		return s.Wake(func(*buf.Queue) error { pending <- s.Pending(); return nil }) && <-pending > 0
	})
}
