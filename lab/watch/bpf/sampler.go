package bpf

import (
	"context"
	"errors"
	"math/bits"
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
	// pace sets that one of so many calls is timed.
	pace(every uint32) error
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
	every   uint32
	begun   bool
	before  Counts
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
	return &Sampler{source: s, every: 1, spent: map[string]float64{}, members: map[string]*members{}}
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
	return s.source.read()
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
	return s.pace(&window)
}

// timedRate is the rate of calls up to which all are timed. The clock is read twice for each of
// them, which costs some 50 ns.
const timedRate = 5000

// pace chooses how many calls are timed.
func (s *Sampler) pace(window *Counts) error {
	if s.source == nil || window.Span <= 0 {
		return nil
	}
	var calls uint64
	for _, c := range window.Calls {
		calls += c.Calls
	}
	rate := float64(calls) / window.Span.Seconds()
	every := uint32(1)
	if rate > timedRate {
		every = 1 << min(bits.Len(uint(rate/timedRate)), 10)
	}
	if every == s.every {
		return nil
	}
	s.every = every
	return s.source.pace(every)
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
