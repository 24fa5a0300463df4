package baseline

import (
	"slices"

	"github.com/redline-go/redline/lab/stats"
)

// Question says what [Grown] compares.
type Question struct {
	Cum   bool    // with callees; else the function itself
	Each  bool    // the cost of a request; else the share of the total
	Times float64 // factor of the value before, from which a function has grown
}

// Grown returns by which factor functions have grown, of those that have by more than q.Times. As
// in a comparison, the whole interval must be beyond that, and the p-values are adjusted for all
// functions in names: of hundreds, some seem to cost many times as much in any two equal runs.
func Grown(names []string, before, after map[string]*Values, q Question) map[string]float64 {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return before[name] == nil || after[name] == nil })
	p := make([]float64, len(names))
	value := func(v *Values) []float64 { return windows(v, q.Cum, q.Each, 0) }
	for i, name := range names {
		p[i] = stats.RankSum(value(before[name]), value(after[name]))
	}
	p = stats.BenjaminiHochberg(p)
	grown := map[string]float64{}
	for i, name := range names {
		a, b := value(before[name]), value(after[name])
		was := stats.HodgesLehmann(a)
		by, low, _ := stats.Shift(a, b, stats.Level)
		if p[i] < stats.Alpha && was > 0 && was+low > q.Times*was {
			grown[name] = (was + by) / was
		}
	}
	return grown
}
