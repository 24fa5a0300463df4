package verdict

import (
	"fmt"

	"github.com/redline-go/redline/lab/results"
)

// tick is the resolution of the kernel's accounts of CPU time, in seconds: USER_HZ is 100 on every
// architecture that Go supports.
const tick = 0.01

// The shares of the CPUs' time that the hypervisor, and processes outside of the run, may take, with
// a tick for what the accounts cannot resolve. Above them rates and latencies are those of the
// disturbance: 1 % of stolen time adds 19 % to the median latency. Neither changes the CPU time of a
// request in a closed loop by more than the comparison of pairs shows, and stolen time is not charged
// to processes.
const (
	stealLimit   = 0.02
	foreignLimit = 0.05
)

// withTick returns a limit for a window of that many seconds.
func withTick(limit, seconds float64) float64 { return limit + tick/max(seconds, tick) }

// Failures returns how many requests of a run failed. In a closed loop these are the
// requests with an error in the window and the unanswered ones; in an open loop the
// arrivals that were due in the window and failed or were never answered, however long
// after it; connections that failed count only if no arrival did.
func Failures(errors map[string]uint64, unanswered uint64, open *results.Open) uint64 {
	if open != nil && open.Failed+open.Unfinished > 0 {
		return open.Failed + open.Unfinished // a connection that failed several times is an error each time
	}
	return results.CountErrors(errors) + unanswered
}

// Errors passes without a single failure. errors are those of the window by kind.
func Errors(failures uint64, errors map[string]uint64) results.Gate {
	text := fmt.Sprintf("%d answers were wrong or missing", failures)
	if len(errors) > 0 {
		text += fmt.Sprintf(" (%s)", results.ErrorKinds(errors))
	}
	return results.Gate{Name: "errors", Passed: failures == 0, Value: float64(failures), Text: text}
}

// Unanswered passes if no request of a closed loop remained without a response.
func Unanswered(n uint64) results.Gate {
	return results.Gate{
		Name: "unanswered", Passed: n == 0, Value: float64(n),
		Text: fmt.Sprintf("%d requests of the window had no answer, although the generator waited for it; their ages count as latencies, which are too low", n),
	}
}

// Steady passes if the warm-up ended without a trend.
func Steady(steady bool, warmupSeconds float64) results.Gate {
	value := 0.0
	if steady {
		value = 1
	}
	return results.Gate{
		Name: "steady", Passed: steady, Value: value, Limit: 1,
		Text:        fmt.Sprintf("the rate still had a trend after %.1f s of warm-up", warmupSeconds),
		Disturbance: true, Spoils: []results.Figure{results.FigureCPU, results.FigureRate, results.FigureLatency},
	}
}

// Steal passes if the hypervisor took hardly any of the CPUs' time in a window of that many seconds.
func Steal(ratio, seconds float64) results.Gate {
	limit := withTick(stealLimit, seconds)
	return results.Gate{
		Name: "steal", Passed: ratio <= limit, Value: ratio, Limit: limit,
		Text:        fmt.Sprintf("the hypervisor took %.1f %% of the CPUs' time", ratio*100),
		Disturbance: true, Spoils: []results.Figure{results.FigureRate, results.FigureLatency},
	}
}

// Foreign passes if no other process used the CPUs of the run. ratio is the share that others used of
// them in a window of that many seconds, nil if unknown. In an open loop they make the server answer
// more requests at a time, so that it needs less CPU time for each.
func Foreign(ratio *float64, seconds float64, open bool) []results.Gate {
	if ratio == nil {
		return nil
	}
	spoils := []results.Figure{results.FigureRate, results.FigureLatency}
	if open {
		spoils = append(spoils, results.FigureCPU)
	}
	limit := withTick(foreignLimit, seconds)
	return []results.Gate{{
		Name: "foreign CPU", Passed: *ratio <= limit, Value: *ratio, Limit: limit,
		Text:        fmt.Sprintf("other processes used %.1f %% of the CPUs of server and generator, the limit is %.1f %%: find them with top or redline env", *ratio*100, limit*100),
		Disturbance: true, Spoils: spoils,
	}}
}

// Answers passes with at least one right response.
func Answers(requests uint64) results.Gate {
	return results.Gate{
		Name: "answers", Passed: requests > 0, Value: float64(requests), Limit: 1,
		Text: "no answers in the window",
	}
}

// fullCore is the utilisation at which a CPU counts as full: the rest goes to interrupts and
// to the readings themselves.
const fullCore = 0.95

// Bound reports whether a closed loop measured its generator: the generator's core was full,
// and the server's CPUs were not. Both are utilisations; server is 0 if it is not known.
func Bound(generator, server float64) bool { return generator >= fullCore && server < fullCore }

// Unbound passes if a closed loop was not limited by its generator, of which cpu is the
// utilisation.
func Unbound(bound bool, cpu float64) results.Gate {
	return results.Gate{
		Name: "generator", Passed: !bound, Value: cpu, Limit: fullCore,
		Text:   fmt.Sprintf("the generator's core was %.0f %% busy and the server is not known to be full: the rate may be the generator's limit", 100*cpu),
		Spoils: []results.Figure{results.FigureRate, results.FigureLatency},
	}
}
