package std

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// patience bounds every wait; nothing is expected to take it.
const patience = time.Minute

// A foreign listener has an Accept of its own.
type foreign struct {
	net.Listener
	wrap   func(net.Conn) net.Conn
	fail   chan error // has what Accept is to return
	closes atomic.Int32
}

func listenForeign(t *testing.T, wrap func(net.Conn) net.Conn) *foreign {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &foreign{Listener: l, wrap: wrap, fail: make(chan error, 1)}
}

func (l *foreign) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	select {
	case e := <-l.fail:
		if err == nil {
			nc.Close()
		}
		return nil, e
	default:
	}
	if err != nil {
		return nil, err
	}
	return l.wrap(nc), nil
}

func (l *foreign) Close() error {
	l.closes.Add(1)
	return l.Listener.Close()
}

// over is a connection that says what it stands on.
type over struct{ net.Conn }

func (o over) NetConn() net.Conn { return o.Conn }
func (o over) CloseWrite() error { return o.Conn.(interface{ CloseWrite() error }).CloseWrite() }

// echo is a session that sends back what it gets.
type echo struct{ closed chan error }

func (echo) Feed(in []byte, out *buf.Queue) (int, error) { return out.Write(in) }
func (echo) EOF([]byte, *buf.Queue) error                { return transport.ErrClosed }
func (echo) Expired(*buf.Queue) error                    { return transport.ErrClosed }
func (echo) Drained()                                    {}
func (echo) Lost(error)                                  {}
func (e echo) Closed(err error)                          { e.closed <- err }

// serve serves on a listener. What Serve returns is in served.
func serve(t *testing.T, l net.Listener, c transport.Config) (tr *Transport, served chan error) {
	t.Helper()
	tr, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Adopt(l, transport.ListenOptions{}); err != nil {
		t.Fatal(err)
	}
	served = make(chan error, 1)
	go func() { served <- tr.Serve() }()
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
	return tr, served
}

func echoes(closed chan error) transport.Config {
	return transport.Config{NewSession: func(transport.Conn) transport.Session { return echo{closed} }}
}

// receive waits for an error.
func await(t *testing.T, c <-chan error, what string) error {
	t.Helper()
	select {
	case err := <-c:
		return err
	case <-time.After(patience):
		b := make([]byte, 1<<18)
		t.Fatalf("waited in vain until %s\n%s", what, b[:runtime.Stack(b, true)])
		return nil
	}
}

// dial connects, and sends a text if there is one. All reads and writes are bounded.
func dial(t *testing.T, l net.Listener, text string) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", l.Addr().String(), patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	say(t, c, text)
	return c
}

// say writes a text.
func say(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// want reads a text.
func want(t *testing.T, c net.Conn, text string) {
	t.Helper()
	b := make([]byte, len(text))
	if n, err := io.ReadFull(c, b); err != nil || string(b) != text {
		t.Fatalf("client reads %q, %v, want %q", b[:n], err, text)
	}
}

// TestListenerClosedOnce ends a transport in all ways, and wants its listener to be
// closed once.
func TestListenerClosedOnce(t *testing.T) {
	broken := errors.New("broken")
	for name, end := range map[string]func(t *testing.T, tr *Transport, l *foreign, served chan error){
		"shutdown": func(t *testing.T, tr *Transport, l *foreign, served chan error) {
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(tr.StopAccepting)
			}
			wg.Wait()
			tr.Close()
			if err := await(t, served, "Serve returns"); err != transport.ErrStopped {
				t.Errorf("Serve returns %v, want ErrStopped", err)
			}
		},
		"close": func(t *testing.T, tr *Transport, l *foreign, served chan error) {
			tr.Close()
			await(t, served, "Serve returns")
			tr.StopAccepting()
		},
		"error": func(t *testing.T, tr *Transport, l *foreign, served chan error) {
			l.fail <- broken
			dial(t, l, "")
			if err := await(t, served, "Serve returns"); err != broken { // not wrapped
				t.Errorf("Serve returns %v, want what Accept has returned", err)
			}
			tr.StopAccepting()
			tr.Close()
		},
	} {
		l := listenForeign(t, func(nc net.Conn) net.Conn { return over{nc} })
		closed := make(chan error, 1)
		tr, served := serve(t, l, echoes(closed))
		c := dial(t, l, "hello")
		want(t, c, "hello")
		end(t, tr, l, served)
		if n := l.closes.Load(); n != 1 {
			t.Errorf("%s: the listener is closed %d times", name, n)
		}
	}
	// One that was never served.
	l := listenForeign(t, nil)
	tr, err := New(transport.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Adopt(l, transport.ListenOptions{}); err != nil {
		t.Fatal(err)
	}
	tr.StopAccepting()
	tr.Close()
	if err := tr.Serve(); err != transport.ErrStopped || l.closes.Load() != 1 {
		t.Errorf("Serve returns %v, the listener is closed %d times", err, l.closes.Load())
	}
}

// passing is an error that calls itself temporary.
type passing struct{ error }

func (passing) Temporary() bool { return true }

// TestAcceptGoesOn wants an error of Accept to be told, and accepting to go on, that
// calls itself temporary.
func TestAcceptGoesOn(t *testing.T) {
	l := listenForeign(t, func(nc net.Conn) net.Conn { return over{nc} })
	config := echoes(make(chan error, 1))
	told := make(chan error, 1)
	config.Log = func(_ string, err error) { told <- err }
	serve(t, l, config)
	busy := errors.New("busy")
	l.fail <- passing{busy}
	dial(t, l, "")
	if err := await(t, told, "it is told"); !errors.Is(err, passing{busy}) {
		t.Errorf("%v is reported", err)
	}
	c := dial(t, l, "hello")
	want(t, c, "hello")
}

// proxied is a connection that asks its peer for the address of whom it stands for.
type proxied struct {
	net.Conn
	r    *bufio.Reader
	once sync.Once
	from net.Addr
}

func (p *proxied) head() {
	p.once.Do(func() {
		name, _ := p.r.ReadString('\n') // an error comes again, to Read
		p.from = &net.UnixAddr{Name: name, Net: "proxy"}
	})
}
func (p *proxied) Read(b []byte) (int, error) { p.head(); return p.r.Read(b) }
func (p *proxied) RemoteAddr() net.Addr       { p.head(); return p.from }

// TestSlowAddress has sessions ask for an address that a client has to send first: who
// is silent holds up nobody else, nor the end, and is closed at the session's timeout.
func TestSlowAddress(t *testing.T) {
	for _, end := range []string{"timeout", "close", "late"} {
		l := listenForeign(t, func(nc net.Conn) net.Conn { return &proxied{Conn: nc, r: bufio.NewReader(nc)} })
		begun, closed := make(chan error, 2), make(chan error, 2)
		var sessions atomic.Int32
		tr, served := serve(t, l, transport.Config{MaxConns: 2, NewSession: func(c transport.Conn) transport.Session {
			switch first := sessions.Add(1) == 1; {
			case end == "timeout" && first:
				c.SetTimeout(500 * time.Millisecond)
			case end == "timeout":
				c.SetTimeout(patience)
			}
			begun <- nil
			if c.RemoteAddr().String() == "quick\n" {
				c.SetTimeout(0)
			}
			return echo{closed}
		}})
		silent := dial(t, l, "")
		await(t, begun, "the session of the silent client begins")
		quick := dial(t, l, "quick\nhello")
		want(t, quick, "hello")
		stopped := make(chan error, 1)
		go func() { tr.StopAccepting(); stopped <- nil }()
		await(t, stopped, "StopAccepting returns")
		if n := tr.Stats().Open; end == "close" && n != 2 {
			t.Errorf("%d connections are open, want 2", n)
		}
		switch end {
		case "timeout":
			if _, err := io.ReadAll(silent); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error(err)
			}
			if err := await(t, closed, "the session is closed"); err != transport.ErrDeadline {
				t.Errorf("Closed receives %v, want ErrDeadline", err)
			}
			say(t, quick, "again")
			want(t, quick, "again")
		case "close":
			if err := tr.Close(); err != nil {
				t.Error(err)
			}
			await(t, served, "Serve returns")
			for range 2 {
				await(t, closed, "the sessions are closed")
			}
		case "late":
			say(t, silent, "late\nhello")
			want(t, silent, "hello")
		}
	}
}

// stubborn is a connection that does not take a deadline, for some calls.
type stubborn struct {
	over
	calls atomic.Int32
	bad   int32 // call that fails
}

var errStubborn = errors.New("no deadline")

func (s *stubborn) SetReadDeadline(t time.Time) error {
	if s.calls.Add(1) == s.bad {
		if t.IsZero() {
			s.over.SetReadDeadline(t) // it says so only
		}
		return errStubborn
	}
	return s.over.SetReadDeadline(t)
}

// hijacks is a session that takes its connection over when it is told to.
type hijacks struct {
	echo
	c    transport.Conn
	done chan error
}

func (h *hijacks) Feed(in []byte, out *buf.Queue) (int, error) {
	if string(in) != "hijack" {
		return h.echo.Feed(in, out)
	}
	nc, err := h.c.Hijack(nil, out)
	if err == nil {
		nc.Close()
	} else {
		out.WriteString("refused")
	}
	h.done <- err
	return len(in), nil
}

// TestHijackFails has the preparations of Hijack fail at each point: the connection is
// served on, and Hijack works when they do.
func TestHijackFails(t *testing.T) {
	for bad := range int32(2) {
		l := listenForeign(t, func(nc net.Conn) net.Conn { return &stubborn{over: over{nc}, bad: bad + 1} })
		done, closed := make(chan error, 1), make(chan error, 1)
		tr, _ := serve(t, l, transport.Config{NewSession: func(c transport.Conn) transport.Session {
			return &hijacks{echo{closed}, c, done}
		}})
		c := dial(t, l, "hijack")
		if err := await(t, done, "Hijack returns"); err != errStubborn {
			t.Errorf("Hijack returns %v", err)
		}
		want(t, c, "refused")
		say(t, c, "hello")
		want(t, c, "hello")
		if n := tr.Stats().Open; n != 1 {
			t.Errorf("%d connections are open", n)
		}
		say(t, c, "hijack")
		if err := await(t, done, "Hijack returns"); err != nil {
			t.Error(err)
		}
		if b, err := io.ReadAll(c); err != nil || len(b) > 0 {
			t.Errorf("client reads %q, %v, want the end", b, err)
		}
		if n := tr.Stats().Open; n != 0 {
			t.Errorf("%d connections are open", n)
		}
	}
}
