package redline_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// mountedIn is a native handler that has an http.Handler between what comes before and
// after it.
func mountedIn(before, after redline.HandlerFunc, h http.HandlerFunc) redline.HandlerFunc {
	inner := redline.HTTP(h)
	return func(c *redline.Ctx) {
		if before != nil {
			before(c)
		}
		inner(c)
		if after != nil {
			after(c)
		}
	}
}

// refusedByMount is a request that only net/http's part of the server refuses.
const refusedByMount = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n"

// TestMountedRefuses goes on behind an http.Handler that was not called, as its
// request announces a trailer that would frame it: reading content that comes later, and
// writing more than the client takes at once.
func TestMountedRefuses(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := serve(t, &redline.Server{Transport: transport, Native: mountedIn(nil, func(c *redline.Ctx) {
			_, err := io.Copy(io.Discard, c.Body())
			noError(t, err)
			for range 64 {
				if _, err := c.Write(make([]byte, 64<<10)); err != nil {
					t.Error(err)
				}
			}
		}, func(http.ResponseWriter, *http.Request) { t.Error("called") })})
		c := r.dial()
		c.send(refusedByMount)
		time.Sleep(10 * time.Millisecond) // most likely somebody waits for the rest by now
		c.send("5\r\nhello\r\n0\r\n\r\n")
		resp := c.response()
		// The parser may have refused it before.
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 400 || !resp.Close {
			t.Errorf("status %d, close %v, %v, want 400 and the end", resp.StatusCode, resp.Close, err)
		}
		c.wantGone()
	})
}

// A breaking writer panics when something is logged.
type breaking struct{}

func (breaking) Write([]byte) (int, error) { panic("in the log") }

// TestMountedLogPanics has the log of a handler's panic panic itself: who called the
// http.Handler, and recovers, goes on all the same.
func TestMountedLogPanics(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		told := make(chan any, 1)
		inner := redline.HTTP(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("at the disco") }))
		r := serve(t, &redline.Server{
			Transport: transport, ErrorLog: log.New(breaking{}, "", 0),
			Native: func(c *redline.Ctx) {
				if c.Method() == "GET" {
					c.Text(200, "alive")
					return
				}
				func() {
					defer func() { told <- recover() }()
					inner(c)
				}()
				_, err := io.Copy(io.Discard, c.Body())
				noError(t, err)
			},
		})
		c := r.dial()
		c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n")
		if p := receive(t, told, "the panic is seen"); p != "in the log" {
			t.Errorf("panic %v", p)
		}
		c.send("hello")
		c.wantGone() // the handler's own panic cuts
		r.dial().want("/", "alive")
	})
}

// TestMountedInforms has an http.Handler send early hints below native code that has
// set fields: they are in both answers, and the hints in theirs alone.
func TestMountedInforms(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		before := func(c *redline.Ctx) {
			noError(t, c.SetHeader("X-Frame-Options", "DENY"))
			noError(t, c.AddHeader("Link", "</outer.css>"))
		}
		r := serve(t, &redline.Server{Transport: transport, Native: mountedIn(before, nil, func(w http.ResponseWriter, _ *http.Request) {
			for _, link := range []string{"</a.css>", "</b.css>"} {
				w.Header().Set("Link", link)
				w.WriteHeader(http.StatusEarlyHints)
			}
			w.Header().Del("Link")
			w.Header().Set("A", "b")
			io.WriteString(w, "x")
		})})
		c := r.dial()
		c.ask("/")
		for _, want := range []string{"103 </outer.css>,</a.css> ", "103 </outer.css>,</b.css> ", "200 </outer.css> b"} {
			resp := c.response()
			_, err := io.Copy(io.Discard, resp.Body)
			noError(t, err)
			got := resp.Status[:4] + strings.Join(resp.Header["Link"], ",") + " " + resp.Header.Get("A")
			if got != want || resp.Header.Get("X-Frame-Options") != "DENY" {
				t.Errorf("%q, %v, want %q", got, resp.Header, want)
			}
		}
	})
}

// TestMountedDeadlines sets deadlines while another goroutine is in Write, and the
// client takes nothing: one for reading, which changes nothing, and one that ends the
// Write. Nothing else would.
func TestMountedDeadlines(t *testing.T) {
	for name, head := range map[string]string{
		"no content": getHead + "\r\n",
		"content":    "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, transport redline.Transport) {
				ended := make(chan error, 1)
				r := serve(t, &redline.Server{
					Transport: transport, StallTimeout: -1,
					Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						written := make(chan error)
						go func() { written <- writeForEver(w) }()
						control := http.NewResponseController(w)
						time.Sleep(short) // most likely it waits by now
						noError(t, control.SetReadDeadline(time.Now().Add(time.Hour)))
						noError(t, control.SetWriteDeadline(time.Now()))
						ended <- <-written
					}),
				})
				c := r.dial()
				c.send("%s", head)
				if err := receive(t, ended, "Write ends"); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("Write ends with %v", err)
				}
			})
		})
	}
}

// writeForEver writes until that fails.
func writeForEver(w io.Writer) (err error) {
	for err == nil {
		_, err = w.Write(make([]byte, 64<<10))
	}
	return err
}

// TestMountedPanicWhileWriting has a handler panic while another goroutine of its
// writes, and the client takes nothing: nobody waits for that.
func TestMountedPanicWhileWriting(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		ended := make(chan error, 1)
		r := serve(t, &redline.Server{
			Transport: transport, StallTimeout: -1, ErrorLog: log.New(io.Discard, "", 0),
			Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				go func() { ended <- writeForEver(w) }()
				time.Sleep(short) // most likely it waits by now
				panic("at the disco")
			}),
		})
		c := r.dial()
		c.ask("/")
		if err := receive(t, ended, "Write ends"); err == nil {
			t.Error("Write still works after a panic")
		}
		until(t, "the connection is gone", func() bool { return r.Stats().Open == 0 })
	})
}

// TestMountedChunks writes in small pieces behind a Flush: they share chunks.
func TestMountedChunks(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := serve(t, &redline.Server{Transport: transport, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			flush := w.(http.Flusher).Flush
			flush()
			for range 3 {
				io.WriteString(w, "x")
			}
			flush()
			for range 5000 {
				w.Write([]byte("y"))
			}
		})})
		c := r.dial()
		c.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
		b, err := io.ReadAll(c.r)
		_, body, _ := strings.Cut(string(b), "\r\n\r\n")
		want := "3\r\nxxx\r\n1000\r\n" + strings.Repeat("y", 4096) + "\r\n388\r\n" + strings.Repeat("y", 904) + "\r\n0\r\n\r\n"
		if body != want || err != nil {
			t.Errorf("body %.100q of %d bytes, %v, want %.100q of %d", body, len(body), err, want, len(want))
		}
	})
}

// TestStringsAreNotCopied sends a large string as it is.
func TestStringsAreNotCopied(t *testing.T) {
	const times = 8
	large := strings.Repeat("x", 4<<20)
	write := func(w io.Writer) {
		for range times {
			n, err := io.WriteString(w, large)
			if n != len(large) || err != nil {
				t.Errorf("%d, %v", n, err)
			}
		}
	}
	onEach(t, func(t *testing.T, transport redline.Transport) {
		for name, s := range map[string]*redline.Server{
			"mounted": {Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { write(w) })},
			"native":  {Native: func(c *redline.Ctx) { write(c) }},
		} {
			s.Transport = transport
			c := serve(t, s).dial()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			c.ask("/")
			n, err := io.CopyBuffer(onlyWriter{io.Discard}, onlyReader{c.response().Body}, make([]byte, 64<<10))
			runtime.ReadMemStats(&after)
			if n != int64(times*len(large)) || err != nil {
				t.Errorf("%s: %d bytes, %v", name, n, err)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > uint64(n)/2 {
				t.Errorf("%s: %d bytes are allocated to write %d", name, got, n)
			}
		}
	})
}

// onlyReader and onlyWriter hide what else there is.
type onlyReader struct{ io.Reader }

type onlyWriter struct{ io.Writer }

// TestRemoteAddrIsLazy has a client behind a proxy that sends nothing, although its
// listener reads the address first: others are served meanwhile, with any hooks set.
func TestRemoteAddrIsLazy(t *testing.T) {
	noLeaks(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var states atomic.Int64
	r := prepare(t, &redline.Server{
		Handler:   http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RemoteAddr) }),
		ConnState: func(net.Conn, http.ConnState) { states.Add(1) },
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return ctx
		},
	})
	r.addr = l.Addr()
	r.run(func() error { return r.Serve(proxied{l}) })
	r.dial() // and says nothing
	until(t, "it is accepted", func() bool { return states.Load() > 0 })
	c := r.dial()
	c.send("192.0.2.1:5\n")
	c.want("/", "192.0.2.1:5")
	c.want("/", "192.0.2.1:5")
}

// proxied is a listener whose connections begin with a line that says who the client
// is.
type proxied struct{ net.Listener }

func (l proxied) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &proxiedConn{Conn: c, r: bufio.NewReader(c)}, nil
}

type proxiedConn struct {
	net.Conn
	r    *bufio.Reader
	once sync.Once
	addr net.Addr
}

func (c *proxiedConn) Read(p []byte) (int, error) {
	c.RemoteAddr()
	return c.r.Read(p)
}

func (c *proxiedConn) RemoteAddr() net.Addr {
	c.once.Do(func() {
		line, _ := c.r.ReadString('\n') // a connection that is closed has no address
		c.addr = named(strings.TrimSpace(line))
	})
	return c.addr
}

type named string

func (n named) Network() string { return "tcp" }
func (n named) String() string  { return string(n) }

// TestHookOfHTTPTest has the hook of httptest.Server count connections: it panics at
// states that net/http does not tell, and closes those that are in use.
func TestHookOfHTTPTest(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		tester := httptest.NewServer(http.NotFoundHandler())
		defer tester.Close()
		begun, ended := make(chan struct{}), make(chan error, 1)
		r := serve(t, &redline.Server{
			Transport: transport, ConnState: tester.Config.ConnState,
			Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/wait" {
					done := r.Context().Done()
					close(begun)
					<-done
					ended <- r.Context().Err()
				}
			}),
		})
		c := r.dial()
		c.ask("/", "/")
		for range 2 {
			if status, _ := c.answer(); status != 200 {
				t.Errorf("status %d", status)
			}
		}
		c.ask("/wait")
		idle := r.dial()
		idle.want("/", "")
		receive(t, begun, "the handler runs")
		tester.CloseClientConnections()
		if err := receive(t, ended, "the context ends"); err != context.Canceled {
			t.Errorf("context ends with %v", err)
		}
		c.wantGone()
		idle.wantGone()
		if n := r.Stats().Panics; n != 0 {
			t.Errorf("%d panics: %s", n, r.log)
		}
	})
}
