package verdict

import (
	"fmt"

	"github.com/redline-go/redline/lab/results"
)

// stealLimit is the share of the CPUs' time that the hypervisor may take. Beyond
// it the kernel's accounting charges some of that time to whoever was running.
const stealLimit = 0.02

// Errors passes without a single error.
func Errors(errors map[string]uint64) results.Gate {
	n := results.CountErrors(errors)
	return results.Gate{
		Name: "errors", Passed: n == 0, Value: float64(n),
		Text: fmt.Sprintf("%d answers were wrong or missing (%s)", n, results.ErrorKinds(errors)),
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

// Answers passes with a single right answer.
func Answers(requests uint64) results.Gate {
	return results.Gate{
		Name: "answers", Passed: requests > 0, Value: float64(requests), Limit: 1,
		Text: "not one answer in the window",
	}
}
