package observe

import (
	"time"

	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/results"
)

// Record accumulates the readings of one load.
type Record struct {
	before, first, last *Reading // before: the last of all; first and last: of the window
	tick                *Reading // the last one under load
	peak                int      // goroutines
	restarted           bool
}

// Point adds a reading under load, and sets the point's part.
func (r *Record) Point(now *Reading, p *present.Point) {
	before := r.before
	r.take(now)
	r.tick = now
	s := now.Snapshot
	p.Goroutines = s.Goroutines
	p.Runtime = &results.RuntimeSample{HeapBytes: s.HeapBytes, LiveBytes: s.LiveBytes}
	if before == nil || began(before.Snapshot, s) {
		return
	}
	change := s.Since(before.Snapshot, 0)
	p.Runtime.GCCycles, p.Runtime.GCPauseP99Us = change.GCCycles, change.GCPauseP99Us
	p.Runtime.SchedLatencyP99Us = s.Latencies.Since(before.Snapshot.Latencies).P99() * 1e6
	p.Runtime.AllocsPerSecond, p.Runtime.BytesPerSecond = allocations(before, now)
}

// Edge adds a reading at an edge of the window.
func (r *Record) Edge(now *Reading) { r.take(now) }

func (r *Record) take(now *Reading) {
	if r.before != nil && r.first != nil && began(r.before.Snapshot, now.Snapshot) {
		r.restarted = true
	}
	r.before = now
	if now.T < 0 {
		return
	}
	if r.first == nil {
		r.first = now
	}
	r.last = now
	r.peak = max(r.peak, now.Snapshot.Goroutines)
}

// began reports whether the counters restarted: another process answers.
func began(before, now probe.Snapshot) bool {
	return now.AllocObjects < before.AllocObjects || now.GCCycles < before.GCCycles
}

func allocations(before, now *Reading) (objects, bytes float64) {
	span := now.At.Sub(before.At).Seconds()
	if span <= 0 {
		return 0, 0
	}
	return float64(now.Snapshot.AllocObjects-before.Snapshot.AllocObjects) / span,
		float64(now.Snapshot.AllocBytes-before.Snapshot.AllocBytes) / span
}

// Runtime returns the result for the window; nil without two readings in it. Momentary
// values are those of the last reading under load: afterwards the connections are closed.
func (r *Record) Runtime(source string) *present.Runtime {
	if r.first == nil || r.first == r.last {
		return nil
	}
	if r.restarted {
		return &present.Runtime{Source: source, Restarted: true}
	}
	first, last := r.first.Snapshot, r.last.Snapshot
	out := &present.Runtime{
		Runtime: last.Since(first, r.last.Answered-r.first.Answered), Source: source, Title: last.Title, Go: last.Go,
		Seconds: r.last.At.Sub(r.first.At).Round(time.Microsecond).Seconds(), LiveBytes: last.LiveBytes, GoroutinesPeak: r.peak,
	}
	if r.tick != nil && r.tick.T >= 0 {
		under := r.tick.Snapshot
		out.Goroutines, out.HeapBytes, out.LiveBytes = under.Goroutines, under.HeapBytes, under.LiveBytes
	}
	out.AllocsPerSecond, out.BytesPerSecond = allocations(r.first, r.last)
	busy := (last.CPUSeconds - last.IdleCPUSeconds) - (first.CPUSeconds - first.IdleCPUSeconds)
	if busy > 0 && out.GCCycles > 0 {
		share := min(max(last.GCCPUSeconds-first.GCCPUSeconds, 0)/busy, 1)
		out.GCCPURatio = &share
	}
	if len(last.Latencies.LE) > 0 {
		p99 := last.Latencies.Since(first.Latencies).P99() * 1e6
		out.SchedLatencyP99Us = &p99
	}
	return out
}
