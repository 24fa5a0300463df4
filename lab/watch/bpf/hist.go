package bpf

import "math"

// A Hist is a distribution of times. Bucket 0 is below 1,024 ns; then each power of two has four
// buckets, so a quantile is wrong by an eighth at most. The last bucket has everything above.
type Hist struct {
	Buckets [112]uint64
	Seconds float64 // their sum
}

// Count returns the number of times.
func (h *Hist) Count() (n uint64) {
	for _, c := range h.Buckets {
		n += c
	}
	return n
}

// Mean returns the mean in seconds; 0 without times.
func (h *Hist) Mean() float64 {
	n := h.Count()
	if n == 0 {
		return 0
	}
	return h.Seconds / float64(n)
}

// Quantile returns a quantile, 0 to 1, in seconds: the middle of its bucket. It is 0 without times.
func (h *Hist) Quantile(q float64) float64 {
	rank := uint64(math.Ceil(q * float64(h.Count())))
	for i, c := range h.Buckets {
		if c >= rank && c > 0 {
			low, high := bounds(i)
			return (low + high) / 2
		}
		rank -= min(rank, c)
	}
	return 0
}

// bounds returns the limits of a bucket in seconds.
func bounds(i int) (low, high float64) {
	if i == 0 {
		return 0, 1024e-9
	}
	i--
	unit := math.Ldexp(256e-9, i/4)
	return unit * float64(4+i%4), unit * float64(5+i%4)
}

func (h *Hist) sub(earlier *Hist) Hist {
	d := Hist{Seconds: h.Seconds - earlier.Seconds}
	for i := range h.Buckets {
		d.Buckets[i] = h.Buckets[i] - earlier.Buckets[i]
	}
	return d
}

func (h *Hist) add(other *Hist) Hist {
	d := Hist{Seconds: h.Seconds + other.Seconds}
	for i := range h.Buckets {
		d.Buckets[i] = h.Buckets[i] + other.Buckets[i]
	}
	return d
}
