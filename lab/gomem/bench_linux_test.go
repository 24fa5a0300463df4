package gomem

import (
	"fmt"
	"testing"
)

// BenchmarkRead measures a reading without a walk.
func BenchmarkRead(b *testing.B) {
	x := start(b, build(b, "target", nil, nil))
	x.own()
	p := x.open()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Read(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWalk measures a reading with a walk over 10,000 goroutines.
func BenchmarkWalk(b *testing.B) {
	x := start(b, build(b, "target", nil, nil))
	x.own("spawn", 10_000)
	p := x.open()
	b.ReportAllocs()
	for b.Loop() {
		p.states = nil
		if _, err := p.Read(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen measures what it takes to read the binary.
func BenchmarkOpen(b *testing.B) {
	for _, c := range builds {
		b.Run(c.name, func(b *testing.B) {
			x := start(b, build(b, "target", c.args, c.env))
			x.own()
			b.ReportAllocs()
			for b.Loop() {
				p, err := Open(x.pid)
				if err != nil {
					b.Fatal(err)
				}
				if err := p.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkGoroutines measures a snapshot of goroutines that wait: the stacks of the snapshot
// before are used again, or not. They wait for one channel, or each for a timer and a context.
func BenchmarkGoroutines(b *testing.B) {
	for _, wait := range []string{"spawn", "timers"} {
		for _, n := range []int{100, 1000, 10_000} {
			x := start(b, build(b, "blocked", nil, nil))
			x.own(wait, n)
			p := x.open()
			for _, again := range []bool{true, false} {
				b.Run(fmt.Sprintf("%s/%d/reuse=%v", wait, n, again), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if !again {
							clear(p.snaps.last)
						}
						if _, err := p.Goroutines(SnapshotOptions{}); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
