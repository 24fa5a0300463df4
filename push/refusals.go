package push

import "net/http"

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
