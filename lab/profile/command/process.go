package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/redline-go/redline/lab/gomem"
	"github.com/redline-go/redline/lab/profile"
	"github.com/redline-go/redline/lab/profile/stacks"
)

// wallEvery is the time between two snapshots of all goroutines.
const wallEvery = 20 * time.Millisecond

// outside returns the sources of profiles from outside: samples of the kernel for any process,
// and the memory of Go programs.
func outside() map[profile.Kind]Outside {
	return map[profile.Kind]Outside{
		profile.CPU:    sampled(stacks.CPU),
		profile.OffCPU: sampled(stacks.OffCPU),
		profile.Wall: ofMemory(func(ctx context.Context, p *gomem.Process, d time.Duration) (*pprof.Profile, error) {
			return gomem.Wall(ctx, p, wallEvery, d)
		}),
		"goroutine": ofMemory(func(_ context.Context, p *gomem.Process, _ time.Duration) (*pprof.Profile, error) {
			s, err := p.Goroutines(gomem.SnapshotOptions{})
			if err != nil {
				return nil, err
			}
			return p.Profile(s)
		}),
		"heap": ofMemory(func(_ context.Context, p *gomem.Process, _ time.Duration) (*pprof.Profile, error) {
			s, err := p.Sites(gomem.HeapSites)
			if err != nil {
				return nil, err
			}
			return s.Profile()
		}),
		"allocs": ofMemory(gomem.Allocated),
		"mutex":  ofMemory(waits(gomem.MutexSites)),
		"block":  ofMemory(waits(gomem.BlockSites)),
	}
}

// slicesOfWindow is in how many parts of its window a profile tells when a stack ran.
const slicesOfWindow = 100

// sampled takes profiles of a kind of samples of the kernel.
func sampled(kind stacks.Kind) Outside {
	return func(ctx context.Context, a Ask) (*pprof.Profile, []string, error) {
		o := stacks.Options{PIDs: []int{a.PID}, Tree: a.Tree, Kind: kind, For: a.For, Hz: a.Hz, Kernel: a.Kernel, Lines: true}
		if kind == stacks.CPU {
			o.Slices = slicesOfWindow
		}
		taken, err := stacks.Take(ctx, o)
		if err != nil {
			return nil, nil, err
		}
		if o.Slices > 0 {
			profile.Window{Slice: a.For.Seconds() / float64(o.Slices)}.Mark(taken.Profile)
		}
		notes := taken.Notes
		if taken.Lost > 0 {
			notes = append(notes, fmt.Sprintf("samples that the kernel lost: %d", taken.Lost))
		}
		return taken.Profile, notes, nil
	}
}

// ofMemory takes profiles from the memory of a Go program.
func ofMemory(take func(context.Context, *gomem.Process, time.Duration) (*pprof.Profile, error)) Outside {
	return func(ctx context.Context, a Ask) (out *pprof.Profile, notes []string, err error) {
		p, err := gomem.Open(a.PID)
		if err != nil {
			return nil, nil, fmt.Errorf("read the memory of process %d: %w", a.PID, err)
		}
		defer func() { err = errors.Join(err, p.Close()) }()
		out, err = take(ctx, p, a.For)
		if out != nil {
			notes = out.Comments
		}
		return out, notes, err
	}
}

// waits returns what was recorded of waits in a window.
func waits(kind gomem.SiteKind) func(context.Context, *gomem.Process, time.Duration) (*pprof.Profile, error) {
	return func(ctx context.Context, p *gomem.Process, d time.Duration) (*pprof.Profile, error) {
		before, err := p.Sites(kind)
		if err != nil {
			return nil, err
		}
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
		}
		after, err := p.Sites(kind)
		if err != nil {
			return nil, err
		}
		return after.Since(before)
	}
}
