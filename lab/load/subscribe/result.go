package subscribe

import (
	"fmt"
	"iter"
	"maps"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/sse"
	"github.com/redline-go/redline/lab/results"
)

// Counts are the totals of all subscribers. They only grow: the counts of an interval are
// the difference of two copies.
type Counts struct {
	Events     uint64 // complete records; of server-sent events those with data
	Missed     uint64 // ids missing between two consecutive ids of a subscriber
	Duplicated uint64 // ids that were not above the highest id of the subscriber
	Oversized  uint64 // records over Subscribe.Limit, which were skipped
	Cut        uint64 // records cut short by the end of a connection
	Comments   uint64 // comment lines of server-sent events, sent to keep connections alive
	Negative   uint64 // delays below zero: the clocks differ
	BytesIn    uint64 //
	BytesOut   uint64 //
	Connects   uint64 // connections established
	Reconnects uint64 // times that a subscriber was standing again
	Ends       uint64 // streams that the server ended regularly
	Retired    uint64 // subscribers that do not reconnect
	Left       uint64 // subscribers that left, see spec.Subscribe.Churn
	Joined     uint64 // of them, those that stood again
	Errors     [numKinds]uint64
	Slow       SlowCounts // of slow subscribers, whose events are in none of the above
	sse.Seen              // of Events
}

// SlowCounts are the totals of slow subscribers.
type SlowCounts struct{ Events, Missed, Duplicated, Ended uint64 }

// Failures returns the number of errors of all kinds.
func (c *Counts) Failures() (n uint64) {
	for _, e := range c.Errors {
		n += e
	}
	return n
}

// Since returns the difference between c and an earlier copy.
func (c *Counts) Since(from *Counts) Counts {
	d := Counts{
		Events: c.Events - from.Events, Missed: c.Missed - from.Missed, Duplicated: c.Duplicated - from.Duplicated,
		Oversized: c.Oversized - from.Oversized, Cut: c.Cut - from.Cut, Comments: c.Comments - from.Comments,
		Negative: c.Negative - from.Negative, BytesIn: c.BytesIn - from.BytesIn, BytesOut: c.BytesOut - from.BytesOut,
		Connects: c.Connects - from.Connects, Reconnects: c.Reconnects - from.Reconnects, Ends: c.Ends - from.Ends,
		Retired: c.Retired - from.Retired, Left: c.Left - from.Left, Joined: c.Joined - from.Joined,
		Slow: SlowCounts{
			Events: c.Slow.Events - from.Slow.Events, Missed: c.Slow.Missed - from.Slow.Missed,
			Duplicated: c.Slow.Duplicated - from.Slow.Duplicated, Ended: c.Slow.Ended - from.Slow.Ended,
		},
		Seen: sse.Seen{Stamped: c.Stamped - from.Stamped, Numbered: c.Numbered - from.Numbered},
	}
	for k := range d.Errors {
		d.Errors[k] = c.Errors[k] - from.Errors[k]
	}
	return d
}

// ByKind returns the errors by name, without zeros.
func (c *Counts) ByKind() map[string]uint64 {
	m := map[string]uint64{}
	for k, n := range c.Errors {
		if n > 0 {
			m[Kind(k).String()] = n
		}
	}
	return m
}

// Fill stores the counts of a window in its result.
func Fill(r *spec.Subscribed, c *Counts) {
	r.Events, r.Missed, r.Duplicated, r.Oversized = c.Events, c.Missed, c.Duplicated, c.Oversized
	r.Cut, r.Comments, r.Negative, r.Reconnects, r.Ends = c.Cut, c.Comments, c.Negative, c.Reconnects, c.Ends
	r.Stamped, r.Numbered = c.Stamped, c.Numbered
	r.Left, r.Joined = c.Left, c.Joined
}

// Merge merges the results of several generators whose windows coincide. Ids are counted
// per subscriber, and each subscriber is in one result, so missed and duplicated ids add up
// exactly. Distributions are merged bucket by bucket. Only Lowest is not exact: the minimums
// of the generators may have been at different times.
func Merge(parts []*spec.Subscribed) (*spec.Subscribed, error) {
	sum := &spec.Subscribed{}
	var err error
	var gaps, lags []results.Latency
	var each float64
	for _, p := range parts {
		sum.Subscribers += p.Subscribers
		sum.Standing += p.Standing
		sum.Lowest += p.Lowest
		sum.Endless += p.Endless
		sum.Quiet += p.Quiet
		sum.Silence = max(sum.Silence, p.Silence)
		sum.Connect = max(sum.Connect, p.Connect)
		sum.Memory += p.Memory
		each += p.Each * float64(p.Subscribers)
		sum.Events += p.Events
		sum.Stamped += p.Stamped
		sum.Numbered += p.Numbered
		sum.Missed += p.Missed
		sum.Duplicated += p.Duplicated
		sum.Oversized += p.Oversized
		sum.Cut += p.Cut
		sum.Comments += p.Comments
		sum.Negative += p.Negative
		sum.Reconnects += p.Reconnects
		sum.Ends += p.Ends
		sum.Retired += p.Retired
		sum.Left += p.Left
		sum.Joined += p.Joined
		sum.Slow = addSlow(sum.Slow, p.Slow)
		if sum.Publish, err = addPublished(sum.Publish, p.Publish); err != nil {
			return nil, err
		}
		gaps = append(gaps, results.Latency{Histogram: p.Gap})
		lags = append(lags, results.Latency{Histogram: p.Lag})
	}
	if sum.Subscribers > 0 {
		sum.Each = each / float64(sum.Subscribers)
	}
	gap, err := results.MergeLatency(gaps)
	if err != nil {
		return nil, fmt.Errorf("gaps: %w", err)
	}
	lag, err := results.MergeLatency(lags)
	if err != nil {
		return nil, fmt.Errorf("lags: %w", err)
	}
	sum.Gap, sum.Lag = gap.Histogram, lag.Histogram
	return sum, nil
}

// addSlow adds the figures of a generator's slow subscribers to those of others.
func addSlow(sum, one *spec.SlowHeard) *spec.SlowHeard {
	if one == nil {
		return sum
	}
	out := *one
	if sum != nil {
		out.Subscribers += sum.Subscribers
		out.Events += sum.Events
		out.Missed += sum.Missed
		out.Duplicated += sum.Duplicated
		out.Ended += sum.Ended
	}
	return &out
}

// addPublished adds the figures of a generator's publishers to those of others.
func addPublished(sum, one *spec.Published) (*spec.Published, error) {
	if one == nil {
		return sum, nil
	}
	out := *one
	out.Errors = maps.Clone(one.Errors)
	if sum == nil {
		return &out, nil
	}
	out.Topics += sum.Topics
	out.Due += sum.Due
	out.Sent += sum.Sent
	out.Accepted += sum.Accepted
	out.Unsent += sum.Unsent
	out.Lost += sum.Lost
	for kind, n := range sum.Errors {
		out.Errors[kind] += n
	}
	for _, h := range []struct{ to, from *string }{{&out.Lag, &sum.Lag}, {&out.Own, &sum.Own}, {&out.Answer, &sum.Answer}} {
		both, err := results.MergeLatency([]results.Latency{{Histogram: *h.to}, {Histogram: *h.from}})
		if err != nil {
			return nil, fmt.Errorf("publishers: %w", err)
		}
		*h.to = both.Histogram
	}
	return &out, nil
}

// quiet reports on the standing subscribers at the end of a window.
func (b *book) quiet(r *spec.Subscribed, begin, now int64) {
	var longest int64
	for s, silence := range b.silences(begin, now) {
		if s.sse.Over() {
			r.Endless++
		}
		if silence >= now-begin {
			r.Quiet++
		}
		longest = max(longest, silence)
	}
	r.Silence = float64(longest) / 1e9
}

// silences yields the standing subscribers and the nanoseconds since their last event, or
// since the window began if there was none.
func (b *book) silences(begin, now int64) iter.Seq2[*subscriber, int64] {
	return func(yield func(*subscriber, int64) bool) {
		for i := range b.subs {
			s := &b.subs[i]
			if s.phase != standing || s.slow {
				continue
			}
			last, ok := s.sse.Last()
			if !ok {
				last = begin
			}
			if !yield(s, now-last) {
				return
			}
		}
	}
}
