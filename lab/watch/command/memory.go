package command

import (
	"context"
	"errors"
	"time"

	"github.com/redline-go/redline/lab/gomem"
	"github.com/redline-go/redline/lab/watch"
)

// firstRetry is the time after which a program that could not be read is tried again: it may
// just be starting. The time doubles up to lastRetry.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// memory is a sampler of a Go runtime that nobody has asked to tell about itself: it reads the
// memory of the process.
type memory struct {
	pid     int
	process *gomem.Process
	opening chan opened // not nil while the program is being read
	next    time.Time   // not before this
	pause   time.Duration
}

type opened struct {
	process *gomem.Process
	err     error
}

func newMemory(pid int) *memory { return &memory{pid: pid, pause: firstRetry} }

// Name returns the name of the source.
func (m *memory) Name() string { return "memory of the process" }

// Every returns 0: a reading costs less than a tenth of a millisecond.
func (m *memory) Every() time.Duration { return 0 }

// Sample reads the runtime. The program is read first, beside the samples. If it is replaced by
// another one (execve), that one is read.
func (m *memory) Sample(_ context.Context, r *watch.Reading) error {
	if m.process == nil {
		if err := m.open(r); err != nil || m.process == nil {
			return err
		}
	}
	f, err := m.process.Read()
	if err != nil {
		err = errors.Join(err, m.process.Close())
		m.process = nil
		if errors.Is(err, gomem.ErrGone) {
			return nil // what reads /proc knows whether it has ended
		}
		return err
	}
	pass(&f, r)
	return nil
}

// open begins to read the program, or takes the result.
func (m *memory) open(r *watch.Reading) error {
	switch {
	case m.opening == nil && r.At.Before(m.next):
		return nil
	case m.opening == nil:
		c := make(chan opened, 1)
		m.opening = c
		go func() {
			p, err := gomem.Open(m.pid)
			c <- opened{p, err}
		}()
		return nil
	}
	select {
	case o := <-m.opening:
		m.opening, m.process = nil, o.process
		m.next = r.At.Add(m.pause)
		m.pause = min(2*m.pause, lastRetry)
		if errors.Is(o.err, gomem.ErrNotGo) || errors.Is(o.err, gomem.ErrGone) { // it may yet execute another program
			return nil
		}
		if o.err == nil {
			for _, lack := range m.process.Missing() {
				r.Miss(m.Name(), lack.Reason, lack.Name)
			}
		}
		return o.err
	default:
		return nil
	}
}

// pass passes figures on, as far as they are known.
func pass(f *gomem.Figures, r *watch.Reading) {
	for _, g := range []struct {
		figure string
		value  gomem.Value
	}{
		{"goroutines", f.Goroutines},
		{"go_procs", f.Procs},
		{"go_procs_idle", f.Ps.Idle},
		{"go_threads", f.Threads},
		{"go_timers", f.Timers},
		{"run_queue_global", f.GlobalQueue},
		{"run_queue_local", f.LocalQueues},
		{"heap_live_bytes", f.HeapMarked},
		{"heap_goal_bytes", f.HeapGoal},
	} {
		if n, ok := g.value.Get(); ok {
			r.Set(g.figure, float64(n))
		}
	}
	for _, c := range []struct {
		figure string
		value  gomem.Value
		unit   float64
	}{
		{"allocated", f.Allocated, 1},
		{"gc_cycles", f.Cycles, 1},
		{"gc_pauses", f.PauseTotal, 1e9},
		{"gc_cpu", f.CPU.GC, 1e9},
	} {
		if n, ok := c.value.Get(); ok {
			r.Count(c.figure, 0, float64(n)/c.unit)
		}
	}
	total, known := f.CPU.Total.Get()
	if idle, ok := f.CPU.Idle.Get(); ok && known {
		r.Count("go_cpu", 0, float64(total-idle)/1e9)
	}
	if s := f.States; s != nil && s.Walked > 0 {
		scale := float64(s.All) / float64(s.Walked)
		r.Set("goroutines_runnable", scale*float64(s.Runnable))
		r.Set("goroutines_running", scale*float64(s.Running))
		r.Set("goroutines_syscall", scale*float64(s.Syscall))
		r.Set("goroutines_waiting", scale*float64(s.Waiting))
	}
}

// Close waits for a program that is being read, and closes it.
func (m *memory) Close() error {
	if m.opening != nil {
		m.process = (<-m.opening).process
		m.opening = nil
	}
	if m.process == nil {
		return nil
	}
	return m.process.Close()
}
