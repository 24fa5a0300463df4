package fleet

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
)

func TestSplit(t *testing.T) {
	sources := []netip.Addr{}
	for i := range 6 {
		sources = append(sources, netip.AddrFrom4([4]byte{127, 0, 0, byte(2 + i)}))
	}
	shares, err := Split(Load{Workers: 4, Connections: 10, Rate: 1000, Seed: 7, Sources: sources})
	if err != nil {
		t.Fatal(err)
	}
	var connections, dealt int
	var rate, fraction float64
	seeds := map[uint64]bool{}
	for i, s := range shares {
		if s.Index != i || s.Workers != 4 || s.Phase != float64(i)/4 {
			t.Errorf("share %d: %+v", i, s)
		}
		connections += s.Connections
		rate += s.Rate
		fraction += s.Fraction
		dealt += len(s.Sources)
		seeds[s.Seed] = true
	}
	if connections != 10 || rate != 1000 || fraction != 1 || dealt != 6 || len(seeds) != 4 {
		t.Errorf("%d connections, rate %v, fraction %v, %d sources, %d seeds", connections, rate, fraction, dealt, len(seeds))
	}
	if c := []int{shares[0].Connections, shares[1].Connections, shares[2].Connections, shares[3].Connections}; !slices.Equal(c, []int{3, 3, 2, 2}) {
		t.Errorf("connections %v", c)
	}
	again, err := Split(Load{Workers: 4, Connections: 10, Rate: 1000, Seed: 7, Sources: sources[:2]})
	if err != nil || again[3].Seed != shares[3].Seed || len(again[3].Sources) != 2 {
		t.Errorf("the same seed: %+v, %v", again, err)
	}
	for _, l := range []Load{{Workers: 0, Connections: 1}, {Workers: 2, Connections: 1}, {Workers: 1, Connections: 1, Rate: -1}, {Workers: 1, Connections: 1, Rate: math.NaN()}} {
		if _, err := Split(l); err == nil {
			t.Errorf("%+v is taken", l)
		}
	}
}

// Poisson arrivals with the shares' seeds combine into Poisson arrivals: the times between
// them are exponential (Kolmogorov-Smirnov, 1 %), unless two workers have the same seed.
func TestPoissonSharesAreOnePoissonProcess(t *testing.T) {
	shares, err := Split(Load{Workers: 8, Connections: 8, Rate: 1000, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	merged := func(seed func(i int) uint64) float64 {
		var times []float64
		for i, s := range shares {
			r := rand.New(rand.NewPCG(seed(i), 0))
			for at := r.ExpFloat64() / s.Rate; at < 50; at += r.ExpFloat64() / s.Rate {
				times = append(times, at)
			}
		}
		slices.Sort(times)
		gaps := make([]float64, len(times)-1)
		for i := range gaps {
			gaps[i] = times[i+1] - times[i]
		}
		slices.Sort(gaps)
		var d float64
		n := float64(len(gaps))
		for i, g := range gaps {
			f := 1 - math.Exp(-1000*g)
			d = max(d, f-float64(i)/n, float64(i+1)/n-f)
		}
		return d * math.Sqrt(n)
	}
	if d := merged(func(i int) uint64 { return shares[i].Seed }); d > 1.63 {
		t.Errorf("with seeds of their own: D√n = %.2f", d)
	}
	if d := merged(func(i int) uint64 { return shares[i/2].Seed }); d < 1.63 {
		t.Errorf("with shared seeds: D√n = %.2f; the test sees nothing", d)
	}
}

// Even arrivals, with each share delayed by its phase, combine into even arrivals.
func TestEvenSharesInterleave(t *testing.T) {
	shares, err := Split(Load{Workers: 5, Connections: 5, Rate: 100})
	if err != nil {
		t.Fatal(err)
	}
	var times []float64
	for _, s := range shares {
		for k := range 20 {
			times = append(times, (float64(k)+s.Phase)/s.Rate)
		}
	}
	slices.Sort(times)
	for i, at := range times {
		if math.Abs(at-float64(i)/100) > 1e-9 {
			t.Fatalf("arrival %d at %v", i, at)
		}
	}
}
