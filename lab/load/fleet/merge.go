package fleet

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/subscribe"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/results"
)

// Merge merges the results of all workers. It also returns the individual results, in the
// order of the shares; that of a lost worker is nil.
//
// Counts and distributions include the answers and latencies that a lost worker reported
// until its last tick. Its answered arrivals count as due and sent. Service time, send lag
// and all other values cover only the workers that have a result. The generator's CPU time
// is the mean, so that its share of the window is that of one core.
func Merge(o *Outcome) (sum *spec.Result, each []*spec.Result, err error) {
	sum = &spec.Result{
		Seconds: o.Seconds, Requests: o.Requests, Errors: maps.Clone(o.Errors), Steady: true, Cut: o.Cut,
		BytesIn: o.Sums["bytes_in"], BytesOut: o.Sums["bytes_out"], Sent: o.Sums["sent"], Answered: o.Sums["answered"],
		Held: int(o.Sums["held"]), Connects: o.Sums["connects"], Early: o.Sums["early"], Dropped: o.Sums["dropped"], Retried: o.Sums["retried"],
		Connect: o.Latency["connect_hdr"].Histogram, FirstByte: o.Latency["first_byte_hdr"].Histogram,
	}
	if sum.Histogram = o.Latency["hdr"].Histogram; sum.Histogram == "" {
		none, err := results.NewLatency(tally.DeltaHistogram())
		if err != nil {
			return nil, nil, err
		}
		sum.Histogram = none.Histogram
	}
	each = make([]*spec.Result, len(o.Workers))
	var cpu, longest float64
	var heard []*spec.Subscribed
	n := 0
	for i, w := range o.Workers {
		if len(w.Result) == 0 {
			continue
		}
		r := new(spec.Result)
		if err := json.Unmarshal(w.Result, r); err != nil {
			return nil, nil, fmt.Errorf("read the result of worker %d: %w", i, err)
		}
		each[i] = r
		n++
		cpu += r.GeneratorCPU / r.Seconds
		sum.WarmupSeconds = max(sum.WarmupSeconds, r.WarmupSeconds)
		sum.Steal = max(sum.Steal, r.Steal)
		sum.Foreign = largest(sum.Foreign, r.Foreign)
		sum.InFlight, sum.InFlightMax = sum.InFlight+r.InFlight, sum.InFlightMax+r.InFlightMax
		sum.Waited = max(sum.Waited, r.Waited)
		addAnswers(sum, r)
		addGaps(sum, r, n == 1)
		sum.Steady = sum.Steady && r.Steady
		sum.Cut = sum.Cut || r.Cut
		sum.GaveUp = cmp.Or(sum.GaveUp, r.GaveUp)
		sum.Gone = sortedUnion(sum.Gone, r.Gone)
		if r.Seconds > longest && r.ServerCPU > 0 { // all workers measured the same processes
			longest = r.Seconds
			sum.ServerUser, sum.ServerSys, sum.ServerCPU = r.ServerUser, r.ServerSys, r.ServerCPU
		}
		if err := errors.Join(addTargets(sum, r), addFlows(sum, r), addRamp(sum, r), addSteps(sum, r)); err != nil {
			return nil, nil, fmt.Errorf("worker %d: %w", i, err)
		}
		if r.Open != nil {
			sum.Open = new(spec.Open)
		}
		if r.Listen != nil {
			heard = append(heard, r.Listen)
		}
		if r.TLS != nil && sum.TLS == nil {
			shaken := *r.TLS // the negotiated parameters are the same for all
			shaken.Handshakes, shaken.Resumed, shaken.Histogram = o.Sums["tls.handshakes"], o.Sums["tls.resumed"], o.Latency["tls.hdr"].Histogram
			sum.TLS = &shaken
		}
	}
	if len(heard) > 0 {
		if sum.Listen, err = subscribe.Merge(heard); err != nil {
			return nil, nil, err
		}
	}
	sum.GeneratorCPU = cpu / float64(max(n, 1)) * sum.Seconds
	if sum.Open != nil {
		*sum.Open = mergeOpen(o)
	}
	return sum, each, nil
}

// addAnswers adds the counts of a worker's answers.
func addAnswers(sum, r *spec.Result) {
	sum.Unanswered, sum.Late, sum.TimedOut = sum.Unanswered+r.Unanswered, sum.Late+r.Late, sum.TimedOut+r.TimedOut
	for status, n := range r.Statuses {
		if sum.Statuses == nil {
			sum.Statuses = map[string]uint64{}
		}
		sum.Statuses[status] += n
	}
	sum.Bodies = sum.Bodies.Merge(r.Bodies)
}

// addGaps adds when a worker did not run, and leaves of the silences those that it had too; first is
// whether it is the first. The largest drift counts.
func addGaps(sum, r *spec.Result, first bool) {
	sum.Stalls = tally.MergeGaps(sum.Stalls, r.Stalls)
	sum.Stalled.Times += r.Stalled.Times
	sum.Stalled.Seconds += r.Stalled.Seconds
	if sum.Silences = tally.CommonGaps(sum.Silences, r.Silences); first {
		sum.Silences = r.Silences
	}
	if math.Abs(r.Drift) > math.Abs(sum.Drift) {
		sum.Drift = r.Drift
	}
}

// largest returns the larger of two shares; nil is one that was not measured.
func largest(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// sortedUnion returns the sorted union of a and b.
func sortedUnion(a, b []int) []int {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// mergeOpen returns the arrivals of all workers.
func mergeOpen(o *Outcome) spec.Open {
	sum := spec.Open{
		Due: o.Sums["open.due"], Sent: o.Sums["open.sent"], Waited: o.Sums["open.waited"],
		Failed: o.Sums["open.failed"], Unfinished: o.Sums["open.unfinished"],
		Service: o.Latency["open.service_hdr"].Histogram, Lag: o.Latency["open.lag_hdr"].Histogram, Pacing: o.Latency["open.pacing_hdr"].Histogram,
	}
	for _, w := range o.Workers {
		sum.Due += w.Sampled
		sum.Sent += w.Sampled
	}
	return sum
}

// addParts adds the parts of one worker's result, such as its targets, to sum: both have the
// same ones, of a kind that what names. The first worker's parts, of which clone returns copies,
// are the first sum. add adds one part.
func addParts[T any](sum *[]T, parts []T, what string, clone func(T) T, add func(all, one *T) error) error {
	if *sum == nil {
		for _, p := range parts {
			*sum = append(*sum, clone(p))
		}
		return nil
	}
	if len(*sum) != len(parts) {
		return fmt.Errorf("%d %ss, another worker has %d", len(parts), what, len(*sum))
	}
	for i := range parts {
		if err := add(&(*sum)[i], &parts[i]); err != nil {
			return fmt.Errorf("%s %d: %w", what, i+1, err)
		}
	}
	return nil
}

// same returns a part without maps or slices: a copy needs nothing more.
func same[T any](part T) T { return part }

// addHistogram adds the encoded histogram one to all.
func addHistogram(all *string, one string) error {
	both, err := results.MergeLatency([]results.Latency{{Histogram: *all}, {Histogram: one}})
	if err != nil {
		return err
	}
	*all = both.Histogram
	return nil
}

// addSteps adds what the steps of a worker's plan came to. All have the same ones.
func addSteps(sum, r *spec.Result) error {
	return addParts(&sum.Steps, r.Steps, "step", same, func(all, s *spec.Step) error {
		all.Right, all.Failed, all.Unfinished, all.Answered = all.Right+s.Right, all.Failed+s.Failed, all.Unfinished+s.Unfinished, all.Answered+s.Answered
		return addHistogram(&all.Histogram, s.Histogram)
	})
}

// addTargets adds a worker's results by target. All workers run the same scenario.
func addTargets(sum, r *spec.Result) error {
	clone := func(t spec.Target) spec.Target {
		t.Checks, t.Tags = maps.Clone(t.Checks), maps.Clone(t.Tags)
		return t
	}
	return addParts(&sum.Targets, r.Targets, "target", clone, func(all, t *spec.Target) error {
		if all.Name != t.Name {
			return fmt.Errorf("%q, where another worker has %q", t.Name, all.Name)
		}
		all.Requests += t.Requests
		all.Errors += t.Errors
		for name, n := range t.Checks {
			if all.Checks == nil {
				all.Checks = map[string]uint64{}
			}
			all.Checks[name] += n
		}
		return addHistogram(&all.Histogram, t.Histogram)
	})
}

// addFlows adds the iterations of a worker's users.
func addFlows(sum, r *spec.Result) error {
	return addParts(&sum.Flows, r.Flows, "flow", same, func(all, f *spec.Flow) error {
		all.Completed += f.Completed
		all.Aborted += f.Aborted
		all.Unfinished += f.Unfinished
		return errors.Join(addHistogram(&all.Histogram, f.Histogram), addHistogram(&all.Waited, f.Waited))
	})
}

// addRamp adds what came in each span of a ramp, of which each worker makes its part.
func addRamp(sum, r *spec.Result) error {
	return addParts(&sum.Ramp, r.Ramp, "ramp step", same, func(all, s *spec.RampStep) error {
		all.Requests += s.Requests
		all.Errors += s.Errors
		return addHistogram(&all.Histogram, s.Histogram)
	})
}
