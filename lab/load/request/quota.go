package request

import "github.com/redline-go/redline/lab/load/scenario"

// quota is how many requests of a closed loop may still begin, of Spec.Requests. What has
// begun is answered or counted as failed, so that both together are as many as were asked
// for. A connection that fails without a request takes one that nobody can send now. The
// setup of a scenario is beside it, but where it fails it takes one, too. Without a limit
// nothing is counted.
type quota struct {
	on   bool
	left uint64
	want uint64 // right answers and errors at which the window is over, since the process began
}

// begin limits the requests that may begin to n, of which some are under way.
func (q *quota) begin(n, under uint64) { q.on, q.left = true, max(n, under)-under }

// take takes one request, and reports whether there was one.
func (q *quota) take() bool {
	if q.left == 0 {
		return false
	}
	q.left--
	return true
}

// depth is how many of n requests may begin.
func (q *quota) depth(n int) int { return int(min(uint64(n), q.left)) }

// refund gives back what was taken for requests that never left.
func (q *quota) refund(n int) {
	if q.on {
		q.left += uint64(n)
	}
}

// spent reports whether no request may begin any more.
func (q *quota) spent() bool { return q.on && q.left == 0 }

// errors is how many errors to count when n requests failed, which target says what they
// are of if it is a scenario's; n is 0 when a connection failed that carried none.
func (q *quota) errors(n int, target *scenario.Target) uint64 {
	switch {
	case !q.on:
		return 1
	case n > 0 && (target == nil || !target.Setup()):
		return uint64(n)
	case q.take():
		return 1
	}
	return 0
}
