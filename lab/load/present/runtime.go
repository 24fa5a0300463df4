package present

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
)

// Runtime holds the figures of the server's Go runtime in the window. Figures that the source
// does not report are omitted.
type Runtime struct {
	results.Runtime
	Source            string   `json:"source"`                           // control or pprof
	Title             string   `json:"title,omitempty"`                  // name of the service, as it reports it
	Go                string   `json:"go,omitempty"`                     // version of Go that built it
	Seconds           float64  `json:"seconds"`                          // between the two readings whose difference the counts are
	LiveBytes         uint64   `json:"live_bytes,omitempty"`             // in use after the last collection
	GoroutinesPeak    int      `json:"goroutines_peak"`                  // maximum of the readings
	AllocsPerSecond   float64  `json:"allocs_per_second"`                //
	BytesPerSecond    float64  `json:"bytes_per_second"`                 //
	GCCPURatio        *float64 `json:"gc_cpu_ratio,omitempty"`           // share of the CPU time of Go code, from collection to collection; 0 to 1
	SchedLatencyP99Us *float64 `json:"sched_latency_p99_us,omitempty"`   // time from runnable to running
	Failed            int      `json:"failed_readings,omitempty"`        // number of failed readings
	Why               string   `json:"failed_readings_reason,omitempty"` // why the last of them failed
	Restarted         bool     `json:"restarted,omitempty"`              // the server restarted in the window, so counts are omitted
}

// Profile is a profile that was taken during the window.
type Profile struct {
	Kind    string     `json:"kind"`              // cpu, heap, ...
	File    string     `json:"file,omitempty"`    // empty if it is missing
	Seconds float64    `json:"seconds,omitempty"` // period that it covers; 0 for a snapshot
	Top     []Function `json:"top,omitempty"`     // cpu only: the functions with the largest share
	Missing string     `json:"missing,omitempty"` // why the profile is missing
}

// Function is a function in a CPU profile.
type Function struct {
	Name string  `json:"name"`
	Flat float64 `json:"flat"` // share of the CPU time in the function itself, 0 to 1
	Cum  float64 `json:"cum"`  // share including the functions that it called
}

// runtimeHead names the columns of runtimeCells.
var runtimeHead = []string{
	"goroutines", "heap_bytes", "live_bytes", "allocs_per_second", "alloc_bytes_per_second", "gc_cycles", "gc_pause_p99_us", "sched_latency_p99_us",
}

// runtimeCells returns the cells of the runtime; they are empty without a reading.
func (p *Point) runtimeCells() []string {
	cells := make([]string, len(runtimeHead))
	if r := p.Runtime; r != nil {
		float := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
		count := func(v uint64) string { return strconv.FormatUint(v, 10) }
		copy(cells, []string{
			strconv.Itoa(p.Goroutines), count(r.HeapBytes), count(r.LiveBytes), float(r.AllocsPerSecond), float(r.BytesPerSecond),
			count(r.GCCycles), float(r.GCPauseP99Us), float(r.SchedLatencyP99Us),
		})
	}
	return cells
}

// runtimeFigures returns the figures for the live view. Between two readings it shows the
// previous one.
func (l *Live) runtimeFigures() []string {
	if l.read.Runtime == nil {
		return nil
	}
	return []string{
		fmt.Sprintf("goroutines %d", l.read.Goroutines), "heap " + report.Bytes(float64(l.read.Runtime.HeapBytes), " "),
	}
}

// runtime writes the figures of the server's runtime, per unit (a request, or an event), and the
// profiles.
func (s *summary) runtime(d *Document, unit string) {
	if r := d.Runtime; r != nil {
		s.line("runtime", r.describe(unit))
	}
	s.profiles(d.Profiles)
}

func (r *Runtime) describe(unit string) string {
	if r.Restarted {
		return "the server restarted in the window: its counts are omitted"
	}
	var parts []string
	if r.AllocsPerSecond > 0 {
		alloc := fmt.Sprintf("%s allocations/s, %s/s", report.PerSecond(r.AllocsPerSecond), report.Bytes(r.BytesPerSecond, " "))
		if r.AllocsPerRequest > 0 {
			alloc = fmt.Sprintf("%.1f allocations, %s %s (%s)", r.AllocsPerRequest, report.Bytes(r.BytesPerRequest, " "), unit, alloc)
		}
		parts = append(parts, alloc)
	}
	heap := "heap " + report.Bytes(float64(r.HeapBytes), " ")
	if r.LiveBytes > 0 {
		heap += ", " + report.Bytes(float64(r.LiveBytes), " ") + " of it live"
	}
	gc := fmt.Sprintf("GC %d cycles", r.GCCycles)
	if r.GCCPURatio != nil {
		gc += ", " + report.Percent(*r.GCCPURatio) + " of the CPU"
	}
	if r.GCPauseP99Us > 0 {
		gc += ", pauses p99 " + report.Micros(r.GCPauseP99Us, " ")
	}
	parts = append(parts, heap, gc, fmt.Sprintf("%d goroutines, at most %d", r.Goroutines, r.GoroutinesPeak))
	if r.SchedLatencyP99Us != nil {
		parts = append(parts, "scheduler p99 "+report.Micros(*r.SchedLatencyP99Us, " "))
	}
	return strings.Join(parts, "; ")
}

func (s *summary) profiles(list []Profile) {
	label := "profiles"
	for _, p := range list {
		body := p.Kind
		switch {
		case p.Missing != "":
			body += ": missing, " + report.Line(p.Missing)
		case p.Seconds > 0:
			body += fmt.Sprintf(" of %s: %s", report.Seconds(p.Seconds), report.Line(p.File))
		default:
			body += ": " + report.Line(p.File)
		}
		s.line(label, body)
		for _, f := range p.Top {
			s.line(" ", fmt.Sprintf("%7s  %s", report.Percent(f.Flat), report.Line(f.Name)))
		}
		label = " "
	}
}
