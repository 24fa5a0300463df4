// Package scripted provides a server that answers at times defined by a script, so that the
// distribution of its response times is calculated and not measured. It also provides the
// server process, which can be an HTTP/2 responder instead.
package scripted

import (
	"slices"
	"time"
)

// A Script defines when a server answers. Times count from any common zero.
//
// The server needs Service for each request, regardless of their number, and does nothing
// for the time Stall from StallAt on. Requests in service are then resumed, as after
// SIGSTOP and SIGCONT.
type Script struct {
	Service time.Duration
	StallAt time.Duration
	Stall   time.Duration
}

// Answer returns when a request that arrives at the time at is answered.
func (s Script) Answer(at time.Duration) time.Duration {
	end := s.StallAt + s.Stall
	switch {
	case at >= end || at+s.Service <= s.StallAt:
		return at + s.Service
	case at >= s.StallAt:
		return end + s.Service
	default: // in service when the stall began
		return at + s.Service + s.Stall
	}
}

// A Distribution is a sorted list of response times.
type Distribution []time.Duration

// Truth returns the response times of users who arrive rate times a second for the time t,
// evenly spaced and independent of the server. No user waits for another: the server serves
// all at once.
//
// A user who arrives at the time x of a stall of length D waits D-x for its end, and then
// the service time s. Arrivals are evenly spaced, so a share f = D/T of them waits between
// 0 and D, evenly distributed, and for 1-q < f the quantile q is
//
//	t(q) = s + D(1 - (1-q)/f)
//
// With s = 2 ms, D = 2 s and T = 10 s: p50 2 ms, p99 1.902 s, maximum 2.002 s.
func (s Script) Truth(rate int, t time.Duration) Distribution {
	var d Distribution
	step := time.Second / time.Duration(rate)
	for at := time.Duration(0); at < t; at += step {
		d = append(d, s.Answer(at)-at)
	}
	slices.Sort(d)
	return d
}

// Quantile returns the shortest time that a share q (0 to 1) of all does not exceed.
func (d Distribution) Quantile(q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	i := int(q*float64(len(d)) + 1 - 1e-9) // ceil, despite the rounding of q
	return d[min(max(i-1, 0), len(d)-1)]
}
