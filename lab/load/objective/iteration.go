package objective

import "github.com/redline-go/redline/lab/results"

const ofFlows = "; flows of a scenario also have iteration.p99 and so on"

// iteration is the distribution of the times that users take for a flow.
const iteration = "iteration"

// Iterations are the measurements of flows.
type Iterations struct {
	Time    results.Latency // of the completed ones
	Aborted uint64          // they count as longer than any time
}

// Iterations reports whether the figure of the objective is one of flows. Target then is the
// name of a flow.
func (o Objective) Iterations() bool { return o.stream == iteration }

// figures returns i in the form of those of requests.
func (i Iterations) figures() Figures {
	return Figures{Latency: i.Time, Answered: i.Time.Count, Lost: i.Aborted}
}

// failed describes what has no latency.
func (o Objective) failed() string {
	if o.Iterations() {
		return "iterations were aborted"
	}
	return "requests failed"
}
