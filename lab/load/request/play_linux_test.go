package request

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
)

// asked is one request as a server received it.
type asked struct {
	method, path, auth string
	body               []byte
	conn               *net.TCPConn
	n                  int // of its connection, from 1
}

// serveAsked answers each request with what answer returns, in pieces of a size.
func serveAsked(t *testing.T, piece int, answer func(asked) string) *scripted {
	return serve(t, func(_ *scripted, c *net.TCPConn) {
		br := bufio.NewReaderSize(c, 1<<16)
		for n := 1; ; n++ {
			req, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return
			}
			out := answer(asked{req.Method, req.URL.Path, req.Header.Get("Authorization"), body, c, n})
			for piece > 0 && len(out) > piece {
				if !say(c, out[:piece]) {
					return
				}
				out = out[piece:]
			}
			if !say(c, out) {
				return
			}
		}
	})
}

func ok(body string) string {
	return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head200, len(body), body)
}

func scenarioSpec(addr, text string) *spec.Spec {
	order := testSpec(addr)
	order.Request, order.Expect = nil, spec.Expect{}
	order.Scenario = &spec.Scenario{Name: "test.yaml", Text: []byte(text), Base: "http://" + addr, Seed: 1}
	return order
}

// targetsOf returns the results of a loop's targets.
func targetsOf(t *testing.T, l *loop) []spec.Target {
	t.Helper()
	targets, err := l.play.result(l.rec.Requests, l.rec.Hist)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range targets {
		if n := decode(t, target.Histogram).TotalCount(); uint64(n) != target.Requests {
			t.Errorf("%s: %d latencies of %d answers", target.Name, n, target.Requests)
		}
	}
	return targets
}

func TestScenario(t *testing.T) {
	for _, tc := range []struct {
		name   string
		piece  int
		change func(*spec.Spec)
	}{
		{"closed loop", 0, func(*spec.Spec) {}},
		{"answers in pieces", 7, func(*spec.Spec) {}},
		{"fresh connections", 0, func(s *spec.Spec) { s.PerConnection = 1 }},
		{"think", 0, func(s *spec.Spec) { s.Scenario.Think = "exponential:100us" }},
		{"think and fresh connections", 0, func(s *spec.Spec) { s.Scenario.Think, s.PerConnection = "uniform:10us,1ms", 2 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := newKeeper()
			s := serveAsked(t, tc.piece, k.answer)
			order := scenarioSpec(s.addr, shop)
			tc.change(order)
			l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= 200 })
			k.check(t, targetsOf(t, l), order.Connections)
			if e := errorsOf(&l.rec.Counters); len(e) != 1 || e[spec.ErrCheck] != k.seen["refused"] {
				t.Errorf("errors %v, %d payments were refused", e, k.seen["refused"])
			}
			if got := uint64(l.rec.Hist.TotalCount()); got != l.rec.Requests || l.rec.Answered != got+k.seen["refused"]+uint64(order.Connections) {
				t.Errorf("%d latencies of %d requests, %d answers", got, l.rec.Requests, l.rec.Answered)
			}
			if first := l.rec.FirstBytes(l.rec.Hist); first.TotalCount() != l.rec.Hist.TotalCount() || first.Max() > l.rec.Hist.Max() {
				t.Errorf("%d first bytes, the last after %d ns", first.TotalCount(), first.Max())
			}
			if uint64(l.rec.Connect.TotalCount()) != l.rec.Connects {
				t.Errorf("%d connect times of %d connections", l.rec.Connect.TotalCount(), l.rec.Connects)
			}
		})
	}
}

// In an open loop every arrival is one request of the user whose connection it
// takes, after that user's setup.
func TestScenarioInAnOpenLoop(t *testing.T) {
	k := newKeeper()
	s := serveAsked(t, 0, k.answer)
	order := scenarioSpec(s.addr, shop)
	plan := openSpec(s.addr, 1000)
	order.Arrivals, order.Window, order.Tick, order.Connections = plan.Arrivals, plan.Window, plan.Tick, 8
	// As the generator's process receives it.
	data, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	order = &spec.Spec{}
	if err := json.Unmarshal(data, order); err != nil {
		t.Fatal(err)
	}
	res := runOpen(t, order)
	k.mu.Lock()
	refused := k.seen["refused"]
	k.mu.Unlock()
	if o := res.Open; o.Due != due(order) || o.Failed != refused || o.Unfinished != 0 {
		t.Errorf("%+v, want %d due and %d failed", o, due(order), refused)
	}
	k.check(t, res.Targets, order.Connections)
	var sum uint64
	for _, target := range res.Targets {
		if !target.Setup {
			sum += target.Requests
		}
	}
	if sum+res.Open.Failed != res.Open.Due {
		t.Errorf("%d right answers of targets and %d failures of %d arrivals", sum, res.Open.Failed, res.Open.Due)
	}
	if n := decode(t, res.FirstByte).TotalCount(); uint64(n) != sum {
		t.Errorf("%d first bytes of %d answers", n, sum)
	}
}

// Unanswered requests are in the latencies of their target too.
func TestScenarioUnfinished(t *testing.T) {
	order := scenarioSpec("127.0.0.1:1", "targets: [{name: a, url: /a}, {name: b, url: /b}]\n")
	order.Arrivals = openSpec("", 500).Arrivals
	l, err := newLoop(context.Background(), order)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, l)
	l.open.Begin(1000, 2000)
	c := &l.conns[0]
	l.play.compose(c, 1)
	for _, intended := range []int64{999, 1000, 1999, 2000} {
		c.arrival.Intended = intended
		l.play.unfinished(&c.exchange, l.open, 10_000)
	}
	h := l.play.counts[c.turn.targets[0].Index()].hist
	if h.TotalCount() != 2 || h.Min() > 8001 || h.Max() < 9000 {
		t.Errorf("%d samples from %d to %d", h.TotalCount(), h.Min(), h.Max())
	}
}

// One constant request with checks uses the template: repeated answers are
// compared by their bytes, and a changed one is parsed.
func TestConstantScenario(t *testing.T) {
	var mu sync.Mutex
	bad := uint64(0)
	s := serveAsked(t, 0, func(a asked) string {
		mu.Lock()
		defer mu.Unlock()
		if a.n%5 == 0 {
			bad++
			return ok("farewell")
		}
		return ok("welcome")
	})
	for _, pipeline := range []int{1, 4} {
		mu.Lock()
		bad = 0
		mu.Unlock()
		order := scenarioSpec(s.addr, "targets:\n- {name: home, url: /, checks: [{name: kind, body: {contains: welcome}}]}\n")
		order.Pipeline = pipeline
		l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= 200 })
		targets := targetsOf(t, l)
		mu.Lock()
		if l.play.constant == nil || l.template.Size() == 0 {
			t.Error("no template is in use")
		}
		if len(targets) != 1 || targets[0].Checks["kind"] != bad || targets[0].Requests != l.rec.Requests || l.rec.Errors[tally.KindCheck] != bad {
			t.Errorf("targets %+v, errors %v; %d answers were bad", targets, errorsOf(&l.rec.Counters), bad)
		}
		mu.Unlock()
	}
}

// The answers to a batch of different requests, including HEAD, are matched one by one.
func TestScenarioPipelined(t *testing.T) {
	k := newKeeper()
	s := serveAsked(t, 11, k.answer)
	order := scenarioSpec(s.addr, `
defaults: {headers: {Authorization: Bearer t}}
targets:
  - {name: home, url: /, checks: [{body: {equals: welcome}}]}
  - {name: head, method: HEAD, url: /head}
`)
	order.Pipeline = 8
	l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= 400 })
	k.check(t, targetsOf(t, l), 0)
	if e := errorsOf(&l.rec.Counters); len(e) > 0 || l.rec.Sent != l.rec.Answered {
		t.Errorf("errors %v, %d sent, %d answered", e, l.rec.Sent, l.rec.Answered)
	}
}

// When a connection breaks within a flow, the answer is lost and the user begins another
// iteration without another login.
func TestScenarioOnBrokenConnections(t *testing.T) {
	var logins, broken, again sync.Map
	s := serveAsked(t, 0, func(a asked) string {
		user := string(a.body)
		switch {
		case a.path == "/login":
			if _, twice := logins.LoadOrStore(user, true); twice {
				again.Store(user, true)
			}
			return ok(user)
		case a.n%4 == 0:
			broken.Store(a.conn, true)
			a.conn.Close()
		}
		return ok(user)
	})
	order := scenarioSpec(s.addr, `
variables: {id: {counter: 1, per: user}}
setup: [{name: login, method: POST, url: /login, body: "${id}", captures: {me: {regexp: "^[0-9]+"}}}]
flows: [{name: f, steps: [{name: one, method: POST, url: /one, body: "${me}", checks: [{body: {matches: "^[0-9]+$"}}]}, {name: two, method: POST, url: /two, body: "${me}"}]}]
`)
	l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= 30 && c.Failures() >= 10 })
	count := func(m *sync.Map) (n uint64) {
		m.Range(func(any, any) bool { n++; return true })
		return n
	}
	if count(&logins) != uint64(order.Connections) || count(&again) != 0 {
		t.Errorf("%d users logged in, %d of them again", count(&logins), count(&again))
	}
	var errs uint64
	for _, target := range targetsOf(t, l) {
		errs += target.Errors
	}
	if e := errorsOf(&l.rec.Counters); e[spec.ErrCheck] != 0 || errs != l.rec.Failures() || errs != count(&broken) {
		t.Errorf("errors %v, %d of targets, %d connections broke", e, errs, count(&broken))
	}
}

// A user who thinks for an hour is neither a timeout nor a reason to give up.
func TestThink(t *testing.T) {
	s := serveAsked(t, 0, func(asked) string { return ok("hello") })
	order := scenarioSpec(s.addr, "targets: [{url: /}]\n")
	order.Scenario.Think = "1h"
	l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= uint64(order.Connections) })
	l.draining = false
	l.base = l.base.Add(-30 * time.Minute)
	l.nextScan = 0
	if err := l.Until(l.Now() + int64(time.Millisecond)); err != nil || l.rec.Sent != uint64(order.Connections) || l.timers.Len() != order.Connections {
		t.Errorf("after half an hour: %d requests, %d timers, %v", l.rec.Sent, l.timers.Len(), err)
	}
	l.base = l.base.Add(-31 * time.Minute)
	l.lastRight = l.Now() // as if the loop had run all the time
	for bound := l.Now() + int64(2*time.Minute); l.rec.Requests < 2*uint64(order.Connections); {
		if err := l.Until(l.Now() + int64(time.Millisecond)); err != nil || l.Now() > bound {
			t.Fatalf("after an hour: %d right answers, %v", l.rec.Requests, err)
		}
	}
}

func TestScenarioRefuses(t *testing.T) {
	for _, tc := range []struct {
		text   string
		change func(*spec.Spec)
		want   string
	}{
		{"targets: [{url: /}]", func(s *spec.Spec) { s.Request = []byte("x") }, "a request and a scenario"},
		{"targets: [{url: /}]", func(s *spec.Spec) { s.Idle = true }, "a scenario with idle connections"},
		{"targets: [{url: /}]", func(s *spec.Spec) { s.Scenario.Think = "soon" }, "think time: "},
		{"targets: [{url: /}]", func(s *spec.Spec) { s.Scenario.First = 8; s.Scenario.Users = 10 }, "users 8 to 10 of 10"},
		{"targets: [{url: https://127.0.0.1/}]", func(*spec.Spec) {}, "requests use https"},
		{"targets: [{url: http://127.0.0.1:1/}, {url: http://127.0.0.1:2/}]", func(*spec.Spec) {}, "requests to 2 servers"},
		{"flows: [{name: f, steps: [{url: /}]}]", func(s *spec.Spec) { s.Pipeline = 2 }, "cannot use a pipeline of 2"},
		{"tragets: []", func(*spec.Spec) {}, "test.yaml:1"},
		{"targets: [{url: /}]", func(s *spec.Spec) { s.Sources = []string{"there"} }, `source address "there"`},
		{"targets: [{url: /}]", func(s *spec.Spec) { s.Sources = []string{"::1"} }, "of another family"},
		{"targets: [{url: /}]", func(s *spec.Spec) { s.ConnectRate = -1 }, "connect rate is -1"},
		{"targets: [{url: /}]", func(s *spec.Spec) { s.Slow.Read = -1 }, "slow connections are"},
		{"targets: [{url: /}]", func(s *spec.Spec) { s.PerConnection = -1 }, "requests per connection is -1"},
	} {
		order := scenarioSpec("127.0.0.1:1", tc.text)
		tc.change(order)
		if _, err := collect(context.Background(), order); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", tc.text, err, tc.want)
		}
	}
}

// Different requests do not allocate either, once they have their buffers.
func TestScenarioAllocates(t *testing.T) {
	s := serve(t, func(_ *scripted, c *net.TCPConn) {
		in, out := make([]byte, 4096), []byte(goodAnswer)
		for {
			if n, err := c.Read(in); err != nil || n == 0 {
				return
			}
			if _, err := c.Write(out); err != nil {
				return
			}
		}
	})
	order := scenarioSpec(s.addr, "variables: {id: {int: [1, 99]}}\ntargets: [{url: '/${id}', checks: [{body: {equals: hello}}]}]\n")
	l, err := newLoop(context.Background(), order)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, l)
	wantFewAllocs(t, l)
}

// single returns the spec of one request given by flags.
func single(addr string, r scenario.Request) *spec.Spec {
	order := scenarioSpec(addr, "")
	r.URL = "/"
	order.Scenario = &spec.Scenario{Request: &r, Base: "http://" + addr}
	return order
}

// An access log of many thousand lines does not use much memory for histograms.
func TestManyTargets(t *testing.T) {
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "GET /items/%d\n", i)
	}
	p, err := newPlay(&spec.Spec{Connections: 1, Pipeline: 1, Scenario: &spec.Scenario{Name: "log", Text: []byte(text.String()), Base: "http://h"}})
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for i := range p.counts {
		size += p.counts[i].hist.ByteSize()
	}
	if len(p.counts) != 20_000 || size > 128<<20 {
		t.Errorf("%d targets, histograms of %d bytes", len(p.counts), size)
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
}
