package sample

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/redline-go/redline/lab/results"
)

// Load returns the made-up run of a load: by three workers, one of which was lost,
// on a server in Go whose runtime was read every second. Of a bare one nothing is
// known but the load itself, which one generator made.
func Load(bare bool) *results.File {
	f := File()
	rng := rand.New(rand.NewPCG(3, 5))
	load := workloads[0]
	run := measure(0, models[0], 1, rng)
	run.Counted, run.Order, run.Attempt = true, 1, 1
	f.Config.Blocks, f.Config.Mode, f.Config.Changes = 1, "load", nil
	f.Workloads, f.Subjects, f.Comparisons = f.Workloads[:1], f.Subjects[:1], nil
	f.Gates = f.Gates[:1]
	cell := results.Cell{
		Workload: load.Name, Subject: run.Subject, Blocks: 1, Latency: run.Latency,
		Metrics: map[results.Metric]results.Estimate{results.MetricRate: {Value: run.Rate, Low: run.Rate, High: run.Rate}},
	}
	if bare {
		run.CPU, run.Memory, run.Runtime = results.CPU{}, results.Memory{}, nil
		for i := range run.Series {
			run.Series[i].RSSBytes, run.Series[i].ServerCPU, run.Series[i].Goroutines = 0, 0, 0
		}
	} else {
		f.Notes = []string{"profiles were taken within the window (cpu, heap)", Hostile}
		inside(&run)
		cell.Metrics[results.MetricCPU] = results.Estimate{Value: run.CPU.PerRequestUs, Low: run.CPU.PerRequestUs, High: run.CPU.PerRequestUs}
		run.Workers = crew(&run)
	}
	f.Runs, f.Cells = []results.Run{run}, []results.Cell{cell}
	return f
}

// inside reads the runtime at every fifth sample.
func inside(run *results.Run) {
	for i := range run.Series {
		s := &run.Series[i]
		if s.Goroutines = 0; i%5 != 4 {
			continue
		}
		s.Goroutines = 64 + i
		s.Runtime = &results.RuntimeSample{
			HeapBytes: uint64((3 + math.Mod(float64(i), 4)) * (1 << 20)), GCCycles: uint64(i), GCPauseP99Us: 61, SchedLatencyP99Us: 40 + float64(i),
		}
	}
}

// crew divides the run's requests: the second worker was lost half way.
func crew(run *results.Run) []results.Worker {
	lag := 12.5
	var out []results.Worker
	for i := range 3 {
		w := results.Worker{
			Index: i, Host: fmt.Sprintf("rack-%d", 5-i), PID: 4000 + i, Connections: 22 - i%2, Seconds: window,
			Requests: run.Requests * 2 / 5, CPUUtilisation: 0.61, SendLagP99: &lag,
			Clock: results.Clock{OffsetMs: 3.21 * float64(i-1), UncertaintyMs: 0.04, LateMs: 0.1},
		}
		if i == 1 {
			w.Lost = "worker 1 (process 4001 on rack-4) was lost: it fell silent " + Hostile
			w.Requests, w.Seconds, w.CPUUtilisation, w.SendLagP99 = run.Requests/5, window/2, 0, nil
		}
		w.RequestsPerSecond = float64(w.Requests) / w.Seconds
		out = append(out, w)
	}
	return out
}
