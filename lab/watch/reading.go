package watch

import (
	"maps"
	"slices"
	"time"
)

// A Reading receives what the samplers read for one sample.
type Reading struct {
	At     time.Time // of the sample
	gauges map[string]float64
	counts map[string]map[uint64]float64 // by figure and part
	zero   map[string]time.Time          // when a counter that is new was 0
	missed []Missing

	every time.Duration            // between two readings of the sampler that reads now
	paces map[string]time.Duration // of the figures
}

// NewReading returns an empty reading of a time.
func NewReading(at time.Time) *Reading {
	return &Reading{At: at, gauges: map[string]float64{}, counts: map[string]map[uint64]float64{}, zero: map[string]time.Time{}, paces: map[string]time.Duration{}}
}

// Set sets a figure that is a gauge, in its unit.
func (r *Reading) Set(figure string, value float64) {
	r.gauges[figure] = value
	r.paces[figure] = r.every
}

// Count sets a part of a figure that is a counter: its value since that part began. A part is
// a process, a thread or a socket by its id; a figure without parts has one, 0. The parts are
// added up, and one that ends does not take back what it counted.
func (r *Reading) Count(figure string, part uint64, value float64) {
	r.Counter(figure)
	r.counts[figure][part] = value
}

// Counter says that a counter was read, although it may have no part now. Parts that begin
// later then count from 0.
func (r *Reading) Counter(figure string) {
	if r.counts[figure] == nil {
		r.counts[figure] = map[uint64]float64{}
		r.paces[figure] = r.every
	}
}

// Zero says that a counter was 0 at a time, if it was never read before. Without that, its first
// reading is where its total begins.
func (r *Reading) Zero(figure string, at time.Time) { r.zero[figure] = at }

// Miss reports that figures could not be read from source. It is passed on only once for a
// source and reason, so reason must not change with time.
func (r *Reading) Miss(source, reason string, figures ...string) {
	names := append([]string{}, figures...)
	slices.Sort(names) // in whatever order they are named, it is the same message
	r.missed = append(r.missed, Missing{Figures: names, Source: source, Reason: reason})
}

// Value returns a gauge that was set, or the sum of a counter's parts.
func (r *Reading) Value(figure string) (v float64, ok bool) {
	if v, ok = r.gauges[figure]; ok {
		return v, true
	}
	for _, n := range r.counts[figure] {
		v, ok = v+n, true
	}
	return v, ok
}

// Misses returns what could not be read.
func (r *Reading) Misses() []Missing { return r.missed }

// Missing is what could not be read, and why.
type Missing struct {
	Figures []string `json:"figures"` // in alphabetical order; empty if it is not known which
	Source  string   `json:"source"`  // file or interface
	Reason  string   `json:"reason"`  // with what to do
}

// A Sample has the figures of one time. Figures that were not read are absent.
type Sample struct {
	T      float64            `json:"t"` // seconds since the watch began
	Values map[string]float64 `json:"values"`
	Totals map[string]float64 `json:"-"` // counters, since the watch began
}

// ledger keeps the counters.
type ledger map[string]*account

type account struct {
	last  map[uint64]float64 // by part
	total float64
	at    time.Time
}

// add turns a reading into the values of a sample. A counter has a value from its second
// reading on.
func (l ledger) add(r *Reading, s *Sample) {
	maps.Copy(s.Values, r.gauges)
	for figure, parts := range r.counts {
		a := l[figure]
		if a == nil {
			a = &account{last: parts, at: r.At}
			l[figure] = a
			if at, ok := r.zero[figure]; ok {
				a.last, a.at = nil, at
			}
		}
		more := 0.0
		for part, now := range parts {
			if before := a.last[part]; now >= before {
				more += now - before
			} else {
				more += now // the part is another one: ids are reused
			}
		}
		a.total += more
		if span := r.At.Sub(a.at).Seconds(); span > 0 { // not at the first reading
			s.Values[figure] = more / span
		}
		s.Totals[figure] = a.total
		a.last, a.at = parts, r.At
	}
}
