package arrive

import (
	"math"
	"slices"
	"testing"
)

// thousand has an arrival each microsecond, so that arrival n is due at n·1000.
var thousand = &Plan{Rate: 1e6}

func take(t *testing.T, q *Queue, now int64, want ...Arrival) {
	t.Helper()
	var got []Arrival
	for {
		a, ok := q.Take(now)
		if !ok {
			break
		}
		got = append(got, a)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("at %d: took %v, want %v", now, got, want)
	}
}

func TestQueue(t *testing.T) {
	q := NewQueue(3)
	q.Free(0, 0)
	take(t, q, 1e9) // nothing planned
	if q.Ready() != math.MaxInt64 {
		t.Error("ready without a plan")
	}
	q.Begin(thousand, 5000, math.MaxInt64)
	if q.Ready() != 5000 {
		t.Errorf("ready at %d, want 5000", q.Ready())
	}
	take(t, q, 4999)
	take(t, q, 5000, Arrival{0, 5000, 5000})
	if q.Ready() != math.MaxInt64 {
		t.Error("ready without a connection")
	}
	// Two connections become free after two more arrivals were due: these waited,
	// the third did not.
	q.Free(1, 7300)
	q.Free(2, 7400)
	if n := q.Waiting(7400); n != 2 {
		t.Errorf("%d wait, want 2", n)
	}
	take(t, q, 7500, Arrival{1, 6000, 7300}, Arrival{2, 7000, 7300})
	q.Free(0, 7600)
	take(t, q, 8100, Arrival{0, 8000, 8000})
	if q.Due(8100) != 4 || q.Waiting(8100) != 0 {
		t.Errorf("%d due, %d wait, want 4 and 0", q.Due(8100), q.Waiting(8100))
	}
}

// Connections are used in turn, and a lost one not until it is free again.
func TestQueueLosesConnections(t *testing.T) {
	q := NewQueue(3)
	q.Begin(thousand, 0, math.MaxInt64)
	for c := range 3 {
		q.Free(c, 0)
		q.Free(c, 0) // a repetition has no effect
	}
	q.Lost(0)
	q.Lost(0)
	take(t, q, 0, Arrival{1, 0, 0})
	q.Lost(1) // was not free
	q.Free(0, 500)
	take(t, q, 1000, Arrival{2, 1000, 1000})
	take(t, q, 2000, Arrival{0, 2000, 2000})
	q.Lost(0)
	q.Lost(2)
	take(t, q, 9000)
	q.Free(2, 9500)
	take(t, q, 9500, Arrival{2, 3000, 9500})
	// Lost while it is listed, and free again: it must be used only once.
	q.Free(1, 9600)
	q.Lost(1)
	q.Free(1, 9700)
	take(t, q, 9700, Arrival{1, 4000, 9700})
}

// Arrivals that were due before the end remain until they are taken or given up; later ones
// are ignored.
func TestQueueEnds(t *testing.T) {
	q := NewQueue(1)
	q.Begin(thousand, 0, 3000)
	q.Free(0, 0)
	take(t, q, 0, Arrival{0, 0, 0})
	if q.Due(1e9) != 3 {
		t.Errorf("%d due, want 3", q.Due(1e9))
	}
	for _, want := range []int64{1000, 2000} {
		if at, ok := q.GiveUp(5000); !ok || at != want {
			t.Errorf("gave up %d, %v, want %d", at, ok, want)
		}
	}
	if at, ok := q.GiveUp(5000); ok {
		t.Errorf("gave up %d after the end", at)
	}
	if q.Waiting(5000) != 0 || q.Ready() != math.MaxInt64 {
		t.Error("something is left")
	}
}

// A backlog costs no memory.
func TestQueueAllocates(t *testing.T) {
	q := NewQueue(1)
	q.Begin(thousand, 0, math.MaxInt64)
	now := int64(0)
	if n := testing.AllocsPerRun(100, func() {
		now += 1_000_000 // a thousand arrivals, one of which is taken
		q.Free(0, now)
		if _, ok := q.Take(now); !ok {
			t.Fatal("nothing to take")
		}
		q.Waiting(now)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if n := q.Waiting(now); n != 101*1000+1-101 {
		t.Errorf("%d wait", n)
	}
}

func TestEnd(t *testing.T) {
	q := NewQueue(1)
	q.Begin(&Plan{Rate: 1000}, 0, 1e9)
	if n := q.Due(2e6); n != 3 { // at 0, 1 and 2 ms
		t.Fatalf("due %d", n)
	}
	q.End(2_500_000)
	if n := q.Due(math.MaxInt64 - 1); n != 3 {
		t.Errorf("due %d of a plan that was ended", n)
	}
	given := 0
	for {
		if _, ok := q.GiveUp(math.MaxInt64 - 1); !ok {
			break
		}
		given++
	}
	if given != 3 {
		t.Errorf("%d arrivals before the end, want 3", given)
	}
}
