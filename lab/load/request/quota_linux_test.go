package request

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/spec"
)

// sumOf runs a number of requests, and returns the result, after it has checked that right
// answers and errors add up to that number.
func sumOf(t *testing.T, order *spec.Spec) *spec.Result {
	t.Helper()
	order.Window = 2 * time.Minute // upper limit
	events, err := collect(context.Background(), order)
	if err != nil {
		t.Fatal(err)
	}
	res := events[len(events)-1].Result
	if res == nil {
		t.Fatalf("the last event is %+v", events[len(events)-1])
	}
	sum := res.Requests
	for _, n := range res.Errors {
		sum += n
	}
	if sum != order.Requests || res.Seconds >= order.Window.Seconds() || res.Cut || res.Unanswered > 0 {
		t.Errorf("%d of %d requests in %.1f s: %d right, %v; %+v", sum, order.Requests, res.Seconds, res.Requests, res.Errors, res)
	}
	return res
}

// The server receives exactly the given number of requests.
func TestQuota(t *testing.T) {
	var seen atomic.Int64
	s := serveScript(t, func(c *net.TCPConn, _ int) bool { seen.Add(1); return say(c, goodAnswer) })
	for name, set := range map[string]func(*spec.Spec){
		"one":      func(o *spec.Spec) { o.Requests, o.Connections = 1, 1 },
		"few":      func(o *spec.Spec) { o.Requests, o.Connections = 2, 8 },
		"many":     func(o *spec.Spec) { o.Requests = 1001 },
		"pipeline": func(o *spec.Spec) { o.Requests, o.Pipeline = 1000, 16 },
		"less":     func(o *spec.Spec) { o.Requests, o.Pipeline = 5, 16 },
		"different": func(o *spec.Spec) {
			o.Requests, o.Pipeline, o.More = 101, 4, [][]byte{[]byte(getRequest), []byte(getRequest)}
		},
		"fresh":       func(o *spec.Spec) { o.Requests, o.PerConnection = 101, 3 },
		"arrivals":    func(o *spec.Spec) { o.Requests, o.Arrivals = 101, &arrive.Plan{Rate: 1000} },
		"at random":   func(o *spec.Spec) { o.Requests, o.Arrivals = 101, &arrive.Plan{Rate: 1000, Poisson: true, Seed: 7} },
		"of a worker": func(o *spec.Spec) { o.Requests, o.Arrivals = 101, &arrive.Plan{Rate: 1000, Phase: 0.7} },
	} {
		t.Run(name, func(t *testing.T) {
			order := testSpec(s.addr)
			set(order)
			seen.Store(0)
			if order.Arrivals == nil {
				if res := sumOf(t, order); len(res.Errors) > 0 {
					t.Errorf("errors %v", res.Errors)
				}
			} else {
				order.Window = 2 * time.Minute
				events, err := collect(context.Background(), order)
				if err != nil {
					t.Fatal(err)
				}
				if res := events[len(events)-1].Result; res.Open.Due != order.Requests || res.Seconds > 60 {
					t.Errorf("%d arrivals in %v s", res.Open.Due, res.Seconds)
				}
			}
			if n := seen.Load(); uint64(n) != order.Requests {
				t.Errorf("the server saw %d requests, want %d", n, order.Requests)
			}
		})
	}
}

// A window may end by time before all requests are sent.
func TestQuotaInTime(t *testing.T) {
	s := serveScript(t, func(c *net.TCPConn, n int) bool { time.Sleep(time.Millisecond); return say(c, goodAnswer) })
	for _, requests := range []uint64{4, 1 << 40} {
		order := testSpec(s.addr)
		order.Requests, order.Window = requests, 50*time.Millisecond
		if res := collectSome(t, order)[1:]; res[len(res)-1].Result == nil || res[len(res)-1].Result.Unanswered > 0 {
			t.Errorf("%+v", res[len(res)-1])
		}
	}
}

// What was under way when the window began is part of its requests.
func TestQuotaAfterWarmup(t *testing.T) {
	s := serveScript(t, func(c *net.TCPConn, _ int) bool { return say(c, goodAnswer) })
	order := testSpec(s.addr)
	order.Warmup, order.Pipeline, order.Requests = 50*time.Millisecond, 4, 13
	if res := sumOf(t, order); len(res.Errors) > 0 {
		t.Errorf("errors %v", res.Errors)
	}
	order.Requests = 11
	if err := order.Validate(); err == nil {
		t.Error("fewer requests than are under way are valid")
	}
}

// Every request has an outcome, whatever the server does, and the failure of a connection
// without a request counts as one request.
func TestQuotaOfErrors(t *testing.T) {
	for name, do := range map[string]script{
		"closes":  func(c *net.TCPConn, n int) bool { return n%5 != 0 && say(c, goodAnswer) },
		"ends":    func(c *net.TCPConn, n int) bool { return say(c, goodAnswer) && n%5 != 0 },
		"status":  func(c *net.TCPConn, n int) bool { return say(c, "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n") },
		"unasked": func(c *net.TCPConn, n int) bool { return say(c, goodAnswer) && (n%7 != 0 || say(c, goodAnswer)) },
		"leaves": func(c *net.TCPConn, n int) bool {
			if n%3 == 0 {
				say(c, head200+"Connection: close\r\nContent-Length: 5\r\n\r\nhello")
				return false
			}
			return say(c, goodAnswer)
		},
		"garbage": func(c *net.TCPConn, n int) bool { return say(c, "what?\r\n\r\n") },
	} {
		for _, pipeline := range []int{1, 4} {
			t.Run(name, func(t *testing.T) {
				s := serveScript(t, do)
				order := testSpec(s.addr)
				order.Requests, order.Pipeline, order.Persist = 203, pipeline, true
				if name == "closes" {
					order.Request = []byte(postRequest) // not sent again
				}
				if res := sumOf(t, order); name == "closes" && (res.Requests == 0 || len(res.Errors) == 0) {
					t.Errorf("%d right, errors %v", res.Requests, res.Errors)
				}
			})
		}
	}
}

// When the server has stopped, failed connects use up the rest.
func TestQuotaRefused(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for range 3 {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			defer func() { _, _ = c.Read(make([]byte, 1)) }() // until the window has begun
		}
		ln.Close()
	}()
	order := testSpec(ln.Addr().String())
	order.Requests = 20
	if res := sumOf(t, order); res.Requests != 0 || res.Errors["connect"] == 0 {
		t.Errorf("%d right, errors %v", res.Requests, res.Errors)
	}
}

func TestQuotaOfProtocols(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			s := serveSecure(t, p.secure, p.http2, nil)
			for _, requests := range []uint64{1, 7, 500} {
				order := s.spec(p.http2)
				order.Requests = requests
				s.count.Store(0)
				if res := sumOf(t, order); len(res.Errors) > 0 || uint64(s.count.Load()) != requests {
					t.Errorf("errors %v; the server saw %d requests, want %d", res.Errors, s.count.Load(), requests)
				}
			}
			order := s.spec(p.http2)
			order.Requests, order.PerConnection = 100, 3
			if res := sumOf(t, order); len(res.Errors) > 0 {
				t.Errorf("fresh connections: errors %v", res.Errors)
			}
		})
	}
}

// Reset streams, and connections that end, lose the requests under way.
func TestQuotaOfStreams(t *testing.T) {
	var n atomic.Int64
	s := serveSecure(t, false, true, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1)%4 == 0 {
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write([]byte("hello"))
	})
	order := s.spec(true)
	order.Requests = 300
	if res := sumOf(t, order); res.Requests == 0 || len(res.Errors) == 0 || n.Load() != 300 {
		t.Errorf("%d right, errors %v; the server saw %d", res.Requests, res.Errors, n.Load())
	}
	ends := serveFrames(t, nil, func(f *framed, id uint32, n int) bool { return n%6 != 0 && f.good(id) })
	order = framesSpec(ends.addr)
	order.Requests, order.Persist, order.Request = 100, true, []byte(postRequest)
	if res := sumOf(t, order); res.Requests == 0 || len(res.Errors) == 0 {
		t.Errorf("%d right, errors %v", res.Requests, res.Errors)
	}
}

// Setup is not among the requests unless it fails.
func TestQuotaOfScenario(t *testing.T) {
	const text = `
setup: [{url: /login, captures: {token: {json: $.token}}}]
targets:
  - {url: "/items/${token}", checks: [{body: {contains: yes}}]}
  - {name: other, method: POST, url: /other, body: {size: 100KiB}}
`
	for name, token := range map[string]string{"right": `{"token": 7}`, "wrong": `{}`} {
		for _, h2 := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				var setup, rest atomic.Int64
				s := serveSecure(t, false, h2, func(w http.ResponseWriter, r *http.Request) {
					switch n := int64(0); r.URL.Path {
					case "/login":
						setup.Add(1)
						_, _ = w.Write([]byte(token))
					default:
						if n = rest.Add(1); n%3 > 0 {
							_, _ = w.Write([]byte("yes"))
						}
					}
				})
				order := scenarioSpec(s.addr, text)
				order.Requests = 120
				if h2 {
					order.HTTP2, order.Streams = true, 4
				}
				res := sumOf(t, order)
				switch {
				case name == "right" && (rest.Load() != 120 || setup.Load() != int64(order.Places()) || res.Requests == 0 || res.Errors["check"] == 0):
					t.Errorf("%d setups, %d requests; %d right, %v", setup.Load(), rest.Load(), res.Requests, res.Errors)
				case name == "wrong" && (rest.Load() != 0 || res.Errors["check"] != 120):
					t.Errorf("%d requests after setups that failed; %d right, %v", rest.Load(), res.Requests, res.Errors)
				}
			})
		}
	}
}
