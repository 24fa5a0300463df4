// Package sample generates load runs for tests: the same on every call.
package sample

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
)

// Hostile is text that would escape from its element, or execute, if it were not escaped.
const Hostile = `</script></style></title>"'><script>window.pwned=1</script><img src=x onerror=alert(1)>` + "\u2028\x1b[2J"

// Kinds are the runs that Run makes.
var Kinds = []string{"closed", "open", "stream", "find", "scenario", "workers", "ramp", "bare", "nothing"}

// The dimensions of a generated run.
const (
	window, warmup = 10.0, 2.0 // seconds
	tick           = 0.2       // seconds
	eachTick       = 400       // requests
)

// Run generates a run of a kind. The kind bare has only figures of the load; the kind nothing
// has no answers.
func Run(kind string) (*present.Document, error) {
	m := &maker{rng: rand.New(rand.NewPCG(7, 11)), all: newHistogram()}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	d := &present.Document{
		Tool: "v1", Command: []string{"load", "http://127.0.0.1:8080/hello"}, Started: at, Ended: at.Add(12 * time.Second), URL: "http://127.0.0.1:8080/hello",
		Series: []present.Point{}, Notes: []string{},
		Config: present.Config{
			Method: "GET", Headers: 80, Status: 200, Connections: 64, Pipeline: 1, DurationSeconds: window, WarmupSeconds: warmup, TimeoutSeconds: 10, CPUs: []int{1},
		},
		Server: &present.Server{
			PIDs: []int{1234}, CPUs: 2, Memory: results.Memory{RSSPeakBytes: 20 << 20, RSSFinalBytes: 18 << 20}, Process: results.Process{Threads: 9, OpenFiles: 72},
		},
		Machine: results.Machine{CPU: "Example CPU", CPUs: 4, MemoryBytes: 8 << 30, OS: "Linux", Kernel: "6.1", Arch: "amd64", Go: "go1.26", Congestion: "cubic", PortRange: [2]int{32768, 60999}, FileLimit: 1024},
	}
	r := &spec.Result{
		Seconds: window, Errors: map[string]uint64{}, GeneratorCPU: 3, ServerUser: 3, ServerSys: 2, ServerCPU: 5, WarmupSeconds: warmup, Steady: true, BytesIn: 3e6, BytesOut: 2e6,
	}
	limits, target, plan := "p99<5ms,errors<1%", 0.0, (*arrive.Plan)(nil)
	switch kind {
	case "open", "find":
		plan = &arrive.Plan{Rate: 1000, Stages: []arrive.Stage{{For: 10 * time.Second, Rate: 3000}}}
		target, d.Config.Arrivals = 2000, "1000/s, stages 10s:3000"
		r.Open = &spec.Open{Due: 20_000, Sent: 19_990, Waited: 40, Failed: 3, Unfinished: 4}
	case "stream":
		limits = "delay.p99<5ms,missed<1"
		d.Stream = &present.Stream{Config: present.StreamConfig{Format: spec.FormatEvents, Stamp: "ts", ID: "@id"}}
	case "ramp":
		d.Config.Ramp = "0, then 5s:64,5s:0"
	case "bare", "nothing":
		d.Server, limits = nil, ""
	}
	if kind != "nothing" {
		m.series(d, r, kind)
	}
	if err := m.finish(d, r, kind); err != nil {
		return nil, err
	}
	thresholds, err := parse(limits)
	if err != nil {
		return nil, err
	}
	d.Ask(plan)
	if err := d.Fill(r, target, thresholds); err != nil {
		return nil, err
	}
	if kind == "ramp" {
		half := spec.RampStep{Requests: r.Requests / 2, Histogram: r.Connect}
		steps := &arrive.Ramp{Steps: []arrive.RampStep{{For: 5 * time.Second, Users: 64}, {For: 5 * time.Second}}}
		if err := d.FillRamp(steps, 10*time.Second, []spec.RampStep{half, half}); err != nil {
			return nil, err
		}
	}
	m.beside(d, kind)
	return d, nil
}

func parse(limits string) ([]objective.Objective, error) {
	if limits == "" {
		return nil, nil
	}
	return objective.Parse(limits)
}

type maker struct {
	rng *rand.Rand
	all *hdrhistogram.Histogram
}

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(time.Hour), 3) }

// series generates the points and their sums. The sixth second has a stall.
func (m *maker) series(d *present.Document, r *spec.Result, kind string) {
	used := 1.0
	for at := -warmup + tick; at < window+tick/2; at += tick {
		t := &spec.Tick{T: math.Round(at*1e9) / 1e9, Seconds: tick, ServerCPU: 0.5 + 0.1*m.rng.Float64()}
		n, stalled := eachTick+m.rng.IntN(40), t.T > 5.05 && t.T < 5.65
		if stalled {
			n = 0
		}
		own := newHistogram()
		var heat [results.HeatBuckets]uint64
		for range n {
			latency := time.Duration(200e3 * math.Exp(0.6*m.rng.NormFloat64()))
			if m.rng.IntN(200) == 0 {
				latency += 8 * time.Millisecond
			}
			_ = own.RecordValue(int64(latency)) // within an hour
			heat[results.HeatBucket(latency)]++
		}
		for b, n := range heat {
			if n > 0 {
				t.Heat = append(t.Heat, [2]uint64{uint64(b), n})
			}
		}
		t.Requests, t.P50, t.P99 = uint64(n), float64(own.ValueAtQuantile(50))/1e3, float64(own.ValueAtQuantile(99))/1e3
		t.P95 = float64(own.ValueAtQuantile(95)) / 1e3
		if kind != "stream" {
			t.InFlight, t.InFlightMax = 12+float64(n%40)/4, uint64(30+n%34)
			if r.InFlight, r.InFlightMax = 16.5, 64; stalled {
				t.InFlight, t.InFlightMax = 64, 64
			}
			if kind == "workers" {
				t.InFlightMax = 0
			}
		}
		if stalled && kind != "stream" {
			t.Waiting, t.Errors = uint64(2000*(t.T-5)), 2
		}
		if t.T > 0 {
			r.Requests += uint64(n)
			_ = m.all.Merge(own)
		}
		if kind != "workers" {
			used += tick * (0.2 + 0.1*m.rng.Float64())
			t.Used = used
		}
		if kind == "stream" {
			t.Listen = &spec.Heard{Standing: 1000 - int(max(0, t.T)), GapP50: 500e3, GapP99: 600e3 + 1e5*m.rng.Float64(), LagP99: 90, Missed: uint64(m.rng.IntN(2))}
		}
		if kind == "ramp" {
			t.Users = int(64 * (1 - math.Abs(max(t.T, 0)-5)/5))
		}
		m.disturb(t, kind, stalled)
		p := present.PointOf(t)
		if d.Server != nil {
			p.RSSBytes, p.Threads = uint64(18<<20+1e5*at), 9
		} else {
			p.ServerCPU = 0
		}
		if len(d.Series)%5 == 4 && kind != "bare" {
			p.Steal, p.Foreign = m.share(0.02), m.share(0.3)
		}
		if i := len(d.Series); kind == "workers" && i%5 == 4 {
			p.Goroutines, p.Runtime = 70+i, &results.RuntimeSample{HeapBytes: uint64(3+i%4) << 20, GCCycles: 4, SchedLatencyP99Us: 40}
		}
		d.Series = append(d.Series, p)
	}
	if kind != "stream" && kind != "bare" {
		r.Errors["reset"] = 6
	}
}

// disturb generates what a tick says of the generator, which does not run during the stall, and of the
// targets of a scenario.
func (m *maker) disturb(t *spec.Tick, kind string, stalled bool) {
	if kind != "stream" && kind != "bare" {
		if t.Held = 0.01 * m.rng.Float64(); stalled {
			t.Held = 0.9
		}
	}
	if kind == "scenario" {
		half := make([][2]uint64, 0, len(t.Heat))
		for _, h := range t.Heat {
			half = append(half, [2]uint64{min(h[0]+4, results.HeatBuckets-1), h[1] / 2})
		}
		t.TargetHeat = [][][2]uint64{nil, t.Heat, half}
	}
}

// share generates a share of at most most.
func (m *maker) share(most float64) *float64 {
	share := most * m.rng.Float64()
	return &share
}

// finish generates the distributions.
func (m *maker) finish(d *present.Document, r *spec.Result, kind string) error {
	encode := func(h *hdrhistogram.Histogram) (string, error) {
		text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		return string(text), err
	}
	few := newHistogram()
	for i := range 20_000 {
		_ = few.RecordValue(int64(1000 + i)) // within an hour
	}
	all, err := encode(m.all)
	if err != nil {
		return err
	}
	short, err := encode(few)
	if err != nil {
		return err
	}
	r.Histogram = all
	if r.Open != nil {
		r.Open.Service, r.Open.Lag, r.Open.Pacing = all, short, short
	}
	if kind == "stream" {
		r.Listen = &spec.Subscribed{
			Subscribers: 1000, Standing: 991, Lowest: 990, Events: r.Requests, Numbered: r.Requests, Stamped: r.Requests, Missed: 20, Gap: all, Lag: short,
		}
	} else if kind != "nothing" {
		r.Connects, r.Connect, r.FirstByte = 64, short, all
	}
	if kind == "scenario" {
		d.Config.Scenario = "shop.yaml"
		r.Flows = []spec.Flow{{Name: "buy", Completed: 20_000, Aborted: 2, Unfinished: 60, Histogram: short, Waited: short}}
		for i, name := range []string{"setup/login", "home", "buy/pay"} {
			r.Targets = append(r.Targets, spec.Target{Name: name, Tags: map[string]string{"kind": name[:3]}, Setup: i == 0, Requests: uint64(1000 * (i + 1)), Histogram: short, Checks: map[string]uint64{"status 201": uint64(i)}})
		}
	}
	return nil
}

// beside adds the figures that the generator does not report.
func (m *maker) beside(d *present.Document, kind string) {
	switch kind {
	case "find":
		p50, p99 := 210.0, 900.0
		d.Search = &objective.Found{Rate: 2000, Text: "2000/s: kept there, and broken at 2090/s (4 % higher)", Trials: []objective.Trial{
			{Rate: 1000, Phase: "bracket", Verdict: objective.Kept, P50: &p50, P99: &p99},
			{Rate: 4000, Phase: "bracket", Verdict: objective.Broken, Why: "p99<5ms: it is 31.0 ms", P50: &p50, P99: &p99},
			{Rate: 2000, Phase: "confirm", Verdict: objective.Kept, P50: &p50, P99: &p99},
		}}
	case "workers":
		lag := 12.5
		var list []present.Worker
		for i := range 3 {
			w := present.Worker{
				Index: i, Host: fmt.Sprintf("rack-%d", 5-i), PID: 4000 + i, Connections: 22 - i%2, Seconds: window, Requests: d.Requests / 3, CPUUtilisation: 0.61, SendLagP99: &lag,
				Clock: results.Clock{OffsetMs: 3.21 * float64(i-1), UncertaintyMs: 0.04, LateMs: 0.1},
			}
			w.RequestsPerSecond = float64(w.Requests) / w.Seconds
			if i == 1 {
				w.Lost, w.CPUUtilisation = "worker 1 (process 4001 on rack-4) was lost: it stopped responding", 0
			}
			list = append(list, w)
		}
		d.AddWorkers(list, []string{list[1].Lost}, []string{"process 5 on x was refused"})
		d.Runtime = &present.Runtime{Source: "pprof", Runtime: results.Runtime{AllocsPerRequest: 16.5, BytesPerRequest: 3500, Goroutines: 71}}
	}
}

// Spoil puts hostile text everywhere that foreign text is possible.
func Spoil(d *present.Document) {
	d.URL, d.Partial, d.Tool, d.Command = Hostile, Hostile, Hostile, []string{Hostile}
	d.Notes = append(d.Notes, Hostile)
	d.Machine.CPU, d.Machine.OS, d.Machine.Commit, d.Config.Arrivals, d.Config.Think = Hostile, Hostile, Hostile, Hostile, Hostile
	d.Errors[Hostile] = 1
	d.Valid = false
	d.Gates = append(d.Gates, results.Gate{Name: Hostile, Text: Hostile})
	d.Thresholds = append(d.Thresholds, objective.Judged{Objective: Hostile, Why: Hostile})
	d.Profiles = append(d.Profiles, present.Profile{Kind: Hostile, File: Hostile, Missing: Hostile, Top: []present.Function{{Name: Hostile}}})
	d.Targets = append(slices.Clone(d.Targets), results.Target{Name: Hostile, Checks: map[string]uint64{Hostile: 1}})
	d.Tags = append(slices.Clone(d.Tags), results.Tag{Name: Hostile, Value: Hostile})
	d.Workers = append(slices.Clone(d.Workers), present.Worker{Host: Hostile, Lost: Hostile})
	d.Search = &objective.Found{Text: Hostile, Trials: []objective.Trial{{Phase: Hostile, Verdict: Hostile, Why: Hostile}}}
}
