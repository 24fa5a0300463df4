package gather

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/gomem"
)

// snapshots is the time between two looks at all goroutines.
const snapshots = 20 * time.Millisecond

// Goroutines is the probe of what goroutines wait for, read from the memory of the process.
type Goroutines struct {
	process *gomem.Process
	convert *converter
}

// NewGoroutines returns a probe of a Go program, and adds the settings in force to s. The caller
// closes it.
func NewGoroutines(s *diagnose.Server) (*Goroutines, error) {
	p, err := gomem.Open(s.PIDs[0])
	if err != nil {
		return nil, err
	}
	f, err := p.Read()
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if percent, ok := f.GCPercent.Get(); ok {
		s.GOGC = int(percent)
	}
	if limit, ok := f.MemoryLimit.Get(); ok && limit < math.MaxInt64 {
		s.GoMemoryLimit = float64(limit)
	}
	return &Goroutines{p, newConverter(s)}, nil
}

// Name returns the name of the probe.
func (*Goroutines) Name() string { return "goroutines" }

// Window takes snapshots for d.
func (g *Goroutines) Window(ctx context.Context, d time.Duration, l *diagnose.Load) error {
	p, err := gomem.Wall(ctx, g.process, snapshots, d)
	if p != nil {
		l.Wall = g.convert.stacks(p, "wall", 1/float64(d))
	}
	return err
}

// Close ends the readings.
func (g *Goroutines) Close() error { return g.process.Close() }

// Allocations is the probe of where a Go program allocates, by the profile that its runtime keeps.
type Allocations struct {
	process *gomem.Process
	convert *converter
}

// NewAllocations returns a probe of a Go program. The caller closes it.
func NewAllocations(s *diagnose.Server) (*Allocations, error) {
	p, err := gomem.Open(s.PIDs[0])
	if err != nil {
		return nil, err
	}
	return &Allocations{p, newConverter(s)}, nil
}

// Name returns the name of the probe.
func (*Allocations) Name() string { return "allocation sites" }

// Window reads the profile now and after d.
func (a *Allocations) Window(ctx context.Context, d time.Duration, l *diagnose.Load) error {
	p, err := gomem.Allocated(ctx, a.process, d)
	if p != nil {
		l.Allocs = a.convert.stacks(p, "alloc_space", 1)
	}
	if errors.Is(err, context.Canceled) {
		return nil // the load was cut short, which is an error of its own
	}
	return err
}

// Close ends the readings.
func (a *Allocations) Close() error { return a.process.Close() }
