package rules

import (
	"fmt"

	"github.com/redline-go/redline/lab/diagnose"
)

var neighbourRules = []rule{
	{
		id: "false-sharing", level: specific, find: falseSharing,
		meaning:  "CPUs take a cache line from each other: counters that different goroutines change are neighbours in memory",
		needs:    "CPU stacks, debugging information of a Go program, more than one CPU in use",
		estimate: "half of the CPU share of lines that change atomic values: a guess, as nothing here counts misses of caches",
	},
}

const (
	leastAtomic  = 0.15 // CPU share of lines with atomic operations
	leastCores   = 1.2  // CPUs in use: one alone takes nothing from itself
	bounced      = 0.5  // share of the cost that padding may save
	sureOfLayout = 0.4  // the layout is known, and not which goroutine changes what
)

// atomics returns the CPU stacks that are in an atomic operation, or in a line of the server's code that
// has one: the time of an instruction often counts for the next one.
func (v *view) atomics() *stacks {
	type line struct {
		function string
		number   int
	}
	lines := map[line]bool{}
	on := v.load.OnCPU
	inside := on.Filter(func(s *stack) bool {
		return len(s.Frames) > 1 && s.Frames[0].Package() == "sync/atomic" && userCode(s.Frames[1])
	})
	for _, s := range inside.List {
		lines[line{s.Frames[1].Func, s.Frames[1].Line}] = true
	}
	return on.Filter(func(s *stack) bool {
		return len(s.Frames) > 1 && (s.Frames[0].Package() == "sync/atomic" && userCode(s.Frames[1]) || lines[line{s.Frames[0].Func, s.Frames[0].Line}])
	})
}

func falseSharing(v *view) *finding {
	if len(v.Server.Neighbours) == 0 || known(v.load.Cores) < leastCores {
		return nil
	}
	found := v.atomics()
	share := ratio(found.Total, total(v.load.OnCPU))
	if share < leastAtomic {
		return nil
	}
	f := &finding{cpu: found}
	f.Title = fmt.Sprintf("CPUs may take counters from each other: atomic operations take %s of the CPU time", percent(share))
	f.Gain, f.Confidence = v.saving(bounced*share), v.sureOfCPU(sureOfLayout)
	f.Evidence = []string{
		fmt.Sprintf("Lines with atomic operations take %s of the CPU time, on %.3g CPUs.", percent(share), known(v.load.Cores)),
	}
	for _, n := range v.Server.Neighbours[:min(len(v.Server.Neighbours), mostSites)] {
		f.Evidence = append(f.Evidence, fmt.Sprintf("In %s, %s: a cache line has 64.", n.Type, n.What))
	}
	f.Advice = []string{
		"Give each counter a cache line of its own: _ [64]byte after it (128 where pairs of lines are fetched), or golang.org/x/sys/cpu.CacheLinePad.",
		"Count in a local variable, and add it up at the end.",
		"Make sure of it: redline diagnose cannot count misses of caches. perf c2c can, on a machine with hardware counters; or pad, and measure.",
	}
	f.Sites = places(found, func(f diagnose.Frame) bool { return userCode(f) })
	return f
}
