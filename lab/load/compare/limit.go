package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/results"
)

// Grammar says how a limit is written.
const Grammar = "write METRIC<+PERCENT% or METRIC>-PERCENT%, as p99<+10%, cpu<+5% or rate>-3%; of errors, how much their share may rise, as errors<+0 or errors<+0.1%; " +
	"METRIC is rate, a percentile as p50 or p99.9, errors, cpu or rss"

// Limit is how far a metric may change.
type Limit struct {
	Metric string
	Above  bool    // the change has to be at least Change, not at most
	Change float64 // as a share of run A's figure; of errors, of the requests
	text   string
}

// Judged is what became of a limit.
type Judged struct {
	Limit string `json:"limit"` // as it was written
	Kept  bool   `json:"kept"`
	Sure  bool   `json:"sure"` // the whole interval is on the same side of the limit
	Why   string `json:"why"`
}

// ParseLimits reads a list of limits, parted by commas. Its errors say what to write
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
		return l, fmt.Errorf("%q is no limit of a change: %s", text, Grammar)
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
		return l, fmt.Errorf("%q: %q is no metric of a comparison: %s", text, l.Metric, Grammar)
	}
	number, percent := strings.CutSuffix(strings.TrimSpace(text[at+1:]), "%")
	if !strings.HasPrefix(number, "+") && !strings.HasPrefix(number, "-") {
		return l, fmt.Errorf("%q: a change has a sign: %s", text, Grammar)
	}
	if l.Change, err = strconv.ParseFloat(number, 64); err != nil || math.IsNaN(l.Change) || math.IsInf(l.Change, 0) {
		return l, fmt.Errorf("%q: %q is no number: %s", text, number, Grammar)
	}
	if !percent && l.Change != 0 {
		return l, fmt.Errorf("%q: a change is in percent: %s", text, Grammar)
	}
	l.Change /= 100
	return l, nil
}

// Percents returns the percentiles that a comparison needs which is held against limits:
// those asked for, or the usual ones, and those of the limits.
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

// Judge holds the comparison against limits, which it keeps. A limit is held against the
// change itself, and not against the end of its interval. Where the figure is not known
// no limit is kept.
func (c *Comparison) Judge(limits []Limit) {
	for _, l := range limits {
		m := c.Metric(l.Metric)
		j := Judged{Limit: l.text}
		change, low, high, known := m.change()
		if !known {
			j.Why = "the figure is not known of both runs"
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
			j.Why += ", but the interval reaches across the limit: longer runs can tell"
		}
		c.Limits = append(c.Limits, j)
	}
}

// holds reports whether a change is within the limit. The limit itself is.
func (l *Limit) holds(change float64) bool {
	const hair = 1e-12 // of the arithmetic
	if l.Above {
		return change >= l.Change-hair
	}
	return change <= l.Change+hair
}

// change is how much a metric changed, and the ends of that: a share of run A's figure, or
// of errors the difference.
func (m *Metric) change() (value, low, high float64, known bool) {
	switch {
	case m.Difference != nil:
		return m.Difference.Value, m.Difference.Low, m.Difference.High, true
	case m.Ratio != nil:
		return m.Ratio.Value - 1, m.Ratio.Low - 1, m.Ratio.High - 1, true
	}
	return 0, 0, 0, false
}

// Kept reports whether all limits were.
func (c *Comparison) Kept() bool {
	for _, j := range c.Limits {
		if !j.Kept {
			return false
		}
	}
	return true
}
