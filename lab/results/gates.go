package results

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// stealLimit is the share of the CPUs' time that the hypervisor may take. Beyond
// it the kernel's accounting charges some of that time to whoever was running.
const stealLimit = 0.02

// ErrorsGate passes without a single error.
func ErrorsGate(errors map[string]uint64) Gate {
	n := CountErrors(errors)
	return Gate{
		Name: "errors", Passed: n == 0, Value: float64(n),
		Text: fmt.Sprintf("%d answers were wrong or missing (%s)", n, ErrorKinds(errors)),
	}
}

// SteadyGate passes when the warm-up ended without a trend.
func SteadyGate(steady bool, warmupSeconds float64) Gate {
	value := 0.0
	if steady {
		value = 1
	}
	return Gate{
		Name: "steady", Passed: steady, Value: value, Limit: 1,
		Text: fmt.Sprintf("the rate still had a trend after %.1f s of warm-up", warmupSeconds),
	}
}

// StealGate passes when the hypervisor left the CPUs alone.
func StealGate(ratio float64) Gate {
	return Gate{
		Name: "steal", Passed: ratio <= stealLimit, Value: ratio, Limit: stealLimit,
		Text: fmt.Sprintf("the hypervisor took %.1f %% of the CPUs' time", ratio*100),
	}
}

// AnswersGate passes with a single right answer.
func AnswersGate(requests uint64) Gate {
	return Gate{
		Name: "answers", Passed: requests > 0, Value: float64(requests), Limit: 1,
		Text: "not one answer in the window",
	}
}

// Valid reports whether all gates passed.
func Valid(gates []Gate) bool {
	return !slices.ContainsFunc(gates, func(g Gate) bool { return !g.Passed })
}

// CountErrors is the sum over all kinds.
func CountErrors(errors map[string]uint64) (n uint64) {
	for _, k := range errors {
		n += k
	}
	return n
}

// ErrorKinds lists counts with what they are of: "reset 3, status 1".
func ErrorKinds(counts map[string]uint64) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", kind, counts[kind]))
	}
	return strings.Join(parts, ", ")
}
