package transporttest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

func lines(e *env) {
	e.start(hooks{feed: echo})
	for range 4 {
		c := e.dial()
		for i := range 20 {
			s := strings.Repeat(fmt.Sprintf("line %d\n", i), i+1)
			c.send(s)
			c.want(s)
		}
		c.halfClose()
		c.wantEnd()
	}
	e.until("bytes are counted", func() bool {
		s := e.transport.Stats()
		return s.Accepted == 4 && s.BytesIn == s.BytesOut && s.BytesIn > 0
	})
}

// text is lines of random lengths, n bytes or more in all.
func text(r *rand.Rand, n, longest int) string {
	var b strings.Builder
	for b.Len() < n {
		for range r.IntN(longest) {
			b.WriteByte(byte('a' + r.IntN(26)))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// partialInput sends lines in pieces of random sizes on many connections.
func partialInput(e *env) {
	e.start(hooks{feed: echo})
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := e.dial()
		s := text(r, 40<<10, 3<<10)
		go func() {
			for rest := s; rest != ""; {
				n := min(len(rest), 1+r.IntN(1<<r.IntN(13)))
				c.send(rest[:n])
				rest = rest[n:]
				if r.IntN(4) == 0 {
					time.Sleep(time.Duration(r.IntN(300)) * time.Microsecond)
				}
			}
		}()
		c.want(s)
	}
}

// longLine is more than any scratch holds, so that the rest must grow.
func longLine(e *env) {
	seen := 0 // without an end: looking again each time would take for ever
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		if bytes.IndexByte(in[seen:], '\n') < 0 {
			seen = len(in)
			return 0, nil
		}
		seen = 0
		return echo(s, in, out)
	}})
	c := e.dial()
	for _, n := range []int{100, 10 << 10, 70 << 10, 1 << 20, 3 << 20} {
		s := strings.Repeat("0123456789", n/10) + "\n"
		go c.send(s)
		c.want(s)
	}
}

// pauseResume wants a paused connection not to be fed, what comes to wait in the
// kernel, and nothing to be missing afterwards.
func pauseResume(e *env) {
	var fed atomic.Int64
	e.start(hooks{feed: func(s *session, in []byte, _ *buf.Queue) (int, error) {
		if fed.Add(int64(len(in))) == int64(len(in)) {
			s.Pause(true)
			fed.Add(int64(1 - len(in)))
			return 1, nil // the rest stays with the transport
		}
		return len(in), nil
	}})
	c := e.dial()
	// Send until the kernel's buffers are full: it must come to an end.
	chunk := bytes.Repeat([]byte("x"), 64<<10)
	sent := 0
	for {
		if err := c.SetWriteDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
			e.Fatal(err)
		}
		n, err := c.Write(chunk)
		sent += n
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil || sent > 64<<20 {
			e.Fatalf("client has written %d bytes, %v: nothing holds it back", sent, err)
		}
	}
	e.until("the first byte is fed", func() bool { return fed.Load() == 1 })
	time.Sleep(10 * time.Millisecond)
	if n := fed.Load(); n != 1 {
		e.Errorf("%d bytes are fed to a paused session", n-1)
	}
	if !e.session(0).Wake(func(*buf.Queue) error { e.session(0).Pause(false); return nil }) {
		e.Error("Wake reports false")
	}
	e.until("everything is fed", func() bool { return fed.Load() == int64(sent) })

	// What Feed has left comes again after Resume, without anything new.
	if !e.session(0).Wake(func(*buf.Queue) error { e.session(0).Pause(true); e.session(0).Pause(false); return nil }) {
		e.Error("Wake reports false")
	}
}

// readInFeed has Feed read what follows, which comes late.
func readInFeed(e *env) {
	const size = 300 << 10
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		_, n, ok := line(in)
		if !ok {
			return 0, nil
		}
		sum, got := 0, len(in)-n
		for _, b := range in[n:] {
			sum += int(b)
		}
		p := make([]byte, 5000)
		for got < size {
			k, err := s.Read(p[:min(len(p), size-got)], nil)
			if err != nil {
				return 0, err
			}
			for _, b := range p[:k] {
				sum += int(b)
			}
			got += k
		}
		fmt.Fprintf(out, "%d\n", sum)
		return len(in), nil
	}})
	for range 2 {
		c := e.dial()
		for round := range 3 {
			body := bytes.Repeat([]byte{byte(round + 1), 2, 3}, size/3)
			c.send("upload\n")
			for rest := body; len(rest) > 0; {
				n := min(len(rest), 70<<10)
				c.send(string(rest[:n]))
				rest = rest[n:]
				time.Sleep(time.Millisecond)
			}
			c.want(fmt.Sprintf("%d\n", size/3*(round+1+5)))
		}
	}
	// A read that finds the end says so.
	c := e.dial()
	c.send("upload\nhalf")
	s := e.session(2)
	c.halfClose()
	c.wantEnd()
	e.wait(s.gone, "the session is closed")
}

// unread has Feed read more than it wants, and give it back.
func unread(e *env) {
	var taking atomic.Int64
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		l, n, ok := line(in)
		if !ok {
			return 0, nil
		}
		if l != "take" || n < len(in) {
			return echo(s, in, out)
		}
		taking.Add(1)
		p := make([]byte, 100)
		k, err := s.Read(p, nil)
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(out, "took %c\n", p[0])
		s.Unread(p[1:k])
		return len(in), nil
	}})
	c := e.dial()
	// What follows must not come with the same read.
	taken := func(n int) { e.until("the first line is fed", func() bool { return taking.Load() == int64(n) }) }
	for i := range 3 {
		c.send("take\n")
		taken(i + 1)
		c.send("1one\ntwo\npart")
		c.want("took 1\none\n")
		// Feed is called again for the bytes that it has been given but not
		// consumed only when more come.
		c.send("ial\n")
		c.want("two\npartial\n")
	}
	// What is given back comes before the end.
	for i := range 10 {
		c := e.dial()
		c.send("take\n")
		taken(i + 4)
		c.send("2last\n")
		c.halfClose()
		c.want("took 2\nlast\n")
		c.wantEnd()
	}
}

// halfClose answers after the client has ended.
func halfClose(e *env) {
	e.start(hooks{
		feed: func(_ *session, in []byte, _ *buf.Queue) (int, error) { return len(in), nil },
		eof: func(s *session, _ []byte, out *buf.Queue) error {
			fmt.Fprint(out, "first ")
			go func() {
				time.Sleep(20 * time.Millisecond)
				s.Wake(func(out *buf.Queue) error {
					fmt.Fprint(out, "second")
					return transport.ErrClosed
				})
			}()
			return nil
		},
	})
	c := e.dial()
	c.send("hello")
	c.halfClose()
	c.want("first second")
	c.wantEnd()
	s := e.session(0)
	e.wait(s.gone, "the session is closed")
	if s.why != nil {
		e.Errorf("Closed receives %v, want nil", s.why)
	}
}

// halfCloseUnread wants EOF to come with what Feed has not consumed.
func halfCloseUnread(e *env) {
	got := make(chan string, 1)
	e.start(hooks{
		feed: echo,
		eof: func(_ *session, unread []byte, _ *buf.Queue) error {
			got <- string(unread)
			return transport.ErrClosed
		},
	})
	c := e.dial()
	c.send("whole\npart")
	c.want("whole\n")
	c.halfClose()
	if _, err := io.ReadAll(c.r); err != nil {
		e.Error(err)
	}
	if s := <-got; s != "part" {
		e.Errorf("EOF is told %q, want part", s)
	}
}

// late is what arrives while a stopper has not said yet what it does with it.
const late = "2one\n3two\npart"

// stopper is an echo that stops reading as the first line says, when what follows
// was sent.
func stopper(sent <-chan struct{}, taken chan<- net.Conn) func(*session, []byte, *buf.Queue) (int, error) {
	return func(s *session, in []byte, out *buf.Queue) (int, error) {
		if in[0] != '1' {
			return echo(s, in, out)
		}
		how := string(in[1:])
		fmt.Fprint(out, "stop ")
		if err := s.Flush(out, 0, nil); err != nil {
			return 0, err
		}
		<-sent
		time.Sleep(time.Millisecond) // the kernel is entered, and has something to deliver
		switch how {
		case "pause":
			s.Pause(true)
		case "detach":
			s.Detach()
		case "read", "unread":
			p := make([]byte, len(late))
			for n := 0; n < len(p); {
				k, err := s.Read(p[n:], nil)
				if err != nil {
					return 0, err
				}
				n += k
			}
			n := 0
			if how == "read" {
				n, _ = echo(s, p, out)
			}
			s.Unread(p[n:])
		case "hijack":
			return hijacker(taken)(s, []byte("\n"), out)
		case "output":
			out.Ref(pattern(duplexSize))
		case "close":
			fmt.Fprint(out, "bye")
			return len(in), transport.ErrClosed
		}
		return len(in), nil
	}
}

// arrivedAlready has a session stop reading, in all ways, while bytes are there that
// the transport may have been given before it knew: they come when they are wanted,
// without anything new, and in order.
func arrivedAlready(e *env) {
	e.config.Takeover = time.Hour // Feed keeps the loop unless it says otherwise
	sent, taken := make(chan struct{}, 1), make(chan net.Conn, 1)
	e.start(hooks{feed: stopper(sent, taken)})
	for round := range 3 {
		for _, how := range []string{"return", "pause", "detach", "read", "unread", "hijack", "output", "close"} {
			c := e.dial()
			s := e.session(len(e.clients) - 1)
			c.send("1" + how)
			c.want("stop ")
			c.send(late)
			if round == 2 {
				c.halfClose()
			}
			sent <- struct{}{}
			switch how {
			case "pause":
				s.Wake(func(*buf.Queue) error { s.Pause(false); return nil })
			case "output":
				c.want(string(pattern(duplexSize)))
			case "close":
				c.want("bye")
				c.wantEnd()
				continue
			case "hijack":
				c.want("switching\n")
				nc := e.hijacked(taken)
				b := make([]byte, len(late))
				if _, err := io.ReadFull(nc, b); err != nil || string(b) != late {
					e.Errorf("the hijacked connection reads %q, %v", b, err)
				}
				nc.Close()
				c.wantEnd()
				continue
			}
			c.want("2one\n3two\n")
			if round < 2 {
				c.send("ial\n")
				c.want("partial\n")
				c.halfClose()
			}
			c.wantEnd()
		}
	}
}
