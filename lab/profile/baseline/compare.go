package baseline

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/redline-go/redline/lab/stats"
)

// Change is a value that was compared.
type Change struct {
	Kind    string  `json:"kind"`              // of the metric
	Name    string  `json:"name,omitempty"`    // of a function or a purpose; empty: the total
	Purpose bool    `json:"purpose,omitempty"` // Name is a purpose
	Cum     bool    `json:"cum,omitempty"`     // with callees; else the function itself
	Before  float64 `json:"before"`            // estimates, in the unit of the metric a request, or shares
	After   float64 `json:"after"`
	By      float64 `json:"by"`  // estimate of the difference
	Low     float64 `json:"low"` // its interval
	High    float64 `json:"high"`
	P       float64 `json:"p"`     // adjusted for its family: the total alone, all purposes, all functions
	Moved   bool    `json:"moved"` // beyond noise
	Worse   bool    `json:"worse"` // moved up by more than the limit, with its whole interval
}

// Part is the comparison of one metric.
type Part struct {
	Kind    string   `json:"kind"`
	Value   string   `json:"value"`           // of the profiles
	Unit    string   `json:"unit,omitempty"`  // of the values; empty: they are shares
	Each    bool     `json:"each"`            // they are those of a request
	Asked   int      `json:"asked"`           // questions
	Total   *Change  `json:"total,omitempty"` // nil unless Each
	Changes []Change `json:"changes"`         // that moved, the largest first
	Limit   float64  `json:"limit"`           // in the unit: a larger increase is a regression
	Doubt   string   `json:"doubt,omitempty"` // why little can be concluded; empty: no reason
}

// Comparison is the result of [Compare].
type Comparison struct {
	Parts []Part   `json:"parts"`
	Notes []string `json:"notes,omitempty"`
}

// Worse reports whether there is a regression.
func (c *Comparison) Worse() bool {
	return slices.ContainsFunc(c.Parts, func(p Part) bool {
		return p.Total != nil && p.Total.Worse || slices.ContainsFunc(p.Changes, func(one Change) bool { return one.Worse })
	})
}

const (
	askedShare = 0.01  // of the total: functions below it in both measurements are not compared
	movedShare = 0.002 // of the total: smaller movements are not reported
)

// errNothing is the error if two measurements have no metric in common.
var errNothing = errors.New("they have no kind of profile in common: measure the same kinds with --kind")

// Compare compares two measurements. The total of a metric is one question; purposes are a family
// adjusted by Holm, functions one adjusted by Benjamini and Hochberg: there are many, and what a
// function gained its callers gained too. limit is the share of the baseline's total, 0 to 1, by which
// a value may increase.
func Compare(before, after *Vector, limit float64) (*Comparison, error) {
	c := &Comparison{}
	for _, kind := range slices.Sorted(maps.Keys(before.Metrics)) {
		a, b := before.Metrics[kind], after.Metrics[kind]
		if b == nil {
			c.Notes = append(c.Notes, kind+" was measured only before")
			continue
		}
		if a.Value != b.Value || a.Unit != b.Unit {
			return nil, fmt.Errorf("%s: the baseline has %s in %s, now it is %s in %s; save it anew", kind, a.Value, a.Unit, b.Value, b.Unit)
		}
		c.Parts = append(c.Parts, compare(kind, a, b, limit))
	}
	if len(c.Parts) == 0 {
		return nil, errNothing
	}
	if x, y := before.Machine, after.Machine; x.CPU != y.CPU || x.CPUs != y.CPUs || x.Kernel != y.Kernel {
		c.Notes = append(c.Notes, "the machine is another one, or has another kernel: differences may come from it")
	}
	return c, nil
}

// compare compares one metric.
func compare(kind string, a, b *Metric, limit float64) Part {
	p := Part{Kind: kind, Value: a.Value, Each: a.Each && b.Each, Limit: limit}
	whole := 1.0
	if p.Each {
		p.Unit, whole = a.Unit, a.Total.Value
		p.Limit *= whole
	}
	if p.Each {
		total := question{Change{Kind: kind, Cum: true}, a.Total.Windows, b.Total.Windows}
		p.Total = &judge([]question{total}, whole, p.Limit, stats.Holm)[0]
	}
	purposes := questions(Change{Kind: kind, Purpose: true}, a, b, p.Each)
	functions := questions(Change{Kind: kind}, a, b, p.Each)
	p.Asked = len(purposes) + len(functions)
	p.Doubt = doubt(a.Windows, b.Windows, len(functions))
	for _, one := range append(judge(purposes, whole, p.Limit, stats.Holm), judge(functions, whole, p.Limit, stats.BenjaminiHochberg)...) {
		if one.Moved {
			p.Changes = append(p.Changes, one)
		}
	}
	slices.SortFunc(p.Changes, func(x, y Change) int {
		return cmp.Or(cmp.Compare(math.Abs(y.By), math.Abs(x.By)), cmp.Compare(x.Name, y.Name))
	})
	return p
}

// questions asks about all purposes, or all functions, that are large enough. like has what the
// questions have in common.
func questions(like Change, a, b *Metric, each bool) (asked []question) {
	before, after := a.Functions, b.Functions
	if like.Purpose {
		before, after = a.Purposes, b.Purposes
	}
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		x, y := before[name], after[name]
		for _, cum := range []bool{false, true} {
			if max(share(x, cum), share(y, cum)) < askedShare {
				continue
			}
			one := like
			one.Name, one.Cum = name, cum
			asked = append(asked, question{one, windows(x, cum, each, a.Windows), windows(y, cum, each, b.Windows)})
		}
	}
	return asked
}

// question asks whether a value is the same in the windows of two measurements.
type question struct {
	Change
	before, after []float64
}

// judge answers a family of questions about a metric. whole is the total of the baseline; correct
// adjusts the p-values of the family.
func judge(asked []question, whole, limit float64, correct func([]float64) []float64) []Change {
	p := make([]float64, len(asked))
	for i, q := range asked {
		p[i] = stats.RankSum(q.before, q.after)
	}
	p = correct(p)
	out := make([]Change, len(asked))
	for i, q := range asked {
		c := q.Change
		c.P = p[i]
		c.Before, c.After = stats.HodgesLehmann(q.before), stats.HodgesLehmann(q.after)
		c.By, c.Low, c.High = stats.Shift(q.before, q.after, stats.Level)
		c.Moved = c.P < stats.Alpha && math.Abs(c.By) >= movedShare*whole
		c.Worse = c.Moved && c.Low > limit
		out[i] = c
	}
	return out
}

// doubt says that the windows are too few for so many questions, if they are.
func doubt(m, n, asked int) string {
	low, high := make([]float64, m), make([]float64, n)
	for i := range low {
		low[i] = -1 - float64(i)
	}
	for i := range high {
		high[i] = float64(i)
	}
	if stats.RankSum(low, high)*float64(asked) < stats.Alpha {
		return ""
	}
	return fmt.Sprintf("%d and %d windows are too few to tell %d values of functions apart: even a clear difference of one may be chance; save and compare with more --windows", m, n, asked)
}

func share(v *Values, cum bool) float64 {
	switch {
	case v == nil:
		return 0
	case cum:
		return v.CumShare.Value
	}
	return v.FlatShare.Value
}

// windows returns a value of each window: 0 for a function that was too small to be kept.
func windows(v *Values, cum, each bool, n int) []float64 {
	switch {
	case v == nil:
		return make([]float64, n)
	case each && cum:
		return v.Cum.Windows
	case each:
		return v.Flat.Windows
	case cum:
		return v.CumShare.Windows
	}
	return v.FlatShare.Windows
}
