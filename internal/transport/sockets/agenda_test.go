//go:build linux

package sockets

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAgenda wants functions in the order of their times, and those of one time in the order in which
// they were added, whatever is added meanwhile.
func TestAgenda(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var a agenda
		var want []*job
		check := func() {
			t.Helper()
			if got := a.first(); got != want[0] {
				t.Fatalf("the first is %+v, want %+v", got, want[0])
			}
			a.take()
			want = want[1:]
		}
		for range random.IntN(100) {
			j := &job{at: random.Int64N(20)}
			a.add(j)
			at := slices.IndexFunc(want, func(k *job) bool { return k.at > j.at })
			if at < 0 {
				at = len(want)
			}
			want = slices.Insert(want, at, j)
			if random.IntN(3) == 0 {
				check()
			}
		}
		for len(want) > 0 {
			check()
		}
		if a.first() != nil || a.jobs != nil {
			t.Fatalf("%d are left", len(a.jobs))
		}
	}
}

// TestAgendaCost counts what an addition to many functions moves: not all of them.
func TestAgendaCost(t *testing.T) {
	const many, most = 1 << 16, 20
	var a agenda
	for i := range many {
		a.add(&job{at: int64(i)})
	}
	was := slices.Clone(a.jobs)
	a.add(&job{at: -1}) // before all others
	moved := 0
	for i, j := range was {
		if a.jobs[i] != j {
			moved++
		}
	}
	if moved > most {
		t.Errorf("an addition to %d moves %d, want %d at most", many, moved, most)
	}
}

func BenchmarkLater(b *testing.B) {
	for _, many := range []int{10, 1_000, 100_000} {
		b.Run(fmt.Sprint(many), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			var a agenda
			for range many {
				a.add(&job{at: random.Int64()})
			}
			j := new(job)
			for b.Loop() {
				j.at = random.Int64()
				a.add(j)
				j = a.first()
				a.take()
			}
		})
	}
}
