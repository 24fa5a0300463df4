package suite

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/verdict"
)

const (
	lookTime      = 100 * time.Millisecond
	mostWait      = 10 * time.Second // for one run
	mostFruitless = 3                // runs
	waitShare     = 8                // an eighth of the time may be waited in any case
	calmLimit     = 0.15             // of the CPUs: the limit of a run, and two ticks of two CPUs
)

// A lookout delays runs while other processes use the CPUs. It looks at the machine before a run, and
// never at what the run shows: that keeps the figures unbiased.
type lookout struct {
	busy      func(context.Context) (float64, error) // share of the CPUs that is in use, over lookTime
	left      time.Duration                          // that may still be waited
	waited    time.Duration
	delayed   bool // the run that comes next had to wait
	fruitless int  // runs in a row that waited, and met other processes nevertheless
}

// wait returns when the machine is calm, or when there is no use in waiting any longer. say is called if
// it has to wait.
func (l *lookout) wait(ctx context.Context, say func(busy float64)) error {
	l.delayed = false
	for took := time.Duration(0); l.fruitless < mostFruitless; took += lookTime {
		busy, err := l.busy(ctx)
		if err != nil {
			return err
		}
		if busy <= calmLimit || took >= mostWait || l.left < lookTime {
			return nil
		}
		if !l.delayed {
			l.delayed = true
			say(busy)
		}
		l.left, l.waited = l.left-lookTime, l.waited+lookTime
	}
	return nil
}

// learn notes whether a run met other processes: those that are there all the time, or come and go too
// quickly, are not waited for again until a run meets none.
func (l *lookout) learn(met bool) {
	switch {
	case !met:
		l.fruitless = 0
	case l.delayed:
		l.fruitless++
	}
}

// patience sets how long runs may be delayed in total: with a budget what the runs leave of it, and at
// least a part of it; without one the same part of the time that the runs take.
func (b *bench) patience() {
	b.lookout = lookout{busy: b.inUse, left: b.left() / waitShare}
	if b.cfg.Budget > 0 {
		b.lookout.left = max(b.cfg.Budget-b.left(), b.cfg.Budget/waitShare)
	}
}

// inUse returns the share of the run's CPUs that is in use or was stolen while nothing of the run needs them.
func (b *bench) inUse(ctx context.Context) (float64, error) {
	before, err := probe.ReadTicks(b.cfg.cpus())
	if err != nil {
		return 0, err
	}
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(lookTime):
	}
	after, err := probe.ReadTicks(b.cfg.cpus())
	if err != nil || after.Total <= before.Total {
		return 0, err
	}
	return 1 - float64(after.Idle-before.Idle)/float64(after.Total-before.Total), nil
}

// delicate reports whether other processes spoil the main metric of a workload.
func (b *bench) delicate(w *workload) bool {
	load := w.describe(b.connections(w))
	figure := leading(&load).figure
	busy := 1.0
	gate := verdict.Foreign(&busy, 1, w.open() || w.stream)[0]
	return figure != "" && slices.Contains(gate.Spoils, figure)
}

// leading returns the main metric of a workload.
func leading(w *results.Workload) metric {
	return metrics[slices.IndexFunc(metrics, func(m metric) bool { return m.name == w.LeadMetric() })]
}

// calm waits for other processes before a run, if they would spoil what it is for.
func (b *bench) calm(ctx context.Context, s Step, w *workload) error {
	if !b.delicate(w) {
		return nil
	}
	return b.lookout.wait(ctx, func(busy float64) { b.waiting(s, busy) })
}

// waiting says that a step waits.
func (b *bench) waiting(s Step, busy float64) {
	s.Note = fmt.Sprintf("waiting for other processes: %.0f %% of the CPUs", 100*busy)
	b.tell(s)
}

// noteWaits records how long runs were delayed.
func (b *bench) noteWaits() {
	if b.lookout.waited >= time.Second {
		b.note(fmt.Sprintf("runs were delayed by %v in total, until other processes left the CPUs alone", b.lookout.waited.Round(time.Second)))
	}
}
