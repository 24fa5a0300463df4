package verdict

import (
	"fmt"

	"github.com/redline-go/redline/lab/results"
)

// stealLimit is the share of the CPUs' time that the hypervisor may take. Above it, the
// kernel charges some of that time to the process that was running.
const stealLimit = 0.02

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
		Text: fmt.Sprintf("the rate still had a trend after %.1f s of warm-up", warmupSeconds),
	}
}

// Steal passes if the hypervisor took hardly any of the CPUs' time.
func Steal(ratio float64) results.Gate {
	return results.Gate{
		Name: "steal", Passed: ratio <= stealLimit, Value: ratio, Limit: stealLimit,
		Text: fmt.Sprintf("the hypervisor took %.1f %% of the CPUs' time", ratio*100),
	}
}

// foreignLimit is the share of the CPUs' time that processes outside of the run may use:
// kernel threads, and what a quiet system does occasionally.
const foreignLimit = 0.03

// Foreign passes if no other process used the CPUs of the run. ratio is the share that
// others used of them in a window of that many seconds, nil if unknown. Short windows are
// allowed two hundredths of a second, which is below the resolution.
func Foreign(ratio *float64, seconds float64) []results.Gate {
	if ratio == nil {
		return nil
	}
	limit := foreignLimit + 0.02/max(seconds, 0.02)
	return []results.Gate{{
		Name: "foreign CPU", Passed: *ratio <= limit, Value: *ratio, Limit: limit,
		Text: fmt.Sprintf("other processes used %.1f %% of the CPUs of server and generator, the limit is %.1f %%: find them with top or redline env", *ratio*100, limit*100),
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
		Text: fmt.Sprintf("the generator's core was %.0f %% busy and the server is not known to be full: the rate may be the generator's limit", 100*cpu),
	}
}
