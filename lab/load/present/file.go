package present

import (
	"github.com/redline-go/redline/lab/results"
)

// File is the run as a results file of one workload and one subject, which
// package report makes a page of.
func File(d *Document) *results.File {
	const subject, workload = "server", "load"
	run := results.Run{
		ID: workload, Workload: workload, Subject: subject, Block: 1, Order: 1, Attempt: 1, Started: d.Started,
		Valid: d.Valid, Counted: true, Gates: []results.Gate{}, WindowSeconds: d.Seconds, Requests: d.Requests, Rate: d.RequestsPerSecond,
		Errors: d.Errors, BytesIn: d.BytesIn, BytesOut: d.BytesOut, Latency: d.Latency, Generator: d.Generator, Open: d.Open, Targets: d.Targets,
		Workers: d.Workers,
	}
	for _, p := range d.Series {
		run.Series = append(run.Series, p.Sample)
	}
	cell := results.Cell{
		Workload: workload, Subject: subject, Blocks: 1, Latency: d.Latency,
		Metrics: map[results.Metric]results.Estimate{results.MetricRate: exactly(d.RequestsPerSecond)},
	}
	for m, q := range map[results.Metric]*float64{
		results.MetricP50: d.Latency.P50, results.MetricP99: d.Latency.P99, results.MetricP999: d.Latency.P999,
	} {
		if q != nil {
			cell.Metrics[m] = exactly(*q)
		}
	}
	if d.Generator.Bound {
		cell.Bound = 1
	}
	if d.Runtime != nil {
		run.Runtime = &d.Runtime.Runtime
		if !d.Runtime.Restarted && d.Requests > 0 {
			cell.Metrics[results.MetricAllocs] = exactly(d.Runtime.AllocsPerRequest)
			cell.Metrics[results.MetricBytes] = exactly(d.Runtime.BytesPerRequest)
		}
	}
	if s := d.Server; s != nil {
		run.CPU, run.Memory, run.Process = s.CPU, s.Memory, s.Process
		cell.Metrics[results.MetricRSS] = exactly(float64(s.Memory.RSSPeakBytes))
		if d.Requests > 0 {
			cell.Metrics[results.MetricCPU] = exactly(s.CPU.PerRequestUs)
		}
	}
	unit := "request"
	if d.Stream != nil {
		unit = "event"
	}
	f := &results.File{
		Schema: results.SchemaName, Version: results.SchemaVersion, Tool: d.Tool, Command: d.Command,
		Started: d.Started, Ended: d.Ended, Partial: d.Partial, Machine: d.Machine,
		Config: results.Config{
			Mode: workload, Baseline: subject, Blocks: 1, Connections: d.Config.Connections, Seed: d.Config.Seed,
			WindowSeconds: d.Config.DurationSeconds, WarmupSeconds: d.Config.WarmupSeconds, GeneratorCPUs: d.Config.CPUs,
			Congestion: d.Machine.Congestion,
		},
		Subjects: []results.Subject{{Name: subject, Title: d.URL, Kind: "external", Role: "baseline"}},
		Workloads: []results.Workload{{
			Name: workload, Title: d.URL, Unit: unit, Method: d.Config.Method, Path: d.URL,
			BodyBytes: d.Config.Body, HeaderBytes: d.Config.Headers,
			Connections: d.Config.Connections, Pipeline: d.Config.Pipeline, Arrivals: d.Config.Arrivals,
		}},
		Runs: []results.Run{run}, Cells: []results.Cell{cell},
		Gates: d.Gates, // of the whole, and not once more of its one run
		Notes: d.Notes,
	}
	if d.Config.Scenario != "" {
		f.Workloads[0].Title, f.Workloads[0].Path = d.asked(), d.asked()
	}
	return f
}

func exactly(v float64) results.Estimate { return results.Estimate{Value: v, Low: v, High: v} }
