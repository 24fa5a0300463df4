package request

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/verdict"
)

const (
	ms  = int64(time.Millisecond)
	sec = int64(time.Second)
)

// server is a scripted server in virtual time: it returns when the n-th request, sent at a
// time, is answered. It accepts any number at once.
type server func(n int, sent int64) int64

func fixed(_ int, sent int64) int64 { return sent + 5*ms }

func bimodal(n int, sent int64) int64 {
	if n%10 == 9 {
		return sent + 50*ms
	}
	return sent + ms
}

// stall takes 5 ms a request, and stalls from second 5 to second 7.
func stall(_ int, sent int64) int64 {
	switch done := sent + 5*ms; {
	case sent >= 7*sec || done <= 5*sec:
		return done
	case sent < 5*sec:
		return done + 2*sec
	default:
		return 7*sec + 5*ms
	}
}

// simulate drives the queue and the ledger as the loop does, on a clock that
// jumps from event to event, over a window of ten seconds and to the last answer.
func simulate(plan *arrive.Plan, connections int, s server) *tally.Ledger {
	g := tally.NewLedger(tally.NewRecorder())
	g.Begin(0, 10*sec)
	q := arrive.NewQueue(connections)
	q.Begin(plan, 0, 10*sec)
	conns := make([]tally.Arrival, connections)
	done := make([]int64, connections)
	for i := range conns {
		q.Free(i, 0)
		done[i] = math.MaxInt64
	}
	n := 0
	for {
		next := slices.Index(done, slices.Min(done))
		now := min(done[next], q.Ready())
		if now == math.MaxInt64 {
			return g
		}
		if done[next] == now {
			g.Right(&conns[next], now)
			done[next] = math.MaxInt64
			q.Free(next, now)
		}
		if a, ok := q.Take(now); ok {
			conns[a.Conn] = g.Send(a, now)
			done[a.Conn] = s(n, now)
			n++
		}
	}
}

// truth returns the response times of users with so many lines to the server, calculated
// from the definition: the next in the queue takes the line that is free first
// (Kiefer and Wolfowitz 1955). Sorted.
func truth(plan *arrive.Plan, connections int, s server) (response, service, lag []int64) {
	free := make([]int64, connections)
	times := plan.Times()
	for n := 0; ; n++ {
		at, ok := times.Next()
		if !ok || at >= 10*sec {
			break
		}
		i := slices.Index(free, slices.Min(free))
		sent := max(at, free[i])
		free[i] = s(n, sent)
		response, service, lag = append(response, free[i]-at), append(service, free[i]-sent), append(lag, sent-at)
	}
	slices.Sort(response)
	slices.Sort(service)
	slices.Sort(lag)
	return response, service, lag
}

// same compares a histogram with a sample. Its buckets are less than 0.1 % wide.
func same(t *testing.T, what string, h *hdrhistogram.Histogram, sorted []int64) {
	t.Helper()
	if h.TotalCount() != int64(len(sorted)) {
		t.Fatalf("%s: %d samples, want %d", what, h.TotalCount(), len(sorted))
	}
	rank := 0
	for _, bar := range h.Distribution() {
		for range bar.Count {
			if got, want := bar.To, max(sorted[rank], 1); math.Abs(float64(got-want)) > 0.001*float64(want) {
				t.Fatalf("%s: number %d of %d is %v, want %v", what, rank+1, len(sorted), time.Duration(got), time.Duration(want))
			}
			rank++
		}
	}
	if rank != len(sorted) {
		t.Fatalf("%s: the distribution has %d of %d samples", what, rank, len(sorted))
	}
}

func quantiles(t *testing.T, what string, h *hdrhistogram.Histogram, want map[float64]int64) {
	t.Helper()
	for q, ns := range want {
		if got := h.ValueAtQuantile(q); math.Abs(float64(got-ns)) > 0.001*float64(ns) {
			t.Errorf("%s: p%v is %v, want %v", what, q, time.Duration(got), time.Duration(ns))
		}
	}
}

// The figures calculated by hand, for a thousand arrivals a second over ten seconds.
func TestOpenLoopTellsTheTruth(t *testing.T) {
	plan := &arrive.Plan{Rate: 1000}
	for _, tc := range []struct {
		name              string
		connections       int
		server            server
		response, service map[float64]int64
		waited            uint64
	}{
		{
			name: "5 ms", connections: 64, server: fixed,
			response: map[float64]int64{1: 5 * ms, 50: 5 * ms, 99.99: 5 * ms},
			service:  map[float64]int64{1: 5 * ms, 50: 5 * ms, 99.99: 5 * ms},
		},
		{
			// Four lines carry 800 a second. The n-th request leaves n+n/4 ms
			// after the start: n/4 ms late.
			name: "5 ms, too few connections", connections: 4, server: fixed, waited: 9996,
			response: map[float64]int64{50: 5*ms + 1249*ms, 99: 5*ms + 2474*ms, 100: 5*ms + 2499*ms},
			service:  map[float64]int64{50: 5 * ms, 99.99: 5 * ms},
		},
		{
			name: "bimodal", connections: 64, server: bimodal,
			response: map[float64]int64{50: ms, 90: ms, 90.01: 50 * ms, 99.99: 50 * ms},
			service:  map[float64]int64{50: ms, 90: ms, 90.01: 50 * ms, 99.99: 50 * ms},
		},
		{
			// Arrivals during the stall wait for its rest: 5.000 s until 7.005 s,
			// 5.001 s a millisecond less; and the four that were in the server when it
			// began, two seconds and their 5 ms.
			name: "stall", connections: 4000, server: stall,
			response: map[float64]int64{50: 5 * ms, 79.96: 5 * ms, 79.97: 6 * ms, 90: 1009 * ms, 99: 1909 * ms, 99.9: 1999 * ms, 100: 2005 * ms},
			service:  map[float64]int64{50: 5 * ms, 90: 1009 * ms, 99: 1909 * ms, 100: 2005 * ms},
		},
		{
			// With 64 lines only 64 requests are in the server during the stall. A
			// generator that measures only these has a p99 of 5 ms. From
			// 5.060 s on arrivals wait for a line. 64 lines become free every 5 ms
			// from 7.005 s on: 59 more than arrive, so the first not to wait is
			// the one at 7.165 s. The wait of number 64j+i ends after
			// 1950-59j-i ms.
			name: "stall, 64 connections", connections: 64, server: stall, waited: 2105,
			response: map[float64]int64{50: 5 * ms, 90: 1084 * ms, 100: 2005 * ms},
			service:  map[float64]int64{50: 5 * ms, 99: 5 * ms, 99.36: 5 * ms, 99.37: 1946 * ms, 100: 2005 * ms},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := simulate(plan, tc.connections, tc.server)
			quantiles(t, "response time", g.Rec.Hist, tc.response)
			quantiles(t, "service time", g.ServiceTimes, tc.service)
			response, service, lag := truth(plan, tc.connections, tc.server)
			same(t, "response time", g.Rec.Hist, response)
			same(t, "service time", g.ServiceTimes, service)
			same(t, "send lag", g.LagTimes, lag)
			if late := slices.IndexFunc(lag, func(ns int64) bool { return ns > 0 }); late >= 0 && g.Waited != uint64(len(lag)-late) || late < 0 && g.Waited > 0 {
				t.Errorf("%d waited, %d left late", g.Waited, len(lag)-late)
			}
			if g.Waited != tc.waited {
				t.Errorf("%d waited, want %d", g.Waited, tc.waited)
			}
			if g.PacingTimes.Max() > 1 {
				t.Errorf("the generator was %d ns late on a stopped clock", g.PacingTimes.Max())
			}
		})
	}
}

// Random arrivals and random service are compared with truth.
func TestOpenLoopWithRandomArrivals(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		times := make([]int64, 40_000)
		for i := range times {
			times[i] = int64(rng.ExpFloat64() * 3e6)
		}
		s := func(n int, sent int64) int64 { return sent + times[n] }
		plan := &arrive.Plan{
			Rate: 1000, Poisson: true, Seed: seed,
			Stages: []arrive.Stage{{For: 5 * time.Second, Rate: 2000}},
			Burst:  arrive.Burst{Factor: 2, Every: time.Second, For: 100 * time.Millisecond},
		}
		connections := 1 + rng.IntN(20)
		g := simulate(plan, connections, s)
		response, service, lag := truth(plan, connections, s)
		same(t, "response time", g.Rec.Hist, response)
		same(t, "service time", g.ServiceTimes, service)
		same(t, "send lag", g.LagTimes, lag)
	}
}

func TestLedgerCountsTheWindowAlone(t *testing.T) {
	g := tally.NewLedger(tally.NewRecorder())
	before := g.Send(arrive.Arrival{Intended: 50, Possible: 50}, 60)
	g.Begin(100, 200)
	g.Right(&before, 150)
	first := g.Send(arrive.Arrival{Intended: 100, Possible: 100}, 110)
	last := g.Send(arrive.Arrival{Intended: 199, Possible: 250}, 260)
	after := g.Send(arrive.Arrival{Intended: 200, Possible: 200}, 260)
	g.Right(&first, 120)
	g.Right(&last, 300)
	g.Right(&after, 300)
	broken := g.Send(arrive.Arrival{Intended: 150, Possible: 150}, 150)
	g.Fail(&broken)
	g.Fail(&broken)
	g.Fail(&first) // its answer arrived
	g.GiveUp(160, 460)
	g.GiveUp(210, 460)
	g.Abandon(170, 460)
	g.Abandon(220, 460)
	if g.Sent != 3 || g.Waited != 2 || g.Failed != 1 || g.Unfinished != 2 {
		t.Errorf("counted %+v", g.Open)
	}
	same(t, "response time", g.Rec.Hist, []int64{20, 101, 290, 300})
	same(t, "service time", g.ServiceTimes, []int64{10, 40})
	same(t, "send lag", g.LagTimes, []int64{0, 10, 61})
	same(t, "pacing", g.PacingTimes, []int64{0, 10, 10})
}

// gatesOf returns the texts of the gates that a result fails.
func gatesOf(t *testing.T, g *tally.Ledger, due uint64, cpu float64) (failed []string) {
	t.Helper()
	open, err := g.Result()
	if err != nil {
		t.Fatal(err)
	}
	open.Due = due
	res := &spec.Result{Seconds: 10, GeneratorCPU: 10 * cpu, Open: open}
	if res.Histogram, err = tally.Encode(g.Rec.Hist); err != nil {
		t.Fatal(err)
	}
	gates, err := verdict.Open(res, 0)
	if err != nil || len(gates) != 3 {
		t.Fatalf("%v, %v", gates, err)
	}
	for _, gate := range gates {
		if !gate.Passed {
			failed = append(failed, gate.Text)
		}
	}
	return failed
}

func TestGates(t *testing.T) {
	plan := &arrive.Plan{Rate: 1000}
	late := func() *tally.Ledger {
		g := tally.NewLedger(tally.NewRecorder())
		g.Begin(0, 10*sec)
		for range 1000 {
			a := g.Send(arrive.Arrival{Intended: ms, Possible: ms}, 2*ms)
			g.Right(&a, 3*ms)
		}
		return g
	}
	short := simulate(plan, 4, fixed)
	short.Sent = 8000
	for _, tc := range []struct {
		name   string
		ledger *tally.Ledger
		due    uint64
		cpu    float64
		want   []string
	}{
		{"all is well", simulate(plan, 64, fixed), 10_000, 0.8, nil},
		{"overload", short, 10_000, 0.1, []string{
			"only 80.0 % of the arrivals were sent by the end of the window (8000 of 10000)",
			"requests left too late, p50 of the send lag 1.25 s with 125 ms allowed; 100.0 % of the arrivals waited for a connection",
		}},
		{"late generator", late(), 1000, 0.1, []string{
			"requests left too late, p50 of the send lag 1.00 ms with 200 µs allowed; the generator itself was late (p50 1.00 ms)",
		}},
		{"full generator", simulate(plan, 64, fixed), 10_000, 0.85, []string{"the generator's core was 85 % busy, more than the 80 %"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := gatesOf(t, tc.ledger, tc.due, tc.cpu)
			if !slices.EqualFunc(got, tc.want, strings.HasPrefix) {
				t.Errorf("failed %q, want %q", got, tc.want)
			}
		})
	}
	if gates, err := verdict.Pacing(&spec.Result{}, 50); gates != nil || err != nil {
		t.Errorf("a closed loop has the gates %v, %v", gates, err)
	}
	if gates, err := verdict.Open(&spec.Result{}, 0); gates != nil || err != nil {
		t.Errorf("a closed loop has gates %v, %v", gates, err)
	}
}

// TestPacingGates checks that waits for a connection count as the server's, and delays of
// the generator as the generator's.
func TestPacingGates(t *testing.T) {
	late := tally.NewLedger(tally.NewRecorder())
	late.Begin(0, 10*sec)
	for range 1000 {
		a := late.Send(arrive.Arrival{Intended: ms, Possible: ms}, 2*ms)
		late.Right(&a, 3*ms)
	}
	for _, tc := range []struct {
		name   string
		ledger *tally.Ledger
		due    uint64
		floor  float64
		passed bool
	}{
		{"four connections", simulate(&arrive.Plan{Rate: 1000}, 4, fixed), 10_000, 50, true},
		{"late generator", late, 1000, 50, false},
		{"late generator with more allowed", late, 1000, 2000, true},
	} {
		open, err := tc.ledger.Result()
		if err != nil {
			t.Fatal(err)
		}
		open.Due = tc.due
		res := &spec.Result{Seconds: 10, GeneratorCPU: 1, Open: open}
		if res.Histogram, err = tally.Encode(tc.ledger.Rec.Hist); err != nil {
			t.Fatal(err)
		}
		gates, err := verdict.Pacing(res, tc.floor)
		if err != nil {
			t.Fatal(err)
		}
		if len(gates) != 3 || gates[1].Name != "pacing" || gates[1].Passed != tc.passed {
			t.Errorf("%s: gates %+v, want pacing to pass: %v", tc.name, gates, tc.passed)
		}
	}
}
