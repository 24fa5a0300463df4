package gather

import (
	"context"
	"time"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/profile/stacks"
)

// Stacks is the probe of call stacks, on the CPU or off it, of any program.
type Stacks struct {
	kind    stacks.Kind
	pids    []int
	convert *converter
}

// NewStacks returns a probe for the stacks of a server's processes.
func NewStacks(kind stacks.Kind, s *diagnose.Server) *Stacks {
	return &Stacks{kind: kind, pids: s.PIDs, convert: newConverter(s)}
}

// Name returns the name of the probe.
func (s *Stacks) Name() string { return string(s.kind) + " stacks" }

// Window samples for d.
func (s *Stacks) Window(ctx context.Context, d time.Duration, l *diagnose.Load) error {
	taken, err := stacks.Take(ctx, stacks.Options{PIDs: s.pids, Kind: s.kind, For: d, Kernel: true})
	if err != nil {
		return err
	}
	switch s.kind {
	case stacks.CPU:
		l.OnCPU = s.convert.stacks(taken.Profile, "cpu", 1e-9)
	case stacks.OffCPU:
		l.OffCPU = s.convert.stacks(taken.Profile, "offcpu", 1e-9)
	}
	return nil
}
