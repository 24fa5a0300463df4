package baseline

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redline-go/redline/lab/profile/tree"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/stats"
)

// Schema and version of the file.
const (
	SchemaName    = "redline.baseline"
	SchemaVersion = 1
)

// Limits of a Vector.
const (
	MaxWindows    = 50
	mostFunctions = 500    // of a metric, those with the largest cumulative values
	leastShare    = 0.0005 // of the total; smaller functions are left out
)

// Vector is what the functions of a server cost, in repeated windows.
type Vector struct {
	Schema  string             `json:"schema"`
	Version int                `json:"version"`
	Tool    string             `json:"tool"`    // version of the redline command
	Command []string           `json:"command"` // arguments, without credentials
	Saved   time.Time          `json:"saved"`
	Machine results.Machine    `json:"machine"`
	Metrics map[string]*Metric `json:"metrics"` // by kind of profile: cpu, allocs, ...
	Notes   []string           `json:"notes,omitempty"`
}

// Metric is one value of the profiles.
type Metric struct {
	Value     string             `json:"value"` // name of the value, as cpu or alloc_space
	Unit      string             `json:"unit"`  // nanoseconds, bytes, count
	Each      bool               `json:"each"`  // the costs are those of a request; else they are absent
	Windows   int                `json:"windows"`
	Rate      []float64          `json:"requests_per_second,omitempty"` // of each window
	Total     *Figure            `json:"total,omitempty"`               // cost of a request
	Functions map[string]*Values `json:"functions"`
	Purposes  map[string]*Values `json:"purposes"` // gc, alloc, ...: see package frames
}

// Values are those of a function or a purpose.
type Values struct {
	FlatShare Figure   `json:"flat_share"` // of the total, 0 to 1
	CumShare  Figure   `json:"cum_share"`
	Flat      *Figure  `json:"flat,omitempty"` // of a request
	Cum       *Figure  `json:"cum,omitempty"`
	Mean      *float64 `json:"mean,omitempty"` // of an event under the function, in the unit: contention only
}

// Figure is a value of each window, with their Hodges-Lehmann estimate and its interval.
type Figure struct {
	results.Estimate
	Windows []float64 `json:"windows"`
}

// Window is a profile with its evaluation. Events are the samples of the number of events, if the
// profile has one beside its value; else nil.
type Window struct {
	Kind    string
	Samples *tree.Samples
	Events  *tree.Samples
}

// ErrUneven is the error for windows that do not belong together.
var ErrUneven = errors.New("the windows do not belong together")

// Measure evaluates windows. All kinds must have the same number of windows.
func Measure(list []Window) (map[string]*Metric, error) {
	kinds := map[string][]Window{}
	for _, w := range list {
		kinds[w.Kind] = append(kinds[w.Kind], w)
	}
	out := map[string]*Metric{}
	for kind, windows := range kinds {
		m, err := measure(windows)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		out[kind] = m
	}
	return out, nil
}

// measure evaluates the windows of one kind.
func measure(list []Window) (*Metric, error) {
	first := list[0].Samples
	m := &Metric{Value: first.Type, Unit: first.Unit, Each: true, Windows: len(list)}
	if len(list) > MaxWindows {
		return nil, fmt.Errorf("%d windows: at most %d are kept", len(list), MaxWindows)
	}
	functions, purposes, totals := columns{}, columns{}, make([]float64, len(list))
	each := make([]float64, len(list))
	for i, w := range list {
		s := w.Samples
		switch {
		case s.Type != m.Value || s.Unit != m.Unit:
			return nil, fmt.Errorf("%w: one has %s in %s, another %s in %s", ErrUneven, m.Value, m.Unit, s.Type, s.Unit)
		case s.Total <= 0:
			return nil, fmt.Errorf("window %d has no samples", i+1)
		}
		each[i] = s.PerRequest()
		m.Each = m.Each && each[i] > 0
		m.Rate = append(m.Rate, s.Window.Rate())
		totals[i] = float64(s.Total)
		functions.add(s.Functions(), i, len(list), totals[i])
		purposes.add(s.Classes(), i, len(list), totals[i])
		if w.Events != nil {
			functions.events(w.Events.Functions())
		}
	}
	cost := make([]float64, len(list))
	if m.Each {
		for i := range cost {
			cost[i] = totals[i] * each[i]
		}
		total := figure(cost)
		m.Total = &total
	} else {
		m.Rate, cost = nil, nil
	}
	m.Functions, m.Purposes = functions.values(totals, cost), purposes.values(totals, cost)
	return m, nil
}

// column has the shares of a function in each window.
type column struct {
	flat, cum      []float64
	events, amount float64
}

type columns map[string]*column

func (c columns) add(list []tree.Function, window, windows int, total float64) {
	for _, f := range list {
		one := c[f.Name]
		if one == nil {
			one = &column{flat: make([]float64, windows), cum: make([]float64, windows)}
			c[f.Name] = one
		}
		one.flat[window], one.cum[window] = float64(f.Flat)/total, float64(f.Cum)/total
		one.amount += float64(f.Cum)
	}
}

func (c columns) events(list []tree.Function) {
	for _, f := range list {
		if one := c[f.Name]; one != nil {
			one.events += float64(f.Cum)
		}
	}
}

// values returns the figures of the largest functions. cost has the cost of a request in each
// window; nil: it is unknown.
func (c columns) values(totals, cost []float64) map[string]*Values {
	names := slices.Collect(maps.Keys(c))
	mean := func(name string) float64 { return sum(c[name].cum) / float64(len(totals)) }
	names = slices.DeleteFunc(names, func(name string) bool { return mean(name) < leastShare })
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(mean(b), mean(a)), cmp.Compare(a, b)) })
	out := map[string]*Values{}
	for _, name := range names[:min(len(names), mostFunctions)] {
		one := c[name]
		v := &Values{FlatShare: figure(one.flat), CumShare: figure(one.cum)}
		if cost != nil {
			flat, cum := figure(product(one.flat, cost)), figure(product(one.cum, cost))
			v.Flat, v.Cum = &flat, &cum
		}
		if one.events > 0 {
			mean := one.amount / one.events
			v.Mean = &mean
		}
		out[name] = v
	}
	return out
}

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}

func product(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] * b[i]
	}
	return out
}

// figure returns the estimate of values. It does not depend on chance: the random numbers of the
// resampling are always the same.
func figure(x []float64) Figure {
	for i := range x {
		x[i] = round(x[i])
	}
	low, high := stats.HodgesLehmannInterval(x, stats.Level, resamples, rand.New(rand.NewPCG(1, 2)))
	return Figure{Estimate: results.Estimate{Value: round(stats.HodgesLehmann(x)), Low: round(low), High: round(high)}, Windows: x}
}

// resamples is enough for the third digit of an interval, and quick for a thousand functions.
const resamples = 500

// round keeps six digits.
func round(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	scale := math.Pow(10, 5-math.Floor(math.Log10(math.Abs(v))))
	if math.IsInf(scale, 0) {
		return 0
	}
	return math.Round(v*scale) / scale
}
