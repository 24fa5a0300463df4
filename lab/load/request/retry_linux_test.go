package request

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/spawn"
)

const lastAnswer = head200 + "Connection: close\r\nContent-Length: 5\r\n\r\nhello"

// retried lists what servers do with the seventh request of each connection, and what becomes of
// it.
var retried = []struct {
	name  string
	order func(*spec.Spec)
	do    script
	kind  string // of the errors; empty: none, and requests are sent again
}{
	{"closed between requests", func(*spec.Spec) {}, func(c *net.TCPConn, _ int) bool { return false }, ""},
	{"closed between batches", func(o *spec.Spec) { o.Pipeline = 3 }, func(c *net.TCPConn, _ int) bool { return false }, ""},
	{"reset between requests", func(*spec.Spec) {}, func(c *net.TCPConn, _ int) bool { return c.SetLinger(0) != nil }, ""},
	{"ended within a batch", func(o *spec.Spec) { o.Pipeline = 4 }, func(c *net.TCPConn, _ int) bool { return say(c, lastAnswer) && false }, ""},
	{"ended within a batch of POSTs", func(o *spec.Spec) { o.Pipeline, o.Request = 4, []byte(postRequest) }, func(c *net.TCPConn, _ int) bool {
		return say(c, lastAnswer) && false
	}, ""},
	{"a POST that may have been processed", func(o *spec.Spec) { o.Request = []byte(postRequest) }, func(*net.TCPConn, int) bool { return false }, spec.ErrClosed},
	{"an answer that has begun", func(*spec.Spec) {}, func(c *net.TCPConn, _ int) bool { return say(c, "HTTP/1.1 2") && false }, spec.ErrShort},
}

// A request that meets the end of its connection is sent again if that is safe.
func TestSentAgain(t *testing.T) {
	for _, tc := range retried {
		t.Run(tc.name, func(t *testing.T) {
			var good atomic.Uint64
			s := serveScript(t, func(c *net.TCPConn, n int) bool {
				if n == 7 {
					return tc.do(c, n)
				}
				good.Add(1)
				return say(c, goodAnswer)
			})
			order := testSpec(s.addr)
			tc.order(order)
			l := drive(t, order, func(c *tally.Counters) bool {
				return c.Requests >= 200 && (c.Retried >= 10 || tc.kind != "" && c.Failures() >= 10)
			})
			e := errorsOf(&l.rec.Counters)
			if tc.kind == "" && len(e) > 0 || tc.kind != "" && (len(e) != 1 || e[tc.kind] == 0 || l.rec.Retried != 0) {
				t.Errorf("errors %v, %d sent again", e, l.rec.Retried)
			}
			if got := uint64(l.rec.Hist.TotalCount()); got != l.rec.Requests || l.owed != 0 {
				t.Errorf("%d latencies of %d answers, %d requests still wait", got, l.rec.Requests, l.owed)
			}
		})
	}
}

// The second attempt is the last one, and a connection that has answered nothing gives none.
func TestSentAgainOnce(t *testing.T) {
	for name, do := range map[string]script{
		"second connection": func(c *net.TCPConn, n int) bool { return n == 1 && say(c, goodAnswer[:2]) && false },
		"fresh connection":  func(*net.TCPConn, int) bool { return false },
	} {
		t.Run(name, func(t *testing.T) {
			var conns atomic.Uint64
			s := serve(t, func(_ *scripted, c *net.TCPConn) {
				in, ends := make([]byte, 4096), conns.Add(1)%2 == 0
				for n := 1; ; n++ {
					if _, err := c.Read(in); err != nil {
						return
					}
					if ends || n == 3 {
						do(c, n)
						return
					}
					if !say(c, goodAnswer) {
						return
					}
				}
			})
			order := testSpec(s.addr)
			order.Connections = 1
			l := drive(t, order, func(c *tally.Counters) bool { return c.Failures() >= 10 })
			e := errorsOf(&l.rec.Counters)
			if l.rec.Failures() == 0 || len(e) != 1 || name == "fresh connection" && e[spec.ErrClosed]+e[spec.ErrReset] == 0 {
				t.Errorf("errors %v, %d sent again", e, l.rec.Retried)
			}
		})
	}
}

// A request that is sent again keeps the time at which it was due, and one for which there is no
// other connection fails.
func TestSentAgainOpenLoop(t *testing.T) {
	s := serveScript(t, func(c *net.TCPConn, n int) bool { return n < 7 && say(c, goodAnswer) })
	order := openSpec(s.addr, 1000)
	res := runOpen(t, order)
	if o := res.Open; o.Due != due(order) || o.Failed != 0 || o.Unfinished != 0 || len(res.Errors) > 0 || res.Retried == 0 {
		t.Errorf("%+v, errors %v, %d sent again; want %d due", o, res.Errors, res.Retried, due(order))
	}
}

// Requests that an HTTP/2 server refuses, or leaves behind, are sent again.
func TestStreamsSentAgain(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(f *framed, id uint32) bool
	}{
		{"refused", func(f *framed, id uint32) bool { return f.WriteRSTStream(id, http2.ErrCodeRefusedStream) == nil }},
		{"above the last stream", func(f *framed, id uint32) bool { return f.leave(id-2, http2.ErrCodeNo) }},
		{"closed", func(*framed, uint32) bool { return false }},
		{"reset", func(f *framed, _ uint32) bool { return f.conn.(*net.TCPConn).SetLinger(0) == nil && false }},
	} {
		for loop, arrivals := range map[string]*arrive.Plan{"closed": nil, "open": {Rate: 2000}} {
			t.Run(tc.name+", "+loop, func(t *testing.T) {
				s := serveFrames(t, nil, func(f *framed, id uint32, n int) bool {
					if n == 21 {
						return tc.do(f, id)
					}
					return f.good(id)
				})
				order := framesSpec(s.addr)
				if order.Arrivals = arrivals; arrivals != nil {
					order.Window, order.Tick = 300*time.Millisecond, 100*time.Millisecond
					res := runOpen(t, order)
					if o := res.Open; o.Due != due(order) || o.Failed != 0 || o.Unfinished != 0 || len(res.Errors) > 0 || res.Retried == 0 {
						t.Errorf("%+v, errors %v, %d sent again; want %d due", o, res.Errors, res.Retried, due(order))
					}
					return
				}
				l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= 200 && c.Retried >= 3 })
				if e := errorsOf(&l.rec.Counters); len(e) > 0 || l.owed != 0 {
					t.Errorf("errors %v, %d still wait", e, l.owed)
				}
			})
		}
	}
}

// A stream that is refused twice is an error.
func TestStreamsRefusedTwice(t *testing.T) {
	s := serveFrames(t, nil, func(f *framed, id uint32, n int) bool {
		if n <= 20 {
			return f.good(id)
		}
		return f.WriteRSTStream(id, http2.ErrCodeRefusedStream) == nil
	})
	l := drive(t, framesSpec(s.addr), func(c *tally.Counters) bool { return c.Failures() >= 20 })
	if e := errorsOf(&l.rec.Counters); len(e) != 1 || e["h2-refused"] == 0 || l.rec.Retried < e["h2-refused"] {
		t.Errorf("errors %v, %d sent again", e, l.rec.Retried)
	}
}

// A number of requests is exact although some are sent again.
func TestQuotaSentAgain(t *testing.T) {
	s := serveScript(t, func(c *net.TCPConn, n int) bool { return n < 7 && say(c, goodAnswer) })
	order := testSpec(s.addr)
	order.Requests, order.Window, order.Tick = 500, time.Minute, 50*time.Millisecond
	events, err := collect(t.Context(), order)
	if err != nil {
		t.Fatal(err)
	}
	res := events[len(events)-1].Result
	if res == nil || res.Requests != 500 || len(res.Errors) > 0 || res.Retried == 0 || res.Unanswered != 0 {
		t.Errorf("result %+v", res)
	}
}

// nginx ends each connection after some requests: 1,000 by default.
func TestNginxEndsConnections(t *testing.T) {
	binary, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("nginx is not installed; make unit and make race install it")
	}
	addr := nginx(t, binary)
	for name, change := range map[string]func(*spec.Spec){
		"HTTP/1.1":           func(*spec.Spec) {},
		"HTTP/1.1 pipelined": func(o *spec.Spec) { o.Pipeline = 16 },
		"HTTP/2":             func(o *spec.Spec) { o.HTTP2, o.Streams, o.Addr = true, 16, addr[1] },
		"HTTP/2, open loop": func(o *spec.Spec) {
			o.HTTP2, o.Streams, o.Addr = true, 16, addr[1]
			o.Arrivals, o.Window, o.Tick = &arrive.Plan{Rate: 8000, Poisson: true, Seed: 1}, 500*time.Millisecond, 100*time.Millisecond
		},
	} {
		t.Run(name, func(t *testing.T) {
			order := testSpec(addr[0])
			change(order)
			if order.Arrivals != nil {
				if res := runOpen(t, order); len(res.Errors) > 0 || res.Open.Failed > 0 || res.Open.Unfinished > 0 {
					t.Errorf("errors %v, %+v", res.Errors, res.Open)
				}
				return
			}
			l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= 8000 })
			if e := errorsOf(&l.rec.Counters); len(e) > 0 || l.rec.Connects < 6 {
				t.Errorf("errors %v, %d connections, %d sent again", e, l.rec.Connects, l.rec.Retried)
			}
			t.Logf("%d requests on %d connections, %d sent again", l.rec.Requests, l.rec.Connects, l.rec.Retried)
		})
	}
}

// nginx starts one with default settings, which answers on two addresses: HTTP/1.1 and HTTP/2,
// both in clear. It ends with the test.
func nginx(t *testing.T, binary string) (addrs [2]string) {
	t.Helper()
	dir := t.TempDir()
	for i := range addrs {
		addr, err := spawn.FreeAddress()
		if err != nil {
			t.Fatal(err)
		}
		addrs[i] = addr.String()
	}
	temporary := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporary += fmt.Sprintf("%s_temp_path %s/%s;\n", kind, dir, kind)
	}
	text := fmt.Sprintf(`daemon off; master_process off; worker_processes 1; pid %s/pid; error_log stderr;
events {}
http {
	access_log off;
	%s
	server { listen %s; location / { return 200 "hello"; } }
	server { listen %s http2; location / { return 200 "hello"; } }
}
`, dir, temporary, addrs[0], addrs[1])
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd := exec.Command(binary, "-e", "stderr", "-p", dir, "-c", file)
	cmd.Stderr = &said
	launcher := spawn.NewLauncher() // nginx ends with the process of the tests, too
	t.Cleanup(launcher.Close)
	cpus, err := probe.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	if err := launcher.Start(cmd, cpus); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
	})
	for range 600 {
		c, err := net.Dial("tcp4", addrs[1])
		if err == nil {
			_ = c.Close() // it was only a test of the address
			return addrs
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("nginx does not run: %v\n%s", err, said.String())
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Fatal("nginx does not listen")
	return addrs
}
