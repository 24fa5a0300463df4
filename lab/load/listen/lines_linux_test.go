package listen

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/greet"
	"github.com/redline-go/redline/lab/load/h2"
	"github.com/redline-go/redline/lab/load/tlsc"
)

// protocols are those that take lines.
var protocols = []struct {
	name          string
	secure, http2 bool
	proto         string
}{
	{"HTTP/1.1 over TLS", true, false, "HTTP/1.1"},
	{"HTTP/2 over TLS", true, true, "HTTP/2.0"},
	{"HTTP/2 in clear", false, true, "HTTP/2.0"},
}

// serveLines is net/http's server in one of the protocols. It ends with the test, and
// its streams do.
func serveLines(t *testing.T, secure, http2 bool, do http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(do)
	s.EnableHTTP2 = http2
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetHTTP2(http2)
	s.Config.Protocols.SetUnencryptedHTTP2(http2 && !secure)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handlers that abort, and of handshakes that fail
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// trusting is what a client of a server takes; nil in clear.
func trusting(t *testing.T, s *httptest.Server, http2, resume bool) *tlsc.Client {
	t.Helper()
	if s.TLS == nil {
		return nil
	}
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return secured(t, tlsc.Settings{ServerName: "example.com", Roots: pool, Resume: resume}, http2)
}

func secured(t *testing.T, set tlsc.Settings, http2 bool) *tlsc.Client {
	t.Helper()
	set.Protocols = []string{"http/1.1"}
	if http2 {
		set.Protocols = []string{"h2"}
	}
	c, err := tlsc.NewClient(set)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A server that ends its streams, in order and not, and goes on from Last-Event-ID:
// nothing is missed over any protocol, every end is counted, and those who share a
// connection keep it.
func TestLines(t *testing.T) {
	const subscribers, each, share = 16, 60, 4
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			var ended, aborted, odd atomic.Uint64
			s := serveLines(t, p.secure, p.http2, func(w http.ResponseWriter, r *http.Request) {
				if r.Proto != p.proto || r.Host != "x" || r.URL.Path != "/events" {
					odd.Add(1)
				}
				from, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
				w.Header().Set("Content-Type", "text/event-stream")
				for id := from + 1; id <= each; id++ {
					fmt.Fprintf(w, "id: %d\ndata: %d\n\n", id, time.Now().UnixNano())
					if http.NewResponseController(w).Flush() != nil {
						return
					}
					switch {
					case id == each:
					case id%20 == 0:
						ended.Add(1)
						return
					case id%10 == 0:
						aborted.Add(1)
						panic(http.ErrAbortHandler)
					}
				}
				<-r.Context().Done()
			})
			var rec taken
			l := loopOf(t, Options{
				Addr: s.Listener.Addr().String(), Subscribers: subscribers, TLS: trusting(t, s, p.http2, false), HTTP2: p.http2, Share: share,
				Config: Config{Stamp: "@data", Unit: "ns", ID: "@id", Retry: time.Millisecond, Ends: true},
			}, &rec)
			drive(t, l, func(c *Counts) bool { return c.Events == subscribers*each })
			c := l.Counts()
			if c.Missed != 0 || c.Duplicated != 0 || odd.Load() != 0 || len(rec.delays) != subscribers*each || len(rec.lags) == 0 {
				t.Errorf("%d missed, %d duplicated, %d odd requests, %d delays, %d lags", c.Missed, c.Duplicated, odd.Load(), len(rec.delays), len(rec.lags))
			}
			kind, connects := ofHTTP2(h2.Reset), uint64(subscribers/share)
			if !p.http2 {
				kind, connects = Short, subscribers+ended.Load()+aborted.Load()
			}
			if c.Ends != ended.Load() || c.Errors[kind] != aborted.Load() || c.Failures() != aborted.Load() || aborted.Load() == 0 {
				t.Errorf("%d ends, errors %v; the server ended %d and aborted %d", c.Ends, c.ByKind(), ended.Load(), aborted.Load())
			}
			if c.Connects != connects || c.Reconnects != c.Ends+c.Failures() || l.Standing() != subscribers {
				t.Errorf("%d connects, want %d; %d reconnects, %d standing", c.Connects, connects, c.Reconnects, l.Standing())
			}
			done, err := l.TLS()
			if err != nil || p.secure != (done != nil) || p.secure && (done.Handshakes != connects || done.Version != "TLS 1.3" || done.Resumed != 0) {
				t.Errorf("handshakes %+v, %v", done, err)
			}
			if c.BytesIn == 0 || c.BytesOut == 0 {
				t.Errorf("%d bytes in, %d out", c.BytesIn, c.BytesOut)
			}
		})
	}
}

// A subscriber that comes back resumes its session.
func TestLinesResume(t *testing.T) {
	s := serveLines(t, true, false, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: 1\n\n")
	})
	l := loopOf(t, Options{
		Addr: s.Listener.Addr().String(), Subscribers: 1, TLS: trusting(t, s, false, true), Config: Config{Ends: true, Retry: time.Millisecond},
	}, none{})
	drive(t, l, func(c *Counts) bool { return c.Reconnects >= 5 })
	if done, err := l.TLS(); err != nil || done.Resumed == 0 || done.Resumed >= done.Handshakes || l.Counts().Failures() != 0 {
		t.Errorf("handshakes %+v, %v; errors %v", done, err, l.Counts().ByKind())
	}
}

// Many share a connection, whose windows are opened again as often as it takes: those
// of all, and those of each.
func TestLinesShared(t *testing.T) {
	const block = 16 << 10
	data := "data: " + strings.Repeat("z", block-8) + "\n\n"
	for _, c := range []struct {
		name                      string
		subscribers, share, total int
		set                       h2.Settings
	}{
		{"the windows that there are", 400, 200, 8 << 20, h2.Settings{}},
		{"the smallest of a connection", 8, 8, 8 << 20, h2.Settings{ConnWindow: 1<<16 - 1}},
		{"small ones of streams", 8, 8, 8 << 20, h2.Settings{StreamWindow: 20 << 10}},
	} {
		t.Run(c.name, func(t *testing.T) {
			each := c.total / c.subscribers / block
			s := serveLines(t, true, true, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for range each {
					if _, err := io.WriteString(w, data); err != nil {
						return
					}
				}
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})
			l := loopOf(t, Options{
				Addr: s.Listener.Addr().String(), Subscribers: c.subscribers, TLS: trusting(t, s, true, false), HTTP2: true, Share: c.share,
			}, none{})
			c.set.Streams, c.set.Text = c.share, true
			var err error
			if l.lines.http2, err = h2.NewClient(c.set); err != nil {
				t.Fatal(err)
			}
			drive(t, l, func(n *Counts) bool { return n.Events == uint64(c.subscribers*each) })
			n := l.Counts()
			if n.Connects != uint64(c.subscribers/c.share) || n.Failures() != 0 || n.BytesIn < uint64(c.subscribers*each*block) || l.Standing() != c.subscribers {
				t.Errorf("%+v, %d standing", *n, l.Standing())
			}
		})
	}
}

// serveSecret is serveStreams over TLS: a script has the bytes below it as well.
func serveSecret(t *testing.T, cert tls.Certificate, script func(c *tls.Conn, n int64)) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var n atomic.Int64
	all.Go(func() {
		for {
			raw, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer raw.Close()
				_ = raw.SetDeadline(time.Now().Add(30 * time.Second))
				c := tls.Server(raw, &tls.Config{Certificates: []tls.Certificate{cert}})
				in := make([]byte, 4<<10)
				if k, err := c.Read(in); err == nil && bytes.HasSuffix(in[:k], []byte("\r\n\r\n")) {
					script(c, n.Add(1))
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		all.Wait()
	})
	return ln.Addr().String()
}

// What ends with the connection has ended in order only when TLS says so.
func TestLinesCut(t *testing.T) {
	const text = head + "\r\ndata: 1\n\n"
	cert := serveLines(t, true, false, nil).TLS.Certificates[0]
	for _, c := range []struct {
		name   string
		end    func(c *tls.Conn)
		want   string
		ends   uint64
		detail string
	}{
		{"in order", func(c *tls.Conn) { _ = c.CloseWrite() }, "map[]", 3, ""},
		{"cut", func(*tls.Conn) {}, "map[short:3]", 0, "without a word: content may be cut off"},
		{"broken", func(c *tls.Conn) {
			_, _ = c.NetConn().Write([]byte("\x17\x03\x03\x00\x20what is not a record of this connection"))
			_, _ = io.Copy(io.Discard, c.NetConn()) // a reset would overtake it
		}, "map[tls:3]", 0, "what the server sent is broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var came atomic.Int64
			addr := serveSecret(t, cert, func(s *tls.Conn, n int64) {
				if n > 3 { // those that came back stay
					came.Add(1)
				}
				if !write(s, text) {
					return
				}
				if n > 3 {
					_, _ = s.Read(make([]byte, 1))
					return
				}
				c.end(s)
			})
			l := loopOf(t, Options{
				Addr: addr, Subscribers: 3, TLS: secured(t, tlsc.Settings{Insecure: true}, false), Config: Config{Ends: true, Retry: time.Millisecond},
			}, none{})
			drive(t, l, func(n *Counts) bool { return n.Reconnects == 3 && n.Events == 6 })
			n := l.Counts()
			if got := fmt.Sprint(n.ByKind()); got != c.want || n.Ends != c.ends || came.Load() != 3 || n.Connects != 6 {
				t.Errorf("errors %s, %d ends, %d came back, %d connects; want %s, %d", got, n.Ends, came.Load(), n.Connects, c.want, c.ends)
			}
			if c.detail != "" && !strings.Contains(l.book.cause(), c.detail) {
				t.Errorf("cause %q, want %q in it", l.book.cause(), c.detail)
			}
		})
	}
}

// What keeps a server from being talked to is told in words, and ends all hope.
func TestLinesHope(t *testing.T) {
	answer := func(http.ResponseWriter, *http.Request) {}
	secure, clear := serveLines(t, true, false, answer), serveLines(t, false, false, answer)
	unknown := func(http2 bool) *tlsc.Client {
		return secured(t, tlsc.Settings{ServerName: "example.com", Roots: x509.NewCertPool()}, http2)
	}
	any := func(http2 bool) *tlsc.Client { return secured(t, tlsc.Settings{Insecure: true}, http2) }
	silent := serveSilent(t)
	for _, c := range []struct {
		name, addr string
		tls        *tlsc.Client
		http2      bool
		kind       Kind
		want       string
	}{
		{"certificate", secure.Listener.Addr().String(), unknown(false), false, TLS, "the server's certificate is not trusted: x509: certificate signed by unknown authority"},
		{"no HTTP/2", secure.Listener.Addr().String(), any(true), true, TLS, "no application protocol"},
		{"in clear", clear.Listener.Addr().String(), any(false), false, TLS, "the server does not answer in TLS"},
		{"HTTP/1.1 alone", clear.Listener.Addr().String(), nil, true, HTTP2, "the server does not answer in HTTP/2"},
		{"silent", silent, any(false), false, Timeout, "TLS handshake: not done in time"},
		{"silent in clear", silent, nil, true, Timeout, "HTTP/2: no settings of the server in time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := loopOf(t, Options{Addr: c.addr, Subscribers: 4, TLS: c.tls, HTTP2: c.http2, Share: 2, Config: Config{Retry: Never}}, none{})
			l.book.timeout = int64(300 * time.Millisecond)
			if c.kind != Timeout {
				l.book.timeout = int64(time.Minute)
			}
			drive(t, l, func(n *Counts) bool { return n.Retired == 4 })
			n := l.Counts()
			if err := l.Hope(); err == nil || !strings.Contains(err.Error(), c.want) || n.Errors[c.kind] != 4 || n.Failures() != 4 {
				t.Errorf("hope: %v, errors %v; want %q", err, n.ByKind(), c.want)
			}
			if done, err := l.TLS(); err != nil || done != nil {
				t.Errorf("handshakes %+v, %v", done, err)
			}
		})
	}
}

// serveSilent takes connections and says nothing.
func serveSilent(t *testing.T) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() }) // those in its queue are reset
	return ln.Addr().String()
}

// A server that asks and does not read cannot make a line hold more and more.
func TestLinesOwed(t *testing.T) {
	s := serveLines(t, true, false, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	l := loopOf(t, Options{Addr: s.Listener.Addr().String(), Subscribers: 1, TLS: trusting(t, s, false, false), Config: Config{Retry: Never}}, none{})
	drive(t, l, func(c *Counts) bool { return c.Events == 1 })
	c := l.lines.all[0]
	if c.owed != 0 || len(c.pending) != 0 {
		t.Errorf("%d bytes owed, %d pending", c.owed, len(c.pending))
	}
	// The socket takes no more, and the server's messages go on being answered: an
	// alert in place of a key update's answer, which is as long.
	c.pending, c.owed = append(c.pending, 0), greet.MaxOwed
	c.receive([]byte("\x17\x03\x03\x00\x20" + strings.Repeat("x", 32)))
	if n := l.Counts(); n.Errors[TLS] != 1 || n.Retired != 1 || l.book.cause() != greet.ErrOwed.Error() || c.fd >= 0 || c.pending != nil {
		t.Errorf("%+v, %s", *n, l.book.cause())
	}
}

// What the socket does not take waits for it, and frames behind it.
func TestLinesPending(t *testing.T) {
	addr, _ := serveFrames(t, nil, func(f *framed, id uint32, lastID string) bool {
		return f.stands(id) && f.events(id, 1, 1, false)
	})
	l := framesLoop(t, addr, 2)
	drive(t, l, func(c *Counts) bool { return c.Events == 2 })
	c := l.lines.all[0]
	// An empty settings frame cut in the middle is what the socket has taken half of.
	settings := []byte{0, 0, 0, 4, 0, 0, 0, 0, 0}
	c.send(settings[:4])
	c.pending = settings[4:]
	c.http2.Cancel(0)
	l.lines.touch(c)
	c.deliver([]byte{0, 0, 0, 4, 1, 0, 0, 0, 0}) // whatever comes goes behind it
	if len(c.pending) != 14 {
		t.Fatalf("%d bytes wait", len(c.pending))
	}
	l.lines.tendAll()
	if c.pending != nil || c.broken || c.http2.Pending() {
		t.Errorf("%d bytes wait, broken %v, more %v", len(c.pending), c.broken, c.http2.Pending())
	}
}
