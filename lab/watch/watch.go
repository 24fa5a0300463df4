package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrGone is the error of a sampler when the process that is watched has ended.
var ErrGone = errors.New("the process has ended")

// A Sampler reads figures from one source. One goroutine calls it, and the caller of [New]
// closes it.
type Sampler interface {
	// Name names the source in messages.
	Name() string
	// Every is the least time between two calls; 0 is every sample.
	Every() time.Duration
	// Sample reads the state of now into r, and returns within some milliseconds: the other
	// figures wait for it. A part that cannot be read is passed to [Reading.Miss]. An error
	// that wraps [ErrGone] ends the watch, and any other one is reported as missing.
	Sample(ctx context.Context, r *Reading) error
	// Close releases all resources.
	Close() error
}

// A Describer is a Sampler with figures that the table of [Figures] does not have.
type Describer interface {
	// Describe returns these figures.
	Describe() []Figure
}

// A sampler that uses more CPU time than costly rests that many times as long, so that it uses a
// fiftieth of a CPU at most. Time for which it waits, or is preempted, costs nothing: on a busy
// machine it would not read again for minutes.
const (
	costly = 5 * time.Millisecond
	rest   = 50
)

// LeastEvery is the least time between two samples.
const LeastEvery = 10 * time.Millisecond

// Options define a watch.
type Options struct {
	Every    time.Duration // between samples
	For      time.Duration // 0: until the context ends
	Samplers []Sampler
	Marks    []Mark

	// Cost runs a function and returns the CPU time that it used, and not the time that it took: on a
	// busy machine a sampler that rests for the latter reads nothing.
	Cost func(func()) time.Duration
}

// An Event is one of its fields.
type Event struct {
	Sample  *Sample
	Missing *Missing
	Crossed *Crossed
}

// The reasons for the end of a watch.
const (
	EndTime        = "time"        // the duration is over
	EndInterrupted = "interrupted" // the context ended
	EndGone        = "gone"        // the process ended
)

// A Watcher takes samples. It is not safe for concurrent use.
type Watcher struct {
	options Options
	emit    func(Event) error
	began   time.Time
	ended   time.Time   // of Run; zero: the last sample is the end
	due     []time.Time // of each sampler
	ledger  ledger
	history history
	summary collector
	missing map[string]bool
}

// New returns a watcher that passes its events to emit, in order.
func New(o Options, emit func(Event) error) (*Watcher, error) {
	if o.Every < LeastEvery {
		return nil, fmt.Errorf("samples every %v: the least is %v", o.Every, LeastEvery)
	}
	if o.Cost == nil {
		return nil, errors.New("nothing measures the CPU time of the samplers")
	}
	w := &Watcher{options: o, emit: emit, due: make([]time.Time, len(o.Samplers)), ledger: ledger{}, missing: map[string]bool{}}
	w.history = newHistory(o.Marks)
	w.summary = newCollector(o.Marks)
	return w, nil
}

// Run takes samples until the duration is over, the context ends, or the process ends. The
// summary is valid with every error: those of emit, and of the last reading.
func (w *Watcher) Run(ctx context.Context) (Summary, error) {
	tick := time.NewTicker(w.options.Every)
	defer tick.Stop()
	var over <-chan time.Time
	if w.options.For > 0 {
		timer := time.NewTimer(w.options.For)
		defer timer.Stop()
		over = timer.C
	}
	defer func() { w.ended = time.Time{} }()
	conclude := func(end string) Summary {
		w.ended = time.Now()
		return w.Summary(end)
	}
	end := ""
	for end == "" {
		switch err := w.Step(ctx, time.Now()); {
		case errors.Is(err, ErrGone):
			return conclude(EndGone), nil
		case ctx.Err() != nil:
			return conclude(EndInterrupted), nil
		case err != nil:
			return conclude(EndInterrupted), err
		}
		select {
		case <-ctx.Done():
			end = EndInterrupted
		case <-over:
			end = EndTime
		case <-tick.C:
		}
	}
	return conclude(end), nil
}

// Step takes the sample of a time. Run calls it; tests call it with times of their own.
func (w *Watcher) Step(ctx context.Context, now time.Time) error {
	if w.began.IsZero() {
		w.began = now
	}
	r := NewReading(now)
	for i, s := range w.options.Samplers {
		if now.Before(w.due[i]) {
			continue
		}
		var err error
		r.every = max(s.Every(), w.options.Every)
		used := w.options.Cost(func() { err = s.Sample(ctx, r) })
		// Half an interval earlier, so that a late tick does not cost a reading.
		w.due[i] = now.Add(s.Every() - w.options.Every/2)
		if used > costly {
			w.due[i] = now.Add(max(s.Every(), rest*used))
		}
		if errors.Is(err, ErrGone) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			r.Miss(s.Name(), err.Error())
		}
	}
	return w.take(r)
}

// take processes a reading.
func (w *Watcher) take(r *Reading) error {
	s := &Sample{T: r.At.Sub(w.began).Seconds(), Values: map[string]float64{}, Totals: map[string]float64{}}
	w.ledger.add(r, s)
	for i := range r.missed {
		m := &r.missed[i]
		key := m.Source + "\x00" + m.Reason + "\x00" + strings.Join(m.Figures, " ")
		if w.missing[key] || len(w.missing) >= mostMissing {
			continue
		}
		w.missing[key] = true
		w.summary.missing = append(w.summary.missing, *m)
		if err := w.emit(Event{Missing: m}); err != nil {
			return err
		}
	}
	w.summary.add(s, r.paces)
	if err := w.emit(Event{Sample: s}); err != nil {
		return err
	}
	for _, c := range w.history.add(s) {
		if first := w.summary.crossed(c); !first {
			continue
		}
		if err := w.emit(Event{Crossed: &c}); err != nil {
			return err
		}
	}
	return nil
}

// mostMissing bounds the messages about what could not be read.
const mostMissing = 100

// Summary summarizes the samples so far.
func (w *Watcher) Summary(end string) Summary {
	seconds := w.summary.seconds
	if !w.ended.IsZero() && !w.began.IsZero() {
		seconds = max(seconds, w.ended.Sub(w.began).Seconds())
	}
	return w.summary.conclude(end, seconds, w.options.Every, w.history.idle())
}
