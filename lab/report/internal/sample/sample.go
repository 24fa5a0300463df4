// Package sample returns an invented results file for the tests of the report, the same
// on every call.
//
// It contains the cases that a report has to handle: nine subjects and the twin of the
// baseline, three workloads (one of them a stream), six blocks, a run that was
// disturbed, a subject that never started and has hostile standard
// error, and one that the generator limited.
package sample

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redline-go/redline/lab/results"
)

// Hostile is text that escapes from HTML, Markdown and terminal output if it is not
// escaped. It is the standard error of the failed run.
const Hostile = "panic: </script><script>window.pwned=1</script>\n" +
	"\x1b[2J\x1b]0;pwned\x07```\n| a | b |\n<img src=x onerror=\"window.pwned=1\"> & \u2028 \u202egnp.exe\n" +
	"goroutine 1 [running]:\nmain.main()\n\t/src/main.go:17 +0x1d"

// HostileTitle is the title of the subject that fails.
const HostileTitle = `</script><b onmouseover="window.pwned=1">echo</b> v4`

const (
	window = 5.0
	tick   = 0.2
	blocks = 6
)

// model holds the invented properties of a subject.
type model struct {
	name, title, role, kind string
	cpu                     [3]float64 // microseconds per request, by workload
	tail                    float64    // share of requests in the slow mode
	rss                     float64    // MiB
	allocs                  float64
}

var models = []model{
	{"net-http", "net/http go1.26.8", "baseline", "go", [3]float64{9.41, 11.9, 9.2}, 0.004, 21.4, 12},
	{"net-http@twin", "net/http go1.26.8", "twin", "go", [3]float64{9.39, 11.92, 9.21}, 0.004, 21.3, 12},
	{"redline", "redline v0.1.0", "subject", "go", [3]float64{4.02, 4.31, 3.9}, 0.0005, 9.8, 0},
	{"fasthttp", "fasthttp v1.73.0", "subject", "go", [3]float64{4.57, 5.5, 10.5}, 0.001, 14.2, 0},
	{"fiber", "fiber v3.1.0", "subject", "go", [3]float64{4.93, 5.92, 10.6}, 0.0015, 16.8, 1},
	{"hertz", "hertz v0.10.2", "subject", "go", [3]float64{5.81, 6.6, 9.8}, 0.002, 24.1, 3},
	{"gin", "gin v1.11.0", "subject", "go", [3]float64{9.43, 12.1, 9.5}, 0.004, 22.9, 13},
	{"chi", "chi v5.2.3", "subject", "go", [3]float64{9.62, 12.3, 9.4}, 0.005, 22.0, 15},
	{"echo", HostileTitle, "subject", "go", [3]float64{9.61, 12.2, 9.7}, 0.005, 22.4, 13.5},
	{"limit", "limit (C, epoll)", "floor", "external", [3]float64{3.55, 3.68, 3.6}, 0.0002, 1.6, 0},
}

var workloads = []results.Workload{
	{
		Name: "plaintext", Title: "Plaintext, bare client", Unit: "request", Method: "GET", Path: "/plaintext",
		HeaderBytes: 41, Connections: 64, Pipeline: 1,
	},
	{
		Name: "browser", Title: "Plaintext, headers of a browser", Unit: "request", Method: "GET", Path: "/plaintext",
		HeaderBytes: 803, Connections: 64, Pipeline: 1,
	},
	{
		Name: "push", Title: "Server-sent events, 5,000 subscribers", Unit: "event", Method: "GET", Path: "/events",
		HeaderBytes: 64, Connections: 5000, Pipeline: 1,
	},
}

// made returns the results file as JSON: generating it takes longer than decoding it.
var made = sync.OnceValue(func() []byte {
	data, err := json.Marshal(generate())
	if err != nil {
		panic(fmt.Sprintf("sample: encode: %v", err))
	}
	return data
})

// File returns a new copy of the invented results.
func File() *results.File {
	f := new(results.File)
	if err := json.Unmarshal(made(), f); err != nil {
		panic(fmt.Sprintf("sample: decode: %v", err))
	}
	return f
}

func generate() *results.File {
	start := time.Date(2026, 11, 21, 5, 30, 0, 0, time.UTC)
	f := &results.File{
		Schema: results.SchemaName, Version: results.SchemaVersion,
		Tool: "redline v0.1.0 (3f2c1ab)", Command: []string{"redline", "compare", "--quick"},
		Started: start, Ended: start.Add(24*time.Minute + 11*time.Second),
		Machine: results.Machine{
			CPU: "Intel(R) Xeon(R) Processor @ 2.70GHz", CPUs: 2, MemoryBytes: 24 << 30,
			OS: "Debian GNU/Linux 12 (bookworm)", Kernel: "6.18.5", Arch: "amd64", Go: "go1.26.8", Virtual: "kvm",
			Mitigations: map[string]string{"meltdown": "Not affected", "spectre_v2": "Mitigation: Enhanced IBRS"},
			Congestion:  "bbr", FileLimit: 20000, PortRange: [2]int{32768, 60999}, Commit: "3f2c1ab+dirty",
		},
		Config: results.Config{
			Mode: "quick", Baseline: "net-http", Blocks: blocks, Connections: 64, WindowSeconds: window,
			WarmupSeconds: 1, Seed: 42, ServerCPUs: []int{0}, GeneratorCPUs: []int{1}, Congestion: "cubic",
			Changes: []string{"net.core.somaxconn 4096 -> 65535"},
		},
		Workloads: slices.Clone(workloads),
		Gates: []results.Gate{
			{Name: "aa", Passed: true, Value: 0.011, Limit: 0.05, Text: "the baseline differs from itself by 1.1 %"},
			{Name: "governor", Passed: true, Text: "the CPU frequency governor is not performance"},
		},
	}
	for _, m := range models {
		f.Subjects = append(f.Subjects, results.Subject{
			Name: m.name, Title: m.title, Kind: m.kind, Role: m.role, Command: []string{"./peers/" + m.name, "--addr={addr}"},
		})
	}
	rng := rand.New(rand.NewPCG(7, 11))
	for w := range workloads {
		addWorkload(f, w, rng)
	}
	return f
}

// addWorkload adds the runs, cells and comparisons of one workload.
func addWorkload(f *results.File, w int, rng *rand.Rand) {
	load := workloads[w]
	for b := 1; b <= blocks; b++ {
		addBlock(f, w, b, rng)
	}
	for _, m := range models {
		if cell, ok := cellOf(f, load.Name, m.name); ok {
			f.Cells = append(f.Cells, cell)
		}
	}
	for _, m := range models[1:] {
		for _, metric := range []results.Metric{results.MetricCPU, results.MetricRate, results.MetricP99} {
			f.Comparisons = append(f.Comparisons, compare(f, load.Name, m, metric))
		}
	}
}

// addBlock adds a run of every subject, in random order.
func addBlock(f *results.File, w, block int, rng *rand.Rand) {
	order := slices.Clone(models)
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for i, m := range order {
		r := measure(w, m, block, rng)
		r.Order, r.Counted = i+1, r.Failed == ""
		r.Started = f.Started.Add(time.Duration(len(f.Runs)) * 8 * time.Second)
		if w == 0 && block == 3 && m.name == disturbed {
			r.Gates = append(r.Gates, results.Gate{
				Name: "steal", Value: 0.083, Limit: 0.02, Text: "the hypervisor took 8.3 % of the CPUs (limit 2 %)",
				Disturbance: true, Spoils: spoilt,
			})
		}
		f.Runs = append(f.Runs, r)
	}
}

// disturbed is a subject of which a run was disturbed in the first workload; spoilt is what that
// spoils: of six runs too few are left.
const disturbed = "hertz"

var spoilt = []results.Figure{results.FigureRate, results.FigureLatency}

// measure returns an invented run.
func measure(w int, m model, block int, rng *rand.Rand) results.Run {
	load := workloads[w]
	r := results.Run{
		ID: fmt.Sprintf("%s/b%d/%s", load.Name, block, m.name), Workload: load.Name, Subject: m.name, Block: block,
		Valid: true, WindowSeconds: window,
		Gates: []results.Gate{{Name: "steady", Passed: true, Value: 0.01, Limit: 0.05, Text: "the rate still had a trend"}},
	}
	if m.name == "echo" && w == 2 { // never measured in this workload
		r.Valid, r.Failed, r.Stderr = false, "the subject exited with status 2 before it listened", Hostile
		r.WindowSeconds, r.Gates = 0, nil
		return r
	}
	cpu := m.cpu[w] * (1 + 0.008*rng.NormFloat64())
	r.Rate = 0.97e6 / cpu
	if w == 2 {
		r.Rate = 50000
	}
	bound := m.name == "limit" && w < 2
	if bound {
		r.Rate = 236000 * (1 + 0.004*rng.NormFloat64())
	}
	r.Requests = uint64(r.Rate * window)
	total := cpu * 1e-6 * float64(r.Requests)
	r.CPU = results.CPU{
		UserSeconds: total * 0.3, SysSeconds: total * 0.7, PerRequestUs: cpu, Utilisation: min(total/window, 1),
	}
	r.BytesIn, r.BytesOut = r.Requests*141, r.Requests*uint64(load.HeaderBytes)
	rss := m.rss * (1 + 0.02*rng.NormFloat64())
	r.Memory = results.Memory{
		RSSPeakBytes: uint64(rss * (1 << 20)), RSSFinalBytes: uint64(rss * 0.97 * (1 << 20)), VSSBytes: 1300 << 20,
	}
	if m.kind == "go" {
		r.Runtime = &results.Runtime{
			AllocsPerRequest: m.allocs, BytesPerRequest: m.allocs * 96, GCCycles: uint64(m.allocs * 4),
			GCPauseP99Us: 61, HeapBytes: 4 << 20, Goroutines: 70, GOMAXPROCS: 1,
		}
	}
	r.Process = results.Process{Processes: 1, Threads: 6, OpenFiles: 72, Voluntary: 4100, Involuntary: 230, MinorFaults: 1900}
	r.Generator = results.Generator{
		CPUUtilisation: min(r.Rate/238000, 1), Bound: bound, WarmupSeconds: 1, Steady: true, StealRatio: 0.002,
	}
	if m.role != "floor" {
		headroom := 236000 / r.Rate
		r.Generator.Headroom = &headroom
	}
	s := newSpread(load.Connections, r.Rate, m.tail, rng)
	r.Latency = s.latency(r.Requests)
	r.Series = s.series(&r, rss, m.allocs, rng)
	return r
}

// cellOf summarises the counted runs of one subject.
func cellOf(f *results.File, load, subject string) (results.Cell, bool) {
	cell := results.Cell{Workload: load, Subject: subject, Metrics: map[results.Metric]results.Estimate{}}
	values := map[results.Metric][]float64{}
	var runs []results.Run
	for _, r := range f.Runs {
		if r.Workload != load || r.Subject != subject {
			continue
		}
		if r.Failed != "" {
			cell.Failed++
		}
		if !r.Counted {
			continue
		}
		cell.Blocks++
		if r.Generator.Bound {
			cell.Bound++
		}
		runs = append(runs, r)
		add := func(m results.Metric, v float64) { values[m] = append(values[m], v) }
		add(results.MetricCPU, r.CPU.PerRequestUs)
		add(results.MetricRate, r.Rate)
		add(results.MetricP50, *r.Latency.P50)
		add(results.MetricP99, *r.Latency.P99)
		add(results.MetricRSS, float64(r.Memory.RSSPeakBytes))
		if r.Runtime != nil {
			add(results.MetricAllocs, r.Runtime.AllocsPerRequest)
			add(results.MetricBytes, r.Runtime.BytesPerRequest)
		}
	}
	if cell.Blocks == 0 {
		return cell, cell.Failed > 0
	}
	for m, v := range values {
		slices.Sort(v)
		cell.Metrics[m] = results.Estimate{Value: (v[len(v)/2] + v[(len(v)-1)/2]) / 2, Low: v[0], High: v[len(v)-1]}
	}
	cell.Latency = merge(runs)
	if subject == disturbed && load == workloads[0].Name {
		cell.Disturbed = spoilt
	}
	return cell, true
}

// find returns a cell that has been added.
func find(f *results.File, load, subject string) results.Cell {
	i := slices.IndexFunc(f.Cells, func(c results.Cell) bool { return c.Workload == load && c.Subject == subject })
	return f.Cells[i]
}

// compare returns a comparison of the cells.
func compare(f *results.File, load string, m model, metric results.Metric) results.Comparison {
	c := results.Comparison{
		Workload: load, Subject: m.name, Baseline: "net-http", Metric: metric, Blocks: blocks,
		P: 0.03125, PHolm: 0.25, Floor: 0.021, Noise: 0.021, Margin: 0.05, Needed: blocks, Usable: blocks, Verdict: results.NoVerdict,
	}
	base, cell := find(f, load, "net-http"), find(f, load, m.name)
	if cell.Blocks == 0 {
		c.Blocks, c.P, c.PHolm, c.Reason = 0, 1, 1, "no block has both subjects"
		return c
	}
	if metric == results.MetricRate && cell.Bound > 0 {
		c.Reason = "the rate was bound by the generator"
		return c
	}
	b, v := base.Metrics[metric], cell.Metrics[metric]
	ratio := v.Value / b.Value
	c.Ratio = results.Estimate{Value: ratio, Low: ratio * (0.5 + 0.5*v.Low/v.Value), High: ratio * (0.5 + 0.5*v.High/v.Value)}
	low, high := c.Ratio.Low, c.Ratio.High
	if metric == results.MetricRate {
		low, high = 1/high, 1/low
	}
	switch {
	case m.name == disturbed && load == workloads[0].Name && metric != results.MetricCPU:
		c.Verdict, c.Reason = results.TooDisturbed, "5 of 6 pairs can be used, 6 are needed; left out for steal 1"
		c.Usable, c.Disturbed = blocks-1, 1
	case low > 1-c.Margin && high < 1+c.Margin:
		c.Verdict = results.Equivalent
	case high < 1-c.Floor:
		c.Verdict = results.Faster
	case low > 1+c.Floor:
		c.Verdict = results.Slower
	default:
		c.Verdict = results.Inconclusive
	}
	return c
}
