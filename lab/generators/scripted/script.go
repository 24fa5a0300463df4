// Package scripted is a server whose answers come when a script says, so that the
// distribution of its response times is calculated and not measured; and the
// process that it is, which can be a responder of HTTP/2, too.
package scripted

import (
	"slices"
	"time"
)

// A Script says when a server answers. Times count from any common zero.
//
// The server needs Service for each request, however many there are, and does
// nothing from StallAt on for the time Stall: what was in work is resumed, as
// after SIGSTOP and SIGCONT.
type Script struct {
	Service time.Duration
	StallAt time.Duration
	Stall   time.Duration
}

// Answer is when a request is answered that came at the time at.
func (s Script) Answer(at time.Duration) time.Duration {
	end := s.StallAt + s.Stall
	switch {
	case at >= end || at+s.Service <= s.StallAt:
		return at + s.Service
	case at >= s.StallAt:
		return end + s.Service
	default: // in work when the stall began
		return at + s.Service + s.Stall
	}
}

// A Distribution is response times in order.
type Distribution []time.Duration

// Truth is what users see who come rate times a second for the time T, evenly and
// whatever the server does. No user waits for another: the server takes all at once.
//
// A user who comes x into a stall of length D waits D-x for its end, and then the
// service time s. Users come evenly, so that a share f = D/T of them waits evenly
// between 0 and D, and for 1-q < f the quantile q is
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

// Quantile is the shortest time that a share q (0 to 1) of all does not exceed.
func (d Distribution) Quantile(q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	i := int(q*float64(len(d)) + 1 - 1e-9) // ceil, past the rounding of q
	return d[min(max(i-1, 0), len(d)-1)]
}
