package arrive

import (
	"math"
	"testing"
)

// TestStalled charges the caller with what its own stall made wait, and not the server.
func TestStalled(t *testing.T) {
	q := NewQueue(2)
	q.Free(0, 0)
	q.Free(1, 0)
	q.Begin(thousand, 0, math.MaxInt64)
	take(t, q, 0, Arrival{0, 0, 0})
	// The caller stalls from 500 to 4500 with a free connection: four arrivals were due. Only the
	// first finds a connection at the end, but each could have had one in its time.
	q.Stalled(500, 4500)
	take(t, q, 4500, Arrival{1, 1000, 1000})
	q.Free(0, 4600)
	take(t, q, 4600, Arrival{0, 2000, 2000})
	q.Free(1, 4700)
	take(t, q, 4700, Arrival{1, 3000, 3000})
	q.Free(0, 5100)
	take(t, q, 5100, Arrival{0, 4000, 4000})
	q.Free(1, 5200) // due after the stall: the wait is the server's
	take(t, q, 5200, Arrival{1, 5000, 5200})
	// Arrivals that wait already when the caller stalls are charged with the rest of their wait, and
	// so are those due meanwhile.
	q.Stalled(6500, 8500)
	q.Free(0, 9000)
	take(t, q, 9000, Arrival{0, 6000, 7000})
	q.Free(1, 9100)
	take(t, q, 9100, Arrival{1, 7000, 7600})
}

// TestStallsAreBounded keeps few of the stalls of a backlog that lasts, and what they add up to.
func TestStallsAreBounded(t *testing.T) {
	q := NewQueue(1)
	q.Free(0, 0)
	q.Begin(thousand, 0, math.MaxInt64)
	take(t, q, 0, Arrival{0, 0, 0})
	const stalls, every = 10_000, 1000
	for i := range int64(stalls) { // the caller does not run for two fifths of the time
		from := 2000 + i*every
		q.Stalled(from, from+2*every/5)
		if len(q.stalls) > maxStalls {
			t.Fatalf("%d stalls kept", len(q.stalls))
		}
	}
	end := int64(2000 + stalls*every)
	q.Free(0, end)
	a, ok := q.Take(end)
	if own := end - a.Possible; !ok || math.Abs(float64(own)-stalls*2*every/5) > stalls*every/100 {
		t.Errorf("%+v: %d of %d are the caller's", a, own, end)
	}
}
