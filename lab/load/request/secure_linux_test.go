package request

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
)

// secureServer is net/http's server in this process, with TLS, or with HTTP/2 in clear.
type secureServer struct {
	*httptest.Server
	addr  string
	count atomic.Int64
	proto atomic.Value
}

// serveSecure starts a server that says hello unless do answers.
func serveSecure(t *testing.T, secure, http2 bool, do http.HandlerFunc) *secureServer {
	t.Helper()
	s := &secureServer{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.count.Add(1)
		s.proto.Store(r.Proto)
		if do != nil {
			do(w, r)
			return
		}
		_, _ = io.WriteString(w, "hello")
	}))
	s.EnableHTTP2 = http2
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetHTTP2(http2)
	s.Config.Protocols.SetUnencryptedHTTP2(http2 && !secure)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of connections that end in handshakes
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	s.addr = s.Listener.Addr().String()
	return s
}

// spec is a run against s.
func (s *secureServer) spec(http2 bool) *spec.Spec {
	order := testSpec(s.addr)
	order.Request = []byte("GET / HTTP/1.1\r\nHost: example.com\r\n\r\n")
	if s.TLS != nil {
		order.TLS = &spec.TLS{ServerName: "example.com", Roots: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})}
	}
	if http2 {
		order.HTTP2, order.Streams = true, 4
	}
	return order
}

// The protocols of a run other than HTTP/1.1 in clear.
var protocols = []struct {
	name          string
	secure, http2 bool
	proto         string
}{
	{"HTTP/1.1 over TLS", true, false, "HTTP/1.1"},
	{"HTTP/2 over TLS", true, true, "HTTP/2.0"},
	{"HTTP/2 in clear", false, true, "HTTP/2.0"},
}

func TestProtocols(t *testing.T) {
	for _, p := range protocols {
		for loop, arrivals := range map[string]*arrive.Plan{"closed": nil, "open": {Rate: 500}} {
			t.Run(p.name+", "+loop, func(t *testing.T) {
				s := serveSecure(t, p.secure, p.http2, nil)
				order := s.spec(p.http2)
				order.Window, order.Tick, order.Warmup, order.Arrivals = 200*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond, arrivals
				events := collectSome(t, order)
				res := events[len(events)-1].Result
				if len(res.Errors) > 0 || res.Requests == 0 || s.proto.Load() != p.proto {
					t.Errorf("%s: errors %v, %d requests", s.proto.Load(), res.Errors, res.Requests)
				}
				if res.Sent < res.Answered || uint64(s.count.Load()) < res.Answered || res.Answered < res.Requests {
					t.Errorf("%d sent, %d answered, the server saw %d", res.Sent, res.Answered, s.count.Load())
				}
				if p.secure != (res.TLS != nil) {
					t.Fatalf("TLS %+v", res.TLS)
				}
				if p.secure && (res.TLS.Handshakes != 3 || res.TLS.Version != "TLS 1.3" || decode(t, res.TLS.Histogram).TotalCount() != 3) {
					t.Errorf("TLS %+v", res.TLS)
				}
				if res.Open != nil {
					if want := due(order); res.Open.Due != want || uint64(decode(t, res.Histogram).TotalCount()) != want {
						t.Errorf("%d due, %d wanted", res.Open.Due, want)
					}
				} else if got := decode(t, res.Histogram).TotalCount(); uint64(got) != res.Requests+res.Late+res.Unanswered {
					t.Errorf("%d latencies of %d requests, %d of them late", got, res.Requests, res.Late)
				}
			})
		}
	}
}

// The answers of a pipeline are in order, over TLS as in clear.
func TestSecurePipeline(t *testing.T) {
	s := serveSecure(t, true, false, nil)
	order := s.spec(false)
	order.Pipeline = 8
	l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= 200 })
	if e := errorsOf(&l.rec.Counters); len(e) > 0 {
		t.Errorf("errors %v", e)
	}
}

// Bodies larger than a record and a socket buffer.
func TestSecureBodies(t *testing.T) {
	body := strings.Repeat("x", 3<<20)
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			s := serveSecure(t, p.secure, p.http2, func(w http.ResponseWriter, r *http.Request) {
				got, err := io.ReadAll(r.Body)
				if err != nil || len(got) != len(body) {
					http.Error(w, "short", http.StatusBadRequest)
					return
				}
				_, _ = w.Write(got)
			})
			order := s.spec(p.http2)
			order.Request = []byte("POST / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 3145728\r\n\r\n" + body)
			order.Expect.Body, order.MaxBody = []byte(body), 16<<20
			l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= 12 })
			if e := errorsOf(&l.rec.Counters); len(e) > 0 {
				t.Errorf("errors %v", e)
			}
			for i := range l.conns {
				if n := l.conns[i].wire.Kept(); n > keptPending+keptFrames {
					t.Errorf("%d bytes kept", n)
				}
			}
		})
	}
}

// Fresh connections, which resume their sessions if that is configured.
func TestSecureFreshConnections(t *testing.T) {
	for _, p := range protocols {
		for _, resume := range []bool{false, true} {
			t.Run(p.name, func(t *testing.T) {
				s := serveSecure(t, p.secure, p.http2, nil)
				order := s.spec(p.http2)
				order.PerConnection = 3
				if p.secure {
					order.TLS.Resume = resume
				}
				l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= 90 })
				if e := errorsOf(&l.rec.Counters); len(e) > 0 {
					t.Errorf("errors %v", e)
				}
				if got, least := l.rec.Connects, l.rec.Requests/3; got < least || got > least+2*uint64(order.Connections) {
					t.Errorf("%d connections for %d requests", got, l.rec.Requests)
				}
				if !p.secure {
					return
				}
				if done, err := l.common.Handshakes.Result(); err != nil || resume != (done.Resumed > 0) {
					t.Errorf("%v; %d of %d resumed", err, done.Resumed, done.Handshakes)
				}
			})
		}
	}
}

const buyers = `
variables:
  id: {counter: 1000}
flows:
- name: f
  steps:
  - name: login
    method: POST
    url: /login
    body: "u${id}"
    captures: {token: {header: X-Token}, user: {json: $.user}}
  - name: order
    url: "/order?u=${user}"
    headers: {Authorization: "Bearer ${token}"}
    checks: [{body: {contains: done}}]
  - name: absent
    url: /absent
`

// A scenario is the same over each protocol: users, captures, checks, a body.
func TestSecureScenario(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			s := serveSecure(t, p.secure, p.http2, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				switch r.URL.Path {
				case "/login":
					w.Header().Set("X-Token", "t"+string(body))
					_, _ = io.WriteString(w, `{"user":"`+string(body)+`"}`)
				case "/order":
					if r.Header.Get("Authorization") != "Bearer t"+r.URL.Query().Get("u") {
						w.WriteHeader(http.StatusForbidden)
					}
					_, _ = io.WriteString(w, "done")
				default:
					w.WriteHeader(http.StatusNotFound)
				}
			})
			order := s.spec(p.http2)
			order.Request, order.Expect = nil, spec.Expect{}
			order.Scenario = &spec.Scenario{Name: "test.yaml", Text: []byte(buyers), Base: s.URL, Seed: 1}
			l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= 100 })
			e := errorsOf(&l.rec.Counters)
			if len(e) != 1 || e[spec.ErrCheck] == 0 {
				t.Errorf("errors %v, %v", e, l.cause)
			}
			targets, err := l.play.result(0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if targets[0].Requests < 30 || targets[1].Requests < 30 || targets[2].Requests != 0 || len(targets[0].Checks)+len(targets[1].Checks) > 0 {
				t.Errorf("targets %+v", targets)
			}
			if i := slices.IndexFunc(targets, func(t spec.Target) bool { return t.Name == "" }); i >= 0 {
				t.Errorf("no name: %+v", targets[i])
			}
		})
	}
}

// Each stream has its own think time, and keeps its user when the connection is
// replaced; the open loop takes streams that are free.
func TestStreamsThink(t *testing.T) {
	for loop, arrivals := range map[string]*arrive.Plan{"closed": nil, "open": {Rate: 400}} {
		t.Run(loop, func(t *testing.T) {
			s := serveSecure(t, true, true, nil)
			order := s.spec(true)
			order.Request, order.Expect = nil, spec.Expect{}
			order.Scenario = &spec.Scenario{
				Name: "test.yaml", Base: s.URL, Seed: 1, Think: "5ms",
				Text: []byte("variables: {n: {counter: 1}}\ntargets: [{url: '/${n}', checks: [{body: {contains: hello}}]}]\n"),
			}
			order.PerConnection, order.Arrivals = 20, arrivals
			begin := time.Now()
			l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= 240 })
			if e := errorsOf(&l.rec.Counters); len(e) > 0 {
				t.Errorf("errors %v, %v", e, l.cause)
			}
			// Twelve users, each limited by its think time.
			if most := 12 * (uint64(time.Since(begin)/(5*time.Millisecond)) + 1); l.rec.Requests > most {
				t.Errorf("%d requests where %d are possible", l.rec.Requests, most)
			}
			if l.rec.Connects < 240/20 {
				t.Errorf("%d connections", l.rec.Connects)
			}
		})
	}
}

// A server in clear without HTTP/2 is distinguished from one that is down.
func TestNoHTTP2(t *testing.T) {
	s := serveScript(t, func(c *net.TCPConn, _ int) bool { return say(c, goodAnswer) })
	for name, tc := range map[string]struct {
		addr    string
		kind    string
		timeout time.Duration
	}{
		"HTTP/1.1": {s.addr, "h2-not-http2", time.Minute},
		"closes":   {serve(t, func(_ *scripted, c *net.TCPConn) { _, _ = c.Read(make([]byte, 1<<16)) }).addr, spec.ErrClosed, time.Minute},
		"silent":   {serve(t, func(_ *scripted, c *net.TCPConn) { _, _ = io.Copy(io.Discard, c) }).addr, spec.ErrTimeout, 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			order := testSpec(tc.addr)
			order.HTTP2, order.Streams, order.Persist, order.Timeout = true, 2, true, tc.timeout
			l := failing(t, order)
			if e := errorsOf(&l.rec.Counters); e[tc.kind] == 0 {
				t.Errorf("errors %v, %v", e, l.cause)
			}
		})
	}
}
