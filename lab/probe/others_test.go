package probe

import (
	"testing"
	"time"

	"github.com/redline-go/redline/lab/internal/procfs"
)

func TestUsedBetween(t *testing.T) {
	before := map[int]procfs.Stat{
		1:  {Start: 1, Ticks: 100, Children: 1000}, // init
		5:  {Start: 2, Ticks: 50, Children: 300},   // a shell
		6:  {Start: 3, Ticks: 40},                  // its child, which ends
		7:  {Start: 4, Ticks: 500},                 // of the run
		8:  {Start: 5, Ticks: 10},                  // ends, and its number is used again
		10: {Start: 7, Ticks: 70},
	}
	quiet := func() map[int]procfs.Stat {
		return map[int]procfs.Stat{
			1: {Start: 1, Ticks: 100, Children: 1010}, 5: {Start: 2, Ticks: 50, Children: 340},
			7: {Start: 4, Ticks: 9000, Children: 8000}, 8: {Start: 99}, 10: {Start: 7, Ticks: 70},
		}
	}
	for _, test := range []struct {
		name   string
		change func(map[int]procfs.Stat)
		want   uint64
	}{
		{"the run alone, and ends of those that did nothing", func(map[int]procfs.Stat) {}, 0},
		{"a process", func(m map[int]procfs.Stat) { m[10] = procfs.Stat{Start: 7, Ticks: 95} }, 25},
		{"a new one", func(m map[int]procfs.Stat) { m[11] = procfs.Stat{Start: 100, Ticks: 31} }, 31},
		{"one with the number of another", func(m map[int]procfs.Stat) { m[8] = procfs.Stat{Start: 99, Ticks: 12} }, 12},
		{"many that came and went", func(m map[int]procfs.Stat) { m[5] = procfs.Stat{Start: 2, Ticks: 50, Children: 440} }, 100},
		{"one that nobody waited for hides none that lives", func(m map[int]procfs.Stat) {
			m[5] = procfs.Stat{Start: 2, Ticks: 90, Children: 300}
		}, 40},
	} {
		after := quiet()
		test.change(after)
		if got := usedBetween(before, after, []int{7}); got != test.want {
			t.Errorf("%s: %d ticks, want %d", test.name, got, test.want)
		}
	}
}

// A window in which the run's threads woke up idle CPUs all the time: the kernel counts a tenth of
// the time as neither idle nor theirs, and the generator's thread waited for a fifth of it. Only
// what others used is foreign.
func TestWindowOfWakeUps(t *testing.T) {
	for _, test := range []struct {
		name    string
		others  time.Duration
		visible bool
		want    float64
	}{
		{"others did nothing", 0, true, 0},
		{"others used a little", 40 * time.Millisecond, true, 0.02},
		{"others used much", 600 * time.Millisecond, true, 0.2}, // the generator waited for 0.4 s
		{"others cannot be seen", 0, false, 0.2},
	} {
		w := &Window{others: test.others, visible: test.visible}
		w.end.usage.ticks.CPUs = 2
		w.end.usage.at = w.begin.usage.at.Add(2 * time.Second)
		w.end.usage.ticks.Idle = 360
		if got := w.Foreign(0.4, 2); got < test.want-1e-9 || got > test.want+1e-9 {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
