package rivals

import (
	"slices"
	"time"

	"github.com/redline-go/redline/lab/rivals/scripted"
	"github.com/redline-go/redline/lab/stats"
)

// A Table is the result of a closed loop.
type Table struct {
	Workload string `json:"workload"`
	Base     string `json:"base"` // the tool that the others are compared with; empty if it was left out
	Rows     []Row  `json:"rows"`
}

// A Row is the row of a tool in a [Table]: medians of the rounds, with their ranges.
type Row struct {
	Tool      string   `json:"tool"`
	Rounds    int      `json:"rounds"` // measured rounds
	Rate      Range    `json:"requests_per_second"`
	PerCall   Range    `json:"cpu_per_request_us"`
	PerCore   Range    `json:"requests_per_second_of_a_core"` // per core of the generator
	RateOf    *float64 `json:"rate_of_base,omitempty"`        // median of the ratios within a round
	PerCoreOf *float64 `json:"per_core_of_base,omitempty"`
	Own       float64  `json:"own_requests_per_second"` // median of the rates that the tool reports
	CPU       float64  `json:"cpu_utilisation"`         // median; of one CPU, 0 to 1
	ServerCPU float64  `json:"server_cpu_utilisation"`  // of the server
	Errors    uint64   `json:"errors"`                  // sum of the errors that the tool reports
	Failed    int      `json:"failed"`                  // rounds
}

// disturbed reports whether neither side had its CPU to itself: the rate then depends on
// something else. A closed loop keeps one of the two CPUs busy.
func (w *Row) disturbed() bool { return w.Rounds > 0 && w.CPU < fullCPU && w.ServerCPU < fullCPU }

// fullCPU is the utilisation of a CPU that limits the rate.
const fullCPU = 0.9

// Range is a median with the minimum and the maximum.
type Range struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

func rangeOf(x []float64) Range {
	return Range{Median: stats.Median(x), Low: slices.Min(x), High: slices.Max(x)}
}

// A Verdict is the accuracy of what a tool reported about the server that stalls.
type Verdict struct {
	Tool     string  `json:"tool"`
	Sent     float64 `json:"requests"` // as counted by the server
	Reported Report  `json:"reported"`
	// Relative errors of the report: -1 means that it reports 0.
	P50   *float64 `json:"p50_error,omitempty"`
	P99   *float64 `json:"p99_error,omitempty"`
	Max   *float64 `json:"max_error,omitempty"`
	Note  string   `json:"note,omitempty"`
	Late  float64  `json:"late"` // share of requests that the server itself answered too late
	Fails string   `json:"failed,omitempty"`
}

// tardy reports whether the server was at fault: too much of what the tool measured does
// not follow the script.
func (v *Verdict) tardy() bool { return v.Late > tardyShare }

// tardyShare allows for the end of the stall, when a tool sends the requests that it could
// not send before, at once and on all connections.
const tardyShare = 0.05

// conclude computes the tables from the runs.
func (r *Result) conclude(tools []*Tool, c *Config) {
	for _, w := range c.Workloads {
		if w != Stalled {
			r.Tables = append(r.Tables, tableOf(w, tools, r.Runs))
			continue
		}
		l := c.load(w)
		script := scripted.Script{Service: scripted.Service, StallAt: l.Duration/2 - c.Stall/2, Stall: c.Stall}
		r.True = reportOf(script.Truth(l.Rate, l.Duration), float64(l.Rate))
		for _, t := range tools {
			for _, run := range r.Runs {
				if run.Tool == t.Name && run.Workload == w {
					r.Truths = append(r.Truths, verdictOf(t, run, r.True))
				}
			}
		}
	}
}

func reportOf(d scripted.Distribution, rate float64) *Report {
	at := func(q float64) *float64 {
		v := float64(d.Quantile(q)) / float64(time.Millisecond)
		return &v
	}
	return &Report{Requests: uint64(len(d)), Rate: rate, P50: at(0.5), P99: at(0.99), Max: at(1)}
}

func verdictOf(t *Tool, run Run, truth *Report) Verdict {
	off := func(said, truth *float64) *float64 {
		if said == nil {
			return nil
		}
		v := *said / *truth - 1
		return &v
	}
	late := 0.0
	if run.Requests > 0 {
		late = run.Late / run.Requests
	}
	return Verdict{
		Tool: t.Name, Sent: run.Requests, Late: late, Reported: run.Report, Note: t.note, Fails: run.Failed,
		P50: off(run.Report.P50, truth.P50), P99: off(run.Report.P99, truth.P99), Max: off(run.Report.Max, truth.Max),
	}
}

// tableOf returns the table of a workload, with the tools in their order.
func tableOf(workload string, tools []*Tool, runs []Run) Table {
	t := Table{Workload: workload}
	of := func(tool string) (good []Run, failed int) {
		for _, r := range runs {
			switch {
			case r.Workload != workload || r.Tool != tool:
			case r.Failed != "" || r.Requests == 0 || r.CPU == 0:
				failed++
			default:
				good = append(good, r)
			}
		}
		return good, failed
	}
	var base []Run
	for _, tool := range tools {
		if good, _ := of(tool.Name); tool.base == workload || tool.base == Plain && workload == Pipelined {
			if len(good) > 0 {
				t.Base, base = tool.Name, good
			}
		}
	}
	for _, tool := range tools {
		good, failed := of(tool.Name)
		if len(good)+failed == 0 {
			continue
		}
		row := Row{Tool: tool.Name, Rounds: len(good), Failed: failed}
		if len(good) > 0 {
			row.fill(good, base)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func perCore(r Run) float64 { return r.Requests / r.CPU }

func (w *Row) fill(runs, base []Run) {
	column := func(value func(Run) float64) (x []float64) {
		for _, r := range runs {
			x = append(x, value(r))
		}
		return x
	}
	w.Rate = rangeOf(column(func(r Run) float64 { return r.Rate }))
	w.PerCall = rangeOf(column(func(r Run) float64 { return r.PerCall }))
	w.PerCore = rangeOf(column(perCore))
	w.Own = stats.Median(column(func(r Run) float64 { return r.Report.Rate }))
	w.CPU = stats.Median(column(func(r Run) float64 { return r.CPU / r.Seconds }))
	w.ServerCPU = stats.Median(column(func(r Run) float64 { return r.ServerCPU }))
	for _, r := range runs {
		w.Errors += r.Report.Errors
	}
	var rates, cores []float64
	for _, r := range runs {
		for _, b := range base {
			if b.Round == r.Round {
				rates, cores = append(rates, r.Rate/b.Rate), append(cores, perCore(r)/perCore(b))
			}
		}
	}
	if len(rates) > 0 {
		rate, core := stats.Median(rates), stats.Median(cores)
		w.RateOf, w.PerCoreOf = &rate, &core
	}
}
