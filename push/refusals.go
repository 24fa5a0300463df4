package push

import (
	"net/http"
	"slices"
)

// A refused names a reason to refuse a subscriber, and the status of the answer.
type refused struct {
	why    error
	name   string
	bye    string // its reason in a bye, instead of a stream; "": an EventSource gets the status too
	status int
}

var refusals = [...]refused{
	{errClosing, "shutdown", "shutdown", http.StatusServiceUnavailable},
	{errBroker, "broker", "broker", http.StatusServiceUnavailable},
	{errFull, "subscribers", "limit", http.StatusServiceUnavailable},
	{errMemory, "memory", "limit", http.StatusServiceUnavailable},
	{errAddress, "address", "limit", http.StatusServiceUnavailable},
	{errUser, "user", "limit", http.StatusServiceUnavailable},
	{errRate, "connects", "limit", http.StatusTooManyRequests},
	{errResumes, "resumptions", "limit", http.StatusTooManyRequests},
	{errRevoked, "revoked", "", http.StatusUnauthorized},
}

// refusalAt returns the place in refusals of one of their errors.
func refusalAt(why error) int {
	return slices.IndexFunc(refusals[:], func(r refused) bool { return r.why == why })
}

// refusalFor is the answer to a joining that a limit refuses.
func refusalFor(why error, j *joining) *refusal {
	return &refusal{status: refusals[refusalAt(why)].status, text: why.Error(), wait: j.wait}
}
