package fleet

import (
	"fmt"
	"math"
	"net/netip"
)

// Load is a load to be divided among workers.
type Load struct {
	Workers     int
	Connections int
	Rate        float64      // arrivals per second, the mean over the window; 0: a closed loop
	Seed        uint64       // of all random values
	Sources     []netip.Addr // to connect from; none: the system chooses
}

// Share is one worker's part of a Load.
type Share struct {
	Index       int          `json:"index"`
	Workers     int          `json:"workers"`
	Connections int          `json:"connections"`
	Fraction    float64      `json:"fraction"`          // of the whole load, and of every rate in its plan
	Rate        float64      `json:"rate,omitempty"`    // arrivals per second
	Phase       float64      `json:"phase"`             // of even arrivals: their delay, as a share of an interval
	Seed        uint64       `json:"seed"`              // different for each worker
	Sources     []netip.Addr `json:"sources,omitempty"` //
}

// Split divides a load evenly.
//
// The Poisson arrivals of the shares, each with its own seed and a rate of Rate/Workers,
// combine into Poisson arrivals with rate Rate. Even arrivals combine into even arrivals if
// each share is delayed by its Phase. If connections do not divide evenly, some workers have
// one more, at the same rate.
func Split(l Load) ([]Share, error) {
	switch {
	case l.Workers < 1:
		return nil, fmt.Errorf("%d workers: write at least 1", l.Workers)
	case l.Connections < l.Workers:
		return nil, fmt.Errorf("%d connections for %d workers: write at least one for each", l.Connections, l.Workers)
	case !(l.Rate >= 0) || math.IsInf(l.Rate, 0):
		return nil, fmt.Errorf("rate %v: write arrivals per second", l.Rate)
	}
	n := l.Workers
	shares := make([]Share, n)
	for i := range shares {
		s := Share{
			Index: i, Workers: n,
			Connections: l.Connections/n + one(i < l.Connections%n),
			Fraction:    1 / float64(n),
			Rate:        l.Rate / float64(n),
			Phase:       float64(i) / float64(n),
			Seed:        mix(l.Seed, uint64(i)),
			Sources:     l.Sources,
		}
		if len(l.Sources) >= n { // each worker has its own; fewer are shared by all
			s.Sources = nil
			for k := i; k < len(l.Sources); k += n {
				s.Sources = append(s.Sources, l.Sources[k])
			}
		}
		shares[i] = s
	}
	return shares, nil
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// mix returns the i-th output of SplitMix64 (Steele, Lea, Flood 2014): adjacent seeds and
// indices give unrelated values.
func mix(seed, i uint64) uint64 {
	z := seed + (i+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
