// Package objective parses objectives of a load, such as p99<10ms or errors<0.1%, and
// compares measurements with them, for thresholds and for the search for the highest rate
// that keeps them ([Find]). It performs no I/O: a function of the caller runs the trials.
package objective

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/results"
)

// Grammar describes in one sentence what Parse accepts, for the text of an error.
const Grammar = "write METRIC<LIMIT or METRIC>LIMIT, as p99<10ms, errors<0.1%, errors<5 or rate>1000; " +
	"METRIC is a percentile, as p50 or p99.95, mean, max, errors or rate; NAME: before it is for one target, as pay: p99<50ms" + ofStreams

// An Objective is a limit on one figure.
type Objective struct {
	Metric string  // as in Grammar
	Above  bool    // the figure must be above the limit, not below
	Equal  bool    // the figure may equal the limit
	Limit  float64 // microseconds; for errors a count, or a share if Share is set; for rate requests a second
	Share  bool
	Target string // target of a scenario that the figure belongs to; empty: all targets
	stream string // distribution of a stream's subscribers, delay or gap, or iteration; empty: the load's own
	text   string
}

// Figures are the measurements that objectives are compared with.
type Figures struct {
	Latency  results.Latency
	Rate     float64 // right responses a second
	Answered uint64  // right responses
	Errors   uint64
	Lost     uint64             // of Errors, those without a latency: they count as longer than any time
	Bounds   uint64             // of Lost, those whose age is in Latency
	Targets  map[string]Figures // by name, of a scenario
	Stream   *Stream            // of subscribers

	Iterations Iterations // of flows
}

// A Judged is an objective with its outcome.
type Judged struct {
	Objective string   `json:"objective"` // as written
	Kept      bool     `json:"kept"`
	Value     *float64 `json:"value"`               // in the unit of the objective: microseconds, share, count or requests a second; absent if there are too few samples
	Why       string   `json:"why"`                 // as a message
	Undecided string   `json:"undecided,omitempty"` // the gates of disturbances without which it might be kept; Kept is then false
}

// Doubt marks an outcome that a disturbance leaves open: it makes latencies longer and rates lower, so
// that a limit which it may only break is kept if it was kept all the same, and undecided if it was not.
func (j *Judged) Doubt(o Objective, gates []string) {
	if easier := o.OfLatency() == o.Above; easier != j.Kept {
		return
	}
	j.Kept, j.Undecided = false, strings.Join(gates, ", ")
	j.Why += "; not decided, as the machine was disturbed (" + j.Undecided + ")"
}

// OfLatency reports whether Limit is a time in microseconds.
func (o Objective) OfLatency() bool {
	return ofTimes(o.Metric)
}

// ofTimes reports whether a metric is a figure of a distribution of times.
func ofTimes(metric string) bool { return metric == "mean" || metric == "max" || quantile(metric) > 0 }

// String returns the objective as written.
func (o Objective) String() string { return o.text }

// quantile returns the quantile (0 to 1) that a metric names, as p99.95; 0 if it is another.
func quantile(metric string) float64 {
	percent, _ := results.ParsePercentile(metric)
	return percent / 100
}

// Parse parses one or more objectives, separated by commas. Its errors say what to write
// instead.
func Parse(text string) ([]Objective, error) {
	var list []Objective
	for _, part := range split(text) {
		o, err := parse(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}

func parse(text string) (o Objective, err error) {
	target, rest, err := cutTarget(text)
	if err != nil {
		return o, err
	}
	at := strings.IndexAny(rest, "<>")
	if at < 1 {
		return o, fmt.Errorf("%q is not an objective: %s", text, Grammar)
	}
	o.text, o.Target, o.Metric, o.Above = text, target, strings.TrimSpace(rest[:at]), rest[at] == '>'
	limit, equal := strings.CutPrefix(rest[at+1:], "=")
	o.Equal = equal
	limit = strings.TrimSpace(limit)
	o.stream, o.Metric = cutStream(o.Metric)
	switch {
	case slices.Contains(streamCounts, o.Metric):
		o.Limit, err = parseNumber(limit, "a count, as "+o.Metric+"<1")
	case o.stream != "" && !ofTimes(o.Metric):
		err = fmt.Errorf("%q is not a figure of %s: write one as %s.p99<10ms", o.Metric, o.stream, o.stream)
	case o.Metric == "errors":
		o.Limit, o.Share, err = parseErrors(limit)
	case o.Metric == "rate":
		o.Limit, err = parseNumber(strings.TrimSuffix(limit, "/s"), "a number of requests a second, as rate>1000")
	case o.OfLatency():
		var d time.Duration
		if d, err = time.ParseDuration(limit); err != nil || d <= 0 {
			err = fmt.Errorf("%q is not a duration: write one with its unit, as %s<10ms", limit, o.Metric)
		}
		o.Limit = float64(d) / 1e3
	default:
		err = unknown(o.Metric)
	}
	if err != nil {
		return o, fmt.Errorf("%q: %w", text, err)
	}
	return o, nil
}

func parseErrors(text string) (limit float64, share bool, err error) {
	const want = "a share or a count, as errors<0.1% or errors<5"
	number, share := strings.CutSuffix(text, "%")
	if limit, err = parseNumber(strings.TrimSpace(number), want); share {
		limit /= 100
	}
	if err == nil && share && limit > 1 {
		err = fmt.Errorf("%s is more than 100%%: write %s", text, want)
	}
	return limit, share, err
}

func parseNumber(text, want string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, fmt.Errorf("%q is not a limit: write %s", text, want)
	}
	return v, nil
}

// Samples returns how many right responses are needed to judge the objective.
func (o Objective) Samples() uint64 {
	q := quantile(o.Metric)
	if q == 0 {
		return 1
	}
	n := uint64(1)
	for !results.Carries(n, q) {
		n *= 2
	}
	for low := n / 2; low+1 < n; { // Carries(low) is false, Carries(n) true
		if middle := (low + n) / 2; results.Carries(middle, q) {
			n = middle
		} else {
			low = middle
		}
	}
	return n
}

// Judge compares the objective with figures. An objective with too few samples is not kept:
// nothing proves that it was.
func (o Objective) Judge(f Figures) Judged {
	f = o.of(f)
	v, ok := o.value(f)
	j := Judged{Objective: o.text}
	if !ok {
		j.Why = fmt.Sprintf("%s: %s are too few to judge, %d are needed", o.text, o.samples(f), o.Samples())
		return j
	}
	if math.IsInf(v, 1) {
		j.Kept = o.Above
		j.Why = fmt.Sprintf("%s: %d of %d %s, so it exceeds any time", o.text, f.Lost, f.Lost+f.Latency.Count-min(f.Bounds, f.Lost, f.Latency.Count), o.failed())
		return j
	}
	j.Value = &v
	if o.Above {
		j.Kept = v > o.Limit || o.Equal && v == o.Limit
	} else {
		j.Kept = v < o.Limit || o.Equal && v == o.Limit
	}
	j.Why = fmt.Sprintf("%s: it is %s", o.text, o.print(v))
	return j
}

func (o Objective) value(f Figures) (float64, bool) {
	if o.Subscribers() {
		return o.ofStream(f.Stream)
	}
	return o.ofLatency(f.Latency, f)
}

// ofLatency returns the figure of a distribution, or of the load as a whole.
func (o Objective) ofLatency(l results.Latency, f Figures) (float64, bool) {
	some := l.Count > 0
	switch o.Metric {
	case "rate":
		return f.Rate, true
	case "errors":
		if !o.Share {
			return float64(f.Errors), true
		}
		total := f.Answered + f.Errors
		return float64(f.Errors) / max(float64(total), 1), total > 0
	case "mean", "max":
		switch {
		case f.Lost > 0:
			return math.Inf(1), true
		case o.Metric == "mean":
			return l.MeanUs, some
		}
		return l.MaxUs, some
	}
	percent, ok := results.ParsePercentile(o.Metric)
	if ok && f.Lost > 0 {
		return beyond(l, percent/100, f.Lost, min(f.Bounds, f.Lost, l.Count))
	}
	if us := l.Percentile(percent); ok && us != nil {
		return *us, true
	}
	return 0, false
}

// beyond returns a quantile over requests of which lost have no latency because they
// failed: they count as longer than any time. It returns false if there are too few
// requests in total. The distribution has the ages of so many of them, bounds, as its longest times.
func beyond(l results.Latency, q float64, lost, bounds uint64) (us float64, ok bool) {
	all := l.Count + lost - bounds
	if !results.Carries(all, q) {
		return 0, false
	}
	rank := q * float64(all)
	if rank > float64(l.Count-bounds) {
		return math.Inf(1), true
	}
	h, err := l.Decode()
	if err != nil {
		return 0, false
	}
	return float64(h.ValueAtQuantile(100*rank/float64(l.Count))) / 1e3, true
}
