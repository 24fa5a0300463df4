package bpf

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redline-go/redline/lab/watch"
)

// ErrUnavailable is wrapped by errors of [Open] that say why eBPF cannot be used here, and what
// to do about it.
var ErrUnavailable = errors.New("eBPF is not available")

// source has the counters.
type source interface {
	// read returns the counters since the start.
	read() (Counts, error)
	// observe attaches the programs that cost much, or detaches them. At first they are attached.
	observe(on bool) error
	// missing returns what this kernel does not have.
	missing() []absent
	Close() error
}

// absent is what a kernel does not have, with the figures that need it.
type absent struct {
	reason  string
	figures []string
}

// Options define what is counted.
type Options struct {
	PID  int
	Tree bool // the descendants of the process too, also those that are yet to come
	// Exact counts every event, also while the processes are busy. That costs them some percent
	// of their CPU time.
	Exact bool
}

// A Sampler counts events of processes, and sets the figures of a watch. Its methods are safe
// for concurrent use.
type Sampler struct {
	mu       sync.Mutex
	source   source
	clock    func() time.Time
	sampling sampling
	failed   error              // of the sampling
	before   Counts             // of the last sample
	last     time.Time          // of the last sample, by the watch
	folded   Counts             // of the last sample with something new of the sampled counters
	renewed  time.Time          // of the same, by the watch
	spent    map[string]float64 // time in calls, so far
	members  map[string]*members
	stop     chan struct{} // nil: nothing is sampled
	stopped  sync.WaitGroup
}

// Open loads the programs for a process with all its threads. The caller must close the sampler.
// The process may end at any time; its counters stay.
func Open(o Options) (*Sampler, error) {
	source, err := open(o.PID, o.Tree)
	if err != nil {
		return nil, err
	}
	now, err := source.read()
	if err != nil {
		return nil, errors.Join(err, source.Close())
	}
	s := newSampler(source, now)
	if !o.Exact {
		stop := make(chan struct{})
		s.stop = stop
		s.stopped.Go(func() { s.run(stop) })
	}
	return s, nil
}

func newSampler(from source, now Counts) *Sampler {
	s := &Sampler{source: from, clock: time.Now, spent: map[string]float64{}, members: map[string]*members{}}
	s.sampling.begin(now)
	return s
}

// run samples until stop is closed.
func (s *Sampler) run(stop <-chan struct{}) {
	timer := time.NewTimer(look)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-timer.C:
			timer.Reset(s.turn())
		}
	}
}

// Name returns the name of the source.
func (s *Sampler) Name() string { return sourceName }

const sourceName = "eBPF"

// Every returns 0.
func (s *Sampler) Every() time.Duration { return 0 }

// Close detaches the programs.
func (s *Sampler) Close() error {
	s.mu.Lock()
	if s.stop != nil {
		close(s.stop)
		s.stop = nil
	}
	s.mu.Unlock()
	s.stopped.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.source == nil {
		return nil
	}
	err := s.source.Close()
	s.source = nil
	return err
}

// Counts returns the counters since the programs were loaded. Two of them make a window, with
// [Counts.Sub].
func (s *Sampler) Counts() (Counts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.source == nil {
		return Counts{}, errors.New("the sampler is closed")
	}
	now, err := s.source.read()
	if err != nil {
		return now, err
	}
	if s.sampling.ready() {
		s.sampling.fold(now)
	}
	now.estimated(&s.sampling.estimate)
	return now, nil
}

// Missing returns why parts of the counts are missing.
func (s *Sampler) Missing() []watch.Missing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.source == nil {
		return nil
	}
	var list []watch.Missing
	for _, a := range s.source.missing() {
		list = append(list, watch.Missing{Figures: a.figures, Source: sourceName, Reason: a.reason})
	}
	if s.failed != nil {
		list = append(list, watch.Missing{Source: sourceName, Reason: s.failed.Error()})
	}
	return list
}

// Sample sets the figures.
func (s *Sampler) Sample(_ context.Context, r *watch.Reading) error {
	now, err := s.Counts()
	if err != nil {
		return err
	}
	for _, m := range s.Missing() {
		r.Miss(m.Source, m.Reason, m.Figures...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(r, &now)
	s.before, s.last = now, r.At
	if now.Scaled.Readings != s.folded.Scaled.Readings {
		s.folded, s.renewed = now, r.At
	}
	return nil
}

// Unavailable returns a sampler that says once why there is no eBPF.
func Unavailable(err error) watch.Sampler { return &unavailable{err.Error()} }

type unavailable struct{ reason string }

func (*unavailable) Name() string         { return sourceName }
func (*unavailable) Every() time.Duration { return time.Minute }
func (*unavailable) Close() error         { return nil }

func (u *unavailable) Sample(_ context.Context, r *watch.Reading) error {
	r.Miss(sourceName, u.reason, slices.Clone(figureNames)...)
	return nil
}
