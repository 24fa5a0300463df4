package diagnose

import (
	"math"
	"testing"
)

// What is left is live heap after two collections, without that of connections; otherwise resident
// memory.
func TestMemory(t *testing.T) {
	const mib = 1 << 20
	rest := func(collections float64, again *Again, before, later map[string]float64) *Rest {
		return &Rest{Answers: 100_000, Collections: collections, Again: again, Before: before, Later: later}
	}
	heap := func(live, resident, connections float64) map[string]float64 {
		return map[string]float64{LiveHeap: live, Resident: resident, "tcp_established": connections}
	}
	for _, c := range []struct {
		name    string
		rest    *Rest
		figure  string
		left    float64
		suspect bool
	}{
		{"nothing", rest(0, nil, nil, nil), "", 0, false},
		{"a leak", rest(2, nil, heap(4*mib, 0, 0), heap(54*mib, 0, 0)), LiveHeap, 50 * mib, true},
		{"warm caches", rest(2, nil, heap(4*mib, 0, 0), heap(14*mib, 0, 0)), LiveHeap, 10 * mib, false},
		{"a large heap that grew a little", rest(2, nil, heap(400*mib, 0, 0), heap(440*mib, 0, 0)), LiveHeap, 40 * mib, false},
		{"connections", rest(2, nil, heap(4*mib, 0, 0), heap(34*mib, 0, 320)), LiveHeap, 10 * mib, false},
		{"no collections", rest(1, &Again{}, heap(4*mib, 20*mib, 0), heap(54*mib, 60*mib, 0)), Resident, 40 * mib, false},
		{"no collections, resident", rest(0, &Again{}, heap(4*mib, 20*mib, 0), heap(54*mib, 120*mib, 0)), Resident, 100 * mib, true},
		{"no number", rest(2, nil, heap(4*mib, 0, 0), heap(math.NaN(), 0, 0)), "", 0, false},
	} {
		m := c.rest.Memory()
		if m.Figure != c.figure || m.Left != c.left || m.Suspect() != c.suspect {
			t.Errorf("%s: %+v, suspect %v; want %s, %g, %v", c.name, m, m.Suspect(), c.figure, c.left, c.suspect)
		}
	}
}
