package arrive

import (
	"math"
	"math/rand/v2"
)

// Times iterates over the arrivals of a plan. It may be copied: the copy continues
// independently from the same arrival.
type Times struct {
	plan    *Plan
	random  rand.PCG
	started bool
	piece   piece
	count   float64 // integral of the rate from the start of piece to the last arrival
	last    int64
}

// Times returns an iterator that begins with the first arrival.
func (p *Plan) Times() Times {
	return Times{plan: p, random: *rand.NewPCG(p.Seed, 0x617272697665), piece: p.piece(0)}
}

// Next returns the next arrival in nanoseconds since the plan began, never before the last
// one; false if there are no more.
func (t *Times) Next() (int64, bool) {
	switch {
	case t.plan.Poisson:
		t.count += t.exponential()
	case t.started:
		t.count++
	default:
		t.count = t.plan.Phase
	}
	t.started = true
	for t.count >= t.piece.count {
		if t.piece.end == math.MaxInt64 {
			return 0, false
		}
		t.count -= t.piece.count
		t.piece = t.plan.piece(t.piece.end)
	}
	after := t.piece.after(t.count)
	if after >= float64(math.MaxInt64-t.piece.begin) {
		return 0, false
	}
	t.last = max(t.last, t.piece.begin+int64(math.Round(after)))
	return t.last, true
}

// after returns how many nanoseconds after its start the integral of the rate is n, which
// must be less than the total.
func (c *piece) after(n float64) float64 {
	if c.slope == 0 {
		return n * 1e9 / c.rate
	}
	// The root of slope/2·s² + rate·s = n in the form without cancellation.
	root := c.rate + math.Sqrt(max(0, c.rate*c.rate+2*c.slope*n))
	if root == 0 {
		return 0
	}
	return min(2*n/root*1e9, float64(c.end-c.begin))
}

// exponential returns a variate of mean 1. It uses inversion, so that a seed means the same
// plan whatever algorithm the library uses.
func (t *Times) exponential() float64 {
	return -math.Log1p(-float64(t.random.Uint64()>>11) / (1 << 53))
}
