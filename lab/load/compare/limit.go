package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/results"
)

// Grammar describes the syntax of a limit.
const Grammar = "write METRIC<+PERCENT% or METRIC>-PERCENT%, as p99<+10%, cpu<+5% or rate>-3%; for errors, the permitted increase of their share, as errors<+0 or errors<+0.1%; " +
	"METRIC is rate, a percentile as p50 or p99.9, errors, cpu or rss"

// Limit is how far a metric may change.
type Limit struct {
	Metric string
	Above  bool    // Change is the minimum, not the maximum
	Change float64 // as a share of run A's figure; for errors, of the requests
	text   string
}

// Judged is a limit with its result.
type Judged struct {
	Limit string `json:"limit"` // as written
	Kept  bool   `json:"kept"`
	Sure  bool   `json:"sure"` // the whole interval is on the same side of the limit
	Why   string `json:"why"`
}

// ParseLimits parses a list of limits, separated by commas. Its errors say what to write
// instead.
func ParseLimits(text string) (list []Limit, err error) {
	for part := range strings.SplitSeq(text, ",") {
		l, err := parseLimit(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}

func parseLimit(text string) (l Limit, err error) {
	at := strings.IndexAny(text, "<>")
	if at < 1 {
		return l, fmt.Errorf("%q is not a limit of a change: %s", text, Grammar)
	}
	l = Limit{Metric: strings.TrimSpace(text[:at]), Above: text[at] == '>', text: text}
	quantile, known := results.ParsePercentile(l.Metric)
	if known {
		l.Metric = results.PercentileName(quantile)
	}
	for _, m := range metrics(nil) {
		known = known || m.name == l.Metric
	}
	if !known {
		return l, fmt.Errorf("%q: %q is not a metric of a comparison: %s", text, l.Metric, Grammar)
	}
	number, percent := strings.CutSuffix(strings.TrimSpace(text[at+1:]), "%")
	if !strings.HasPrefix(number, "+") && !strings.HasPrefix(number, "-") {
		return l, fmt.Errorf("%q: a change needs a sign: %s", text, Grammar)
	}
	if l.Change, err = strconv.ParseFloat(number, 64); err != nil || math.IsNaN(l.Change) || math.IsInf(l.Change, 0) {
		return l, fmt.Errorf("%q: %q is not a number: %s", text, number, Grammar)
	}
	if !percent && l.Change != 0 {
		return l, fmt.Errorf("%q: write the change in percent: %s", text, Grammar)
	}
	l.Change /= 100
	return l, nil
}

// Percents returns the percentiles of a comparison with limits: the requested ones, or the
// defaults, and those of the limits.
func Percents(asked []float64, limits []Limit) []float64 {
	all := slices.Clone(asked)
	if len(all) == 0 {
		all = slices.Clone(standard)
	}
	for _, l := range limits {
		if percent, is := results.ParsePercentile(l.Metric); is {
			all = append(all, percent)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Judge applies limits to the comparison, and records the results in it. A limit applies to the
// change itself, not to an end of its interval. If a figure is unknown, its limit is broken.
func (c *Comparison) Judge(limits []Limit) {
	for _, l := range limits {
		m := c.Metric(l.Metric)
		j := Judged{Limit: l.text}
		change, low, high, known := m.change()
		if !known {
			j.Why = "the figure is not known for both runs"
			c.Limits = append(c.Limits, j)
			continue
		}
		j.Kept = l.holds(change)
		j.Sure = m.Interval && l.holds(low) == j.Kept && l.holds(high) == j.Kept
		j.Why = "it is " + m.changeText(change)
		switch {
		case !m.Interval:
			j.Why += ", without an interval"
		case !j.Sure:
			j.Why += ", but the interval includes the limit: use longer runs to be sure"
		}
		c.Limits = append(c.Limits, j)
	}
}

// holds reports whether a change is within the limit, which includes the limit itself.
func (l *Limit) holds(change float64) bool {
	const hair = 1e-12 // rounding error of the arithmetic
	if l.Above {
		return change >= l.Change-hair
	}
	return change <= l.Change+hair
}

// change returns the change of a metric and the ends of its interval, as a share of run A's
// figure; for errors, the difference.
func (m *Metric) change() (value, low, high float64, known bool) {
	switch {
	case m.Difference != nil:
		return m.Difference.Value, m.Difference.Low, m.Difference.High, true
	case m.Ratio != nil:
		return m.Ratio.Value - 1, m.Ratio.Low - 1, m.Ratio.High - 1, true
	}
	return 0, 0, 0, false
}

// Kept reports whether all limits were kept.
func (c *Comparison) Kept() bool {
	for _, j := range c.Limits {
		if !j.Kept {
			return false
		}
	}
	return true
}
