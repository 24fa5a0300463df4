package subscribe

import (
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/h2"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tlsclient"
)

// protocols are those that use lines.
var protocols = []struct {
	name          string
	secure, http2 bool
	proto         string
}{
	{"HTTP/1.1 over TLS", true, false, "HTTP/1.1"},
	{"HTTP/2 over TLS", true, true, "HTTP/2.0"},
	{"HTTP/2 in clear", false, true, "HTTP/2.0"},
}

// serveLines is net/http's server with one of the protocols. It and its streams end with
// the test.
func serveLines(t *testing.T, secure, http2 bool, do http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(do)
	s.EnableHTTP2 = http2
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetHTTP2(http2)
	s.Config.Protocols.SetUnencryptedHTTP2(http2 && !secure)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // discards aborted handlers and failed handshakes
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

// trusting returns the TLS configuration of a client of a server; nil in clear.
func trusting(t *testing.T, s *httptest.Server, http2, resume bool) *tlsclient.Client {
	t.Helper()
	if s.TLS == nil {
		return nil
	}
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return secured(t, tlsclient.Settings{ServerName: "example.com", Roots: pool, Resume: resume}, http2)
}

func secured(t *testing.T, set tlsclient.Settings, http2 bool) *tlsclient.Client {
	t.Helper()
	set.Protocols = []string{"http/1.1"}
	if http2 {
		set.Protocols = []string{"h2"}
	}
	c, err := tlsclient.NewClient(set)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The server ends its streams, regularly and not, and continues from Last-Event-ID: no event
// is missed with any protocol, every end is counted, and subscribers that share a connection
// keep it.
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
				Config: spec.Subscribe{Stamp: "@data", Unit: "ns", ID: "@id", Retry: time.Millisecond, Ends: true},
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

// When all connections are lost at once, each subscriber counts an error, reconnects, and
// misses nothing.
func TestLinesLost(t *testing.T) {
	const subscribers, each = 12, 40
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			stood, again := make(chan struct{}, 3*subscribers), make(chan struct{})
			s := serveLines(t, p.secure, p.http2, func(w http.ResponseWriter, r *http.Request) {
				from, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
				w.Header().Set("Content-Type", "text/event-stream")
				for id := from + 1; id <= each; id++ {
					if id == each/2+1 { // the second half follows the reconnect
						stood <- struct{}{}
						select {
						case <-again:
						case <-r.Context().Done():
							return
						}
					}
					fmt.Fprintf(w, "id: %d\ndata: x\n\n", id)
					if http.NewResponseController(w).Flush() != nil {
						return
					}
				}
				<-r.Context().Done()
			})
			l := loopOf(t, Options{
				Addr: s.Listener.Addr().String(), Subscribers: subscribers, TLS: trusting(t, s, p.http2, false), HTTP2: p.http2, Share: 4,
				Config: spec.Subscribe{ID: "@id", Retry: time.Millisecond, Ends: true},
			}, none{})
			drive(t, l, func(c *Counts) bool { return c.Events == subscribers*each/2 && len(stood) == subscribers })
			connects := l.Counts().Connects
			s.CloseClientConnections()
			close(again)
			drive(t, l, func(c *Counts) bool { return c.Events == subscribers*each && c.Failures() == subscribers })
			c := l.Counts()
			if lost := c.Errors[Short] + c.Errors[Reset]; lost != subscribers || c.Missed+c.Duplicated != 0 || c.Reconnects != subscribers || c.Connects != 2*connects {
				t.Errorf("%+v, of %d connections before", *c, connects)
			}
		})
	}
}

// A subscriber that reconnects resumes its TLS session.
func TestLinesResume(t *testing.T) {
	s := serveLines(t, true, false, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: 1\n\n")
	})
	l := loopOf(t, Options{
		Addr: s.Listener.Addr().String(), Subscribers: 1, TLS: trusting(t, s, false, true), Config: spec.Subscribe{Ends: true, Retry: time.Millisecond},
	}, none{})
	drive(t, l, func(c *Counts) bool { return c.Reconnects >= 5 })
	if done, err := l.TLS(); err != nil || done.Resumed == 0 || done.Resumed >= done.Handshakes || l.Counts().Failures() != 0 {
		t.Errorf("handshakes %+v, %v; errors %v", done, err, l.Counts().ByKind())
	}
}

// Many subscribers share a connection. The windows of the connection and of each stream are
// updated as often as necessary.
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
			if l.lines.common.HTTP2, err = h2.NewClient(c.set); err != nil {
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
