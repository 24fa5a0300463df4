package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/results"
)

// Outcome is the result of a fleet's run.
//
// It includes the requests and errors of a lost worker's ticks that arrived. The latencies
// of a lost worker are in the distribution if its ticks contained histograms; otherwise
// Failures reports that they are missing.
type Outcome struct {
	Failures []string `json:"failures"` // descriptions of failures that make the outcome invalid; lost workers first
	Notes    []string `json:"notes,omitempty"`

	Cut      bool              `json:"cut,omitempty"` // the run was cut short
	Seconds  float64           `json:"seconds"`       // the longest window of a worker
	Begin    float64           `json:"begin"`         // of the last window to begin, on the series' axis
	Requests uint64            `json:"requests"`
	Errors   map[string]uint64 `json:"errors"` // by kind; those of lost workers are of kind ErrLost
	Rate     float64           `json:"rate"`   // Requests / Seconds: the rate at the server
	// RateMeasured is the sum of the workers' rates, each over the worker's own Seconds:
	// the rate of the fleet without losses.
	RateMeasured float64 `json:"rate_measured"`
	Planned      float64 `json:"planned,omitempty"`  // arrivals per second; 0: a closed loop
	Adjusted     float64 `json:"adjusted,omitempty"` // Planned, without the load of lost workers
	Lost         float64 `json:"lost"`               // share of the planned load that was lost with workers, 0 to 1

	Latency map[string]results.Latency `json:"latency"` // by the name of the histogram in the workers' results, such as hdr or open.service_hdr
	Sums    map[string]uint64          `json:"sums"`    // sums of the counts in the workers' results, such as sent or open.due
	Series  []Point                    `json:"series"`
	Workers []Part                     `json:"workers"`
}

// ErrLost is the kind of a lost worker's errors, because ticks do not contain kinds.
const ErrLost = "of lost workers"

// Part is one worker's part in an Outcome.
type Part struct {
	Share    Share           `json:"share"`
	Host     string          `json:"host"`
	PID      int             `json:"pid"`
	Clock    Offset          `json:"clock"`
	Late     int64           `json:"late_ns"` // delay of its start after the agreed time, on its own clock
	Begin    float64         `json:"begin"`   // of its window, on the series' axis
	Seconds  float64         `json:"seconds"` // measured time
	Requests uint64          `json:"requests"`
	Rate     float64         `json:"rate"`              // Requests / Seconds
	Sampled  uint64          `json:"sampled,omitempty"` // of a lost worker: number of its latencies in the distribution
	Dropped  uint64          `json:"dropped_ticks,omitempty"`
	Lost     string          `json:"lost,omitempty"`    // description of the loss
	LostAt   float64         `json:"lost_at,omitempty"` // on the series' axis
	Result   json.RawMessage `json:"result,omitempty"`  // as its generator reported it
}

// maxSpread is the maximum difference between the beginnings of the workers' windows, as a
// share of a window.
const maxSpread = 0.05

// outcome merges the workers.
func (c *coordinator) outcome() (*Outcome, error) {
	o := &Outcome{
		Failures: []string{}, Notes: c.notes, Cut: c.cut,
		Errors: map[string]uint64{}, Latency: map[string]results.Latency{}, Sums: map[string]uint64{},
		Series: make([]Point, len(c.series.bins)),
	}
	for i := range o.Series {
		o.Series[i] = c.series.point(i)
	}
	sum := sum{o, map[string]*hdrhistogram.Histogram{}}
	for _, w := range c.members {
		p, err := sum.add(w)
		if err != nil {
			w.result = nil
			w.lost = &loss{w.heard, err.Error()}
			if p, err = sum.add(w); err != nil {
				return nil, err
			}
		}
		p.Begin = max(0, float64(w.window-c.start)/1e9)
		if w.lost != nil {
			p.LostAt = float64(w.lost.at-c.start) / 1e9
		}
		o.Workers = append(o.Workers, p)
	}
	for name, h := range sum.hists {
		l, err := results.NewLatency(h)
		if err != nil {
			return nil, err
		}
		o.Latency[name] = l
	}
	c.judge(o)
	if !slices.ContainsFunc(c.members, func(w *member) bool { return w.result != nil }) {
		return nil, errors.New("no worker has a result: " + c.losses())
	}
	return o, nil
}

// sum accumulates workers into an Outcome.
type sum struct {
	*Outcome
	hists map[string]*hdrhistogram.Histogram
}

// add adds a worker. On error it adds nothing.
func (s *sum) add(w *member) (Part, error) {
	p := Part{
		Share: w.share, Host: w.join.Host, PID: w.join.PID, Clock: w.offset.Offset, Late: w.late, Dropped: w.dropped,
		Seconds: w.seconds, Requests: w.requests, Result: w.result,
	}
	hists := map[string]*hdrhistogram.Histogram{}
	kinds := map[string]uint64{}
	sums := map[string]uint64{"requests": w.requests}
	if w.result != nil {
		r, err := parse(w.result)
		if err != nil {
			return p, err
		}
		p.Seconds, p.Requests = r.seconds, r.sums["requests"]
		hists, kinds, sums = r.hists, r.errors, r.sums
	} else {
		if w.hist != nil && w.unsampled == 0 {
			hists["hdr"] = w.hist
			p.Sampled = uint64(w.hist.TotalCount())
		}
		if w.errors > 0 {
			kinds[ErrLost] = w.errors
		}
	}
	if err := s.merge(hists); err != nil {
		return p, err
	}
	for kind, n := range kinds {
		s.Errors[kind] += n
	}
	for name, n := range sums {
		s.Sums[name] += n
	}
	if p.Seconds > 0 {
		p.Rate = float64(p.Requests) / p.Seconds
	}
	s.Requests += p.Requests
	s.RateMeasured += p.Rate
	s.Planned += w.share.Rate
	s.Seconds = max(s.Seconds, p.Seconds)
	return p, nil
}

// merge adds the histograms of a worker: all of them or, on error, none.
func (s *sum) merge(hists map[string]*hdrhistogram.Histogram) error {
	next := map[string]*hdrhistogram.Histogram{}
	for name, h := range hists {
		all := s.hists[name]
		if all == nil {
			next[name] = h
			continue
		}
		both := hdrhistogram.Import(all.Export())
		if err := merge(both, h); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		next[name] = both
	}
	maps.Copy(s.hists, next)
	return nil
}

// parsed contains the values of a generator's result that can be added.
type parsed struct {
	seconds float64
	errors  map[string]uint64
	hists   map[string]*hdrhistogram.Histogram
	sums    map[string]uint64
}

// summed lists the names of counts in a result. Other numbers, such as shares and times,
// must not be added.
var summed = []string{
	"requests", "bytes_in", "bytes_out", "sent", "answered", "held", "connects", "early", "dropped", "retried",
	"due", "waited", "failed", "unfinished", // of an open loop
	"handshakes", "resumed", // of TLS
	"events", "missed", "duplicated", "oversized", "reconnects", // of subscribers
}

// parse parses a result.
func parse(raw json.RawMessage) (*parsed, error) {
	p := &parsed{hists: map[string]*hdrhistogram.Histogram{}, errors: map[string]uint64{}, sums: map[string]uint64{}}
	if err := p.object("", raw); err != nil {
		return nil, err
	}
	if p.seconds <= 0 {
		return nil, errors.New("its result has no window length")
	}
	return p, nil
}

// object parses an object of a result and the objects within it, whose names are prefixes
// of their fields' names: open.due. Histograms are the strings named hdr or ending in _hdr.
func (p *parsed) object(prefix string, raw json.RawMessage) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return fmt.Errorf("its result cannot be read: %w", err)
	}
	for field, value := range fields {
		var err error
		switch name := prefix + field; {
		case name == "seconds":
			err = json.Unmarshal(value, &p.seconds)
		case name == "errors":
			err = json.Unmarshal(value, &p.errors)
		case name == "waited": // seconds of the generator's thread, not arrivals as open.waited
		case slices.Contains(summed, field):
			var n uint64
			err = json.Unmarshal(value, &n)
			p.sums[name] = n
		case field == "hdr" || strings.HasSuffix(field, "_hdr"):
			var l results.Latency
			if err = json.Unmarshal(value, &l.Histogram); err == nil && l.Histogram != "" {
				p.hists[name], err = l.Decode()
			}
		case value[0] == '{':
			err = p.object(name+".", value)
		}
		if err != nil {
			return fmt.Errorf("%s of its result: %w", field, err)
		}
	}
	return nil
}

// judge adds the failures and the rates that depend on them.
func (c *coordinator) judge(o *Outcome) {
	fail := func(format string, args ...any) { o.Failures = append(o.Failures, fmt.Sprintf(format, args...)) }
	for i, w := range c.members {
		p := &o.Workers[i]
		if o.Seconds > 0 {
			o.Adjusted += w.share.Rate * p.Seconds / o.Seconds
		}
		if w.lost == nil {
			continue
		}
		whole := o.Seconds
		if !c.cut && !c.plan.Counted {
			whole = max(whole, c.plan.Window.Seconds())
		}
		part := w.share.Fraction * max(0, 1-p.Seconds/whole)
		o.Lost += part
		p.Lost = c.lossText(w, p, part, whole)
		fail("%s", p.Lost)
	}
	if o.Seconds > 0 {
		o.Rate = float64(o.Requests) / o.Seconds
	}
	c.timing(o, fail)
}

// losses lists the causes of lost workers, for a run without a result.
func (c *coordinator) losses() string {
	var list []string
	for _, w := range c.members {
		if w.lost != nil {
			list = append(list, w.name()+": "+w.lost.Cause)
		}
	}
	return strings.Join(list, "; ")
}

// lossText describes the loss of a worker: part of the planned load, in a window of whole seconds.
func (c *coordinator) lossText(w *member, p *Part, part, whole float64) string {
	var when string
	since := func(from int64) float64 { return float64(w.lost.at-from) / 1e9 }
	switch {
	case w.window != 0 && c.plan.Counted:
		when = fmt.Sprintf("%.2f s into the window of %.2f s", max(0, since(w.window)), whole)
	case w.window != 0:
		when = fmt.Sprintf("%.2f s into the window of %v", max(0, since(w.window)), c.plan.Window)
	default:
		when = fmt.Sprintf("%.2f s after the start, before its window", max(0, since(c.start)))
	}
	text := fmt.Sprintf("%s was lost %s: %s. %.1f %% of the planned load was not sent", w.name(), when, w.lost.Cause, 100*part)
	switch {
	case w.requests == 0:
		return text + "; none of its requests are counted"
	case w.hist != nil && w.unsampled == 0:
		return text + fmt.Sprintf("; its %d requests of the preceding %.2f s are counted", w.requests, p.Seconds)
	}
	return text + fmt.Sprintf("; its %d requests of the preceding %.2f s are in the rate and the time series, but not in the latencies, of which it had sent none", w.requests, p.Seconds)
}

// timing judges clocks and windows.
func (c *coordinator) timing(o *Outcome, fail func(string, ...any)) {
	var first, last int64
	for _, w := range c.members {
		if tick := c.plan.Tick; w.offset.Uncertainty > int64(tick)/2 {
			fail("the clock of %s is known only to ±%.1f ms, which is not precise enough for a time series in steps of %v", w.name(), float64(w.offset.Uncertainty)/1e6, tick)
		}
		if tick := c.plan.Tick; w.late > int64(tick) {
			fail("%s began %.1f ms after the agreed time", w.name(), float64(w.late)/1e6)
		}
		if w.dropped > 0 {
			fail("%d ticks of %s were dropped because the connection to it was too slow: the time series has gaps", w.dropped, w.name())
		}
		if w.window == 0 {
			continue
		}
		if first == 0 || w.window < first {
			first = w.window
		}
		last = max(last, w.window)
	}
	if last > 0 {
		o.Begin = float64(last-c.start) / 1e9
	}
	if spread := last - first; float64(spread) > maxSpread*float64(c.plan.Window) {
		fail("the workers' windows began up to %.2f s apart: their rates cover different times", float64(spread)/1e9)
	}
}
