package present

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
)

// Runtime is what the server's Go runtime said of the window. What a source does
// not tell is left out.
type Runtime struct {
	results.Runtime
	Source            string   `json:"source"`                           // control or pprof
	Title             string   `json:"title,omitempty"`                  // how the service calls itself
	Go                string   `json:"go,omitempty"`                     // version that built it
	Seconds           float64  `json:"seconds"`                          // between the two readings that the counts are the difference of
	LiveBytes         uint64   `json:"live_bytes,omitempty"`             // that the last collection found in use
	GoroutinesPeak    int      `json:"goroutines_peak"`                  // of the readings
	AllocsPerSecond   float64  `json:"allocs_per_second"`                //
	BytesPerSecond    float64  `json:"bytes_per_second"`                 //
	GCCPURatio        *float64 `json:"gc_cpu_ratio,omitempty"`           // of the CPU that Go code used, from collection to collection; 0 to 1
	SchedLatencyP99Us *float64 `json:"sched_latency_p99_us,omitempty"`   // goroutines that could run, until they did
	Failed            int      `json:"failed_readings,omitempty"`        // readings that brought nothing
	Why               string   `json:"failed_readings_reason,omitempty"` // of the last of them
	Restarted         bool     `json:"restarted,omitempty"`              // the counts began anew within the window: they are not given
}

// Profile is one that was taken during the window.
type Profile struct {
	Kind    string     `json:"kind"`              // cpu, heap, ...
	File    string     `json:"file,omitempty"`    // empty when it is missing
	Seconds float64    `json:"seconds,omitempty"` // that it covers; 0 for one of a moment
	Top     []Function `json:"top,omitempty"`     // of cpu: where most of it was spent
	Missing string     `json:"missing,omitempty"` // why there is none
}

// Function is one of a CPU profile.
type Function struct {
	Name string  `json:"name"`
	Flat float64 `json:"flat"` // share of the CPU spent in it, 0 to 1
	Cum  float64 `json:"cum"`  // and in what it called
}

// runtimeHead names the columns of runtimeCells.
var runtimeHead = []string{
	"goroutines", "heap_bytes", "live_bytes", "allocs_per_second", "alloc_bytes_per_second", "gc_cycles", "gc_pause_p99_us", "sched_latency_p99_us",
}

// runtimeCells are empty without a reading.
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

// runtimeFigures are those of the live view. Between two readings the last one
// stays.
func (l *Live) runtimeFigures() []string {
	if l.read.Runtime == nil {
		return nil
	}
	return []string{
		fmt.Sprintf("goroutines %d", l.read.Goroutines), "heap " + report.Bytes(float64(l.read.Runtime.HeapBytes), " "),
	}
}

// runtime says what the server's runtime counted, for a request or whatever unit
// there is, and profiles what was taken.
func (s *summary) runtime(d *Document, unit string) {
	if r := d.Runtime; r != nil {
		s.line("runtime", r.describe(unit))
	}
	s.profiles(d.Profiles)
}

func (r *Runtime) describe(unit string) string {
	if r.Restarted {
		return "the server began anew within the window: its counts are not given"
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
