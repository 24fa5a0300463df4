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
	// timed sets whether calls are timed.
	timed(on bool) error
	// missing returns what this kernel does not have.
	missing() []absent
	Close() error
}

// absent is what a kernel does not have, with the figures that need it.
type absent struct {
	reason  string
	figures []string
}

// A Sampler counts events of processes, and sets the figures of a watch. Its methods are safe
// for concurrent use.
type Sampler struct {
	mu      sync.Mutex
	source  source
	timed   bool
	begun   bool
	before  Counts             // of the last sample
	last    time.Time          // of the last sample, by the watch
	paced   Counts             // of the last choice of how many calls are timed
	spent   map[string]float64 // time in calls, so far
	members map[string]*members
}

// Open loads the programs for a process, all its threads, and with tree its descendants, also
// those that are yet to come. The caller must close the sampler. The process may end at any time;
// its counters stay.
func Open(pid int, tree bool) (*Sampler, error) {
	s, err := open(pid, tree)
	if err != nil {
		return nil, err
	}
	return newSampler(s), nil
}

func newSampler(s source) *Sampler {
	return &Sampler{source: s, timed: true, spent: map[string]float64{}, members: map[string]*members{}}
}

// Name returns the name of the source.
func (s *Sampler) Name() string { return sourceName }

const sourceName = "eBPF"

// Every returns 0.
func (s *Sampler) Every() time.Duration { return 0 }

// Close detaches the programs.
func (s *Sampler) Close() error {
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
	return now, s.pace(&now)
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
	window := now.Sub(s.before)
	if !s.begun {
		window.Span = now.Span
	}
	s.begun, s.before = true, now
	s.set(r, &now, &window)
	s.last = r.At
	return nil
}

// timedRate is the rate of calls below which they are timed. They are no longer timed when it
// has doubled. To time a call costs about 0.1 us.
const timedRate = 5000

// pace chooses whether calls are timed, by their rate since the last choice.
func (s *Sampler) pace(now *Counts) error {
	span := now.At.Sub(s.paced.At)
	if s.paced.Calls == nil {
		span = now.Span
	}
	if span < leastPace {
		return nil
	}
	var calls uint64
	for name, c := range now.Calls {
		calls += c.Calls - s.paced.Calls[name].Calls
	}
	s.paced = *now
	rate := float64(calls) / span.Seconds()
	on := rate < timedRate || s.timed && rate < 2*timedRate
	if on == s.timed {
		return nil
	}
	s.timed = on
	return s.source.timed(on)
}

// leastPace is the least time between two choices.
const leastPace = 50 * time.Millisecond

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
