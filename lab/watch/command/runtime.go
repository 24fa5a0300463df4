package command

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/lab/load/observe"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/watch"
)

// patience limits the wait for an answer about the runtime, during which other figures wait. A
// later answer is taken by the next sample.
const patience = 20 * time.Millisecond

// goRuntime is a sampler of a Go runtime, as its control socket or net/http/pprof has it.
type goRuntime struct {
	source   *noted
	follower *observe.Follower
}

// noted is a source that keeps the error of its last query.
type noted struct {
	observe.Source
	failed atomic.Pointer[error]
}

// Snapshot implements [observe.Source].
func (n *noted) Snapshot(ctx context.Context) (probe.Snapshot, error) {
	s, err := n.Source.Snapshot(ctx)
	if err != nil && ctx.Err() == nil {
		n.failed.Store(&err)
	}
	return s, err
}

// newRuntime returns the sampler of a source, which it closes.
func newRuntime(ctx context.Context, source observe.Source) *goRuntime {
	n := &noted{Source: source}
	return &goRuntime{source: n, follower: observe.Follow(ctx, n)}
}

// Name returns the name of the source.
func (g *goRuntime) Name() string { return g.source.Name() }

// Every returns 0: the follower keeps the interval of the source.
func (g *goRuntime) Every() time.Duration { return 0 }

// Sample asks for the state, and passes on the newest answer.
func (g *goRuntime) Sample(_ context.Context, r *watch.Reading) error {
	if reading := g.follower.Ask(observe.Moment{}, false, patience); reading != nil {
		g.pass(reading.Snapshot, r)
		return nil
	}
	if failed := g.source.failed.Swap(nil); failed != nil {
		return *failed
	}
	return nil
}

// pass passes a snapshot on.
func (g *goRuntime) pass(s probe.Snapshot, r *watch.Reading) {
	r.Set("goroutines", float64(s.Goroutines))
	r.Set("heap_bytes", float64(s.HeapBytes))
	r.Count("allocated", 0, float64(s.AllocBytes))
	r.Count("allocations", 0, float64(s.AllocObjects))
	r.Count("gc_cycles", 0, float64(s.GCCycles))
	if s.CPUSeconds > 0 {
		r.Set("heap_live_bytes", float64(s.LiveBytes))
		r.Count("gc_cpu", 0, s.GCCPUSeconds)
		r.Count("go_cpu", 0, s.CPUSeconds-s.IdleCPUSeconds)
	}
}

// Close ends a pending query and closes the source.
func (g *goRuntime) Close() error {
	g.follower.Close()
	return g.source.Close()
}
