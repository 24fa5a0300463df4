package redline_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// A wrapping is a listener of somebody's own, whose connections are too.
type wrapping struct {
	*net.TCPListener
	asked, accepted atomic.Int64
	fail            chan error // what Accept returns next
}

func (l *wrapping) Accept() (net.Conn, error) {
	select {
	case err := <-l.fail:
		return nil, err
	default:
	}
	l.asked.Add(1)
	c, err := l.TCPListener.Accept()
	if err != nil {
		return nil, err
	}
	l.accepted.Add(1)
	return &struct{ *net.TCPConn }{c.(*net.TCPConn)}, nil
}

// A temporary error is one after which Accept can be called again.
type temporary struct{ error }

func (temporary) Temporary() bool { return true }

// An inMemory is a listener without sockets.
type inMemory struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newInMemory() *inMemory { return &inMemory{conns: make(chan net.Conn), done: make(chan struct{})} }

func (m *inMemory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.done:
		return nil, errors.New("memory is closed") // an error that nobody knows
	}
}

func (m *inMemory) Close() error   { m.once.Do(func() { close(m.done) }); return nil }
func (m *inMemory) Addr() net.Addr { return &net.UnixAddr{Net: "memory", Name: "memory"} }

func (m *inMemory) dial() (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case m.conns <- there:
		return here, nil
	case <-time.After(patience):
		return nil, errors.New("nobody accepts")
	}
}

func loopback(t *testing.T) *net.TCPListener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*net.TCPListener)
}

// certificate returns what a TLS server and its client need.
func certificate(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	server = &tls.Config{Certificates: s.TLS.Certificates, NextProtos: []string{"http/1.1"}}
	return server, s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
}

// foreign are listeners whose Accept has to be called, and how their clients come.
func foreign(t *testing.T) map[string]struct {
	net.Listener
	dial func() (net.Conn, error)
} {
	type kind = struct {
		net.Listener
		dial func() (net.Conn, error)
	}
	dial := func(l net.Listener) func() (net.Conn, error) {
		return func() (net.Conn, error) { return net.DialTimeout("tcp", l.Addr().String(), patience) }
	}
	bare, own, secure, mem := loopback(t), &wrapping{TCPListener: loopback(t)}, loopback(t), newInMemory()
	server, client := certificate(t)
	return map[string]kind{
		"bare":    {struct{ net.Listener }{bare}, dial(bare)},
		"wrapped": {own, dial(own)},
		"memory":  {mem, mem.dial},
		"TLS": {tls.NewListener(secure, server), func() (net.Conn, error) {
			return tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", secure.Addr().String(), client)
		}},
	}
}

// foreignHandler is what is asked of foreign listeners.
func foreignHandler(t *testing.T, file string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/who", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "you ", r.RemoteAddr != "", " ", r.TLS != nil)
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(w, r.Body); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) })
	mux.HandleFunc("/abort", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/hijack", func(w http.ResponseWriter, _ *http.Request) {
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		line, err := rw.ReadString('\n')
		if err != nil {
			t.Error(err)
		}
		fmt.Fprint(c, "you said ", line)
	})
	return mux
}

// TestServeForeign serves listeners that are more than a socket, with connections
// that are, and wants of them what net/http does.
func TestServeForeign(t *testing.T) {
	noLeaks(t)
	big := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	file := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(file, big, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, transport := range []redline.Transport{redline.TransportAuto, redline.TransportStd} {
		for name, l := range foreign(t) {
			t.Run(string(transport)+"/"+name, func(t *testing.T) {
				r := prepare(t, &redline.Server{Transport: transport, Handler: foreignHandler(t, file)})
				r.run(func() error { return r.Serve(l) })
				dial := func() *client {
					t.Helper()
					began := time.Now()
					c, err := l.dial()
					if err != nil {
						t.Fatal(err)
					}
					return bounded(t, c, began)
				}
				askForeign(dial, fmt.Sprint("you true ", name == "TLS"), big)
				idle := dial()
				idle.want("/who", fmt.Sprint("you true ", name == "TLS"))
				if got := r.Stats().Transport; got != redline.TransportStd {
					t.Errorf("the transport is %q", got)
				}
				if err := r.shutdown(patience); err != nil {
					t.Error(err)
				}
				idle.wantGone()
				said := strings.Count(r.log.String(), "has its own Accept")
				if want := map[redline.Transport]int{redline.TransportAuto: 1}[transport]; said != want {
					t.Errorf("the choice is logged %d times, want %d: %s", said, want, r.log)
				}
				if w, ok := l.Listener.(*wrapping); ok && w.accepted.Load() != 4 {
					t.Errorf("%d connections are accepted by the listener's own Accept, want 4", w.accepted.Load())
				}
			})
		}
	}
}

// askForeign asks foreignHandler for everything, with three connections.
func askForeign(dial func() *client, who string, big []byte) {
	c := dial()
	c.want("/who", who)
	c.want("/file", string(big))
	go func() { // a pipe has no room of its own
		c.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", len(big), big)
	}()
	if status, body := c.answer(); status != 200 || body != string(big) {
		c.t.Errorf("echo: %d and %d bytes", status, len(body))
	}
	c.ask("/who", "/who")
	for range 2 {
		if _, body := c.answer(); body != who {
			c.t.Errorf("pipelined: %q", body)
		}
	}
	c.ask("/abort")
	if b, err := io.ReadAll(c.response().Body); err == nil {
		c.t.Errorf("an answer that breaks off ends well, with %q", b)
	}
	h := dial()
	h.send("GET /hijack HTTP/1.1\r\nHost: h\r\n\r\nhe")
	h.send("llo\n")
	if b, err := io.ReadAll(h.r); string(b) != "you said hello\n" || err != nil {
		c.t.Errorf("hijacked: %q, %v", b, err)
	}
	bad := dial()
	bad.send("BAD\r\n\r\n")
	if status, _ := bad.answer(); status != 400 {
		c.t.Errorf("malformed: %d", status)
	}
	bad.Close()
}

// TestServeForeignRefused asks for transports that accept by themselves.
func TestServeForeignRefused(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		for _, listensBefore := range []bool{false, true} {
			name := transport
			s := &redline.Server{Transport: name, Native: text("x")}
			if listensBefore {
				if _, err := s.Listen("127.0.0.1:0"); err != nil {
					t.Fatal(err)
				}
			}
			l := loopback(t)
			err := s.Serve(struct{ net.Listener }{l})
			if err == nil || !strings.Contains(err.Error(), "set Server.Transport to redline.TransportStd") {
				t.Errorf("it says %v", err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}, redline.TransportStd, overTLS)
}

// TestForeignAcceptEnds has Serve return what ends a listener's Accept, and go on
// after what passes.
func TestForeignAcceptEnds(t *testing.T) {
	noLeaks(t)
	l := &wrapping{TCPListener: loopback(t), fail: make(chan error, 2)}
	l.fail <- temporary{errors.New("in a moment")}
	r := prepare(t, &redline.Server{Native: text("x")})
	r.addr = l.Addr()
	go func() { r.served <- r.Serve(l) }()
	c := r.dial()
	c.want("/", "x")
	until(t, "the next Accept has begun", func() bool { return l.asked.Load() == 2 })
	broken := errors.New("broken")
	l.fail <- broken
	last := r.dial() // it ends the Accept that has begun
	if err := receive(t, r.served, "Serve returns"); !errors.Is(err, broken) {
		t.Errorf("Serve returns %v, want %v", err, broken)
	}
	c.want("/", "x") // who is here stays
	last.want("/", "x")
	if log := r.log.String(); !strings.Contains(log, "in a moment") {
		t.Errorf("a passing error is not told: %s", log)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	c.wantGone()

	closed := loopback(t)
	s := &redline.Server{Native: text("x"), Logger: slog.New(slog.DiscardHandler)}
	done := make(chan error, 1)
	go func() { done <- s.Serve(struct{ net.Listener }{closed}) }()
	closed.Close()
	if err := receive(t, done, "Serve returns"); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve returns %v after the listener is closed", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestFailedStart leaves no descriptor behind, and a server that can be tried again.
func TestFailedStart(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		taken, closed := loopback(t), loopback(t)
		closed.Close()
		had := openFiles()
		for range 5 {
			s := &redline.Server{Transport: transport, Loops: 2, Native: text("x"), Addr: "127.0.0.1:65536"}
			if err := s.ListenAndServe(); err == nil {
				t.Error("an address that is none is listened on")
			}
			if err := s.Serve(closed); !errors.Is(err, net.ErrClosed) {
				t.Errorf("a closed listener: %v", err)
			}
			if _, err := s.Listen(taken.Addr().String()); err == nil {
				t.Error("an address that is taken is listened on")
			}
			until(t, "the descriptors are closed", func() bool { return openFiles() <= had })
			addr, err := s.Listen("127.0.0.1:0")
			if err != nil {
				t.Fatalf("a good address after bad ones: %v", err)
			}
			if _, err := s.Listen(taken.Addr().String()); err == nil {
				t.Error("an address that is taken is listened on")
			}
			r := prepare(t, s)
			r.addr = addr
			go func() { r.served <- r.Run() }()
			c := r.dial()
			c.want("/", "x")
			c.Close()
			if err := r.shutdown(patience); err != nil {
				t.Error(err)
			}
			if err := receive(t, r.served, "Run returns"); !errors.Is(err, redline.ErrServerClosed) {
				t.Error(err)
			}
		}
	}, overTLS)
}

// TestPlacement refuses impossible loops and CPUs on every transport, with a message that says
// what to write.
func TestPlacement(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		for _, c := range []struct {
			s    *redline.Server
			says string
		}{
			{&redline.Server{Loops: -1}, "0 for one per usable CPU"},
			{&redline.Server{CPUs: []int{-1}}, "leave CPUs empty"},
			{&redline.Server{CPUs: []int{1 << 20}}, "leave CPUs empty"},
		} {
			c.s.Transport, c.s.Native = transport, text("x")
			if _, err := c.s.Listen("127.0.0.1:0"); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Loops %d, CPUs %v: %v", c.s.Loops, c.s.CPUs, err)
			}
			if err := c.s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
