package verdict

import (
	"fmt"

	"github.com/redline-go/redline/lab/results"
)

// stealLimit is the share of the CPUs' time that the hypervisor may take. Beyond
// it the kernel's accounting charges some of that time to whoever was running.
const stealLimit = 0.02

// Failures is how many requests of a run came to nothing: of a closed loop those that met
// an error in the window, and the unanswered; of an open loop the arrivals that were due in
// the window and failed, or were never answered, however long after it.
func Failures(errors map[string]uint64, unanswered uint64, open *results.Open) uint64 {
	n := results.CountErrors(errors)
	if open != nil {
		n = max(n, open.Failed) + open.Unfinished
	}
	return n + unanswered
}

// Errors passes without a single failure. errors are those of the window by kind.
func Errors(failures uint64, errors map[string]uint64) results.Gate {
	text := fmt.Sprintf("%d answers were wrong or missing", failures)
	if len(errors) > 0 {
		text += fmt.Sprintf(" (%s)", results.ErrorKinds(errors))
	}
	return results.Gate{Name: "errors", Passed: failures == 0, Value: float64(failures), Text: text}
}

// Unanswered passes when no request of a closed loop was left without an answer.
func Unanswered(n uint64) results.Gate {
	return results.Gate{
		Name: "unanswered", Passed: n == 0, Value: float64(n),
		Text: fmt.Sprintf("%d requests had no answer when the window ended; the latencies have their ages, and are too low", n),
	}
}

// Steady passes when the warm-up ended without a trend.
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

// Steal passes when the hypervisor left the CPUs alone.
func Steal(ratio float64) results.Gate {
	return results.Gate{
		Name: "steal", Passed: ratio <= stealLimit, Value: ratio, Limit: stealLimit,
		Text: fmt.Sprintf("the hypervisor took %.1f %% of the CPUs' time", ratio*100),
	}
}

// foreignLimit is the share of the CPUs' time that may go to processes which are not of
// the run: to the kernel's threads, to what a quiet system does now and then.
const foreignLimit = 0.03

// Foreign passes when nobody else used the CPUs of the run. ratio is what others used of
// them in so many seconds, nil where it is not known. Short windows are allowed what
// cannot be told: two hundredths of a second.
func Foreign(ratio *float64, seconds float64) []results.Gate {
	if ratio == nil {
		return nil
	}
	limit := foreignLimit + 0.02/max(seconds, 0.02)
	return []results.Gate{{
		Name: "foreign CPU", Passed: *ratio <= limit, Value: *ratio, Limit: limit,
		Text: fmt.Sprintf("other processes used %.1f %% of the CPUs of server and generator, %.1f %% are allowed: see with top or redline env what runs there", *ratio*100, limit*100),
	}}
}

// Answers passes with a single right answer.
func Answers(requests uint64) results.Gate {
	return results.Gate{
		Name: "answers", Passed: requests > 0, Value: float64(requests), Limit: 1,
		Text: "not one answer in the window",
	}
}
