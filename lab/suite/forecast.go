package suite

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// The windows of --quick, and the shortest that a budget makes: with 10 ms, the tick of the kernel's
// clock, the CPU time of a run is then still known to 2 %.
const (
	ShortestWindow = 600 * time.Millisecond
	ShortestWarmup = 300 * time.Millisecond

	// fitShare is the part of the budget for which windows are shortened. The rest is for warm-ups that
	// are extended, for runs that wait, and for blocks in place of disturbed ones.
	fitShare = 0.75

	windowStep = 100 * time.Millisecond // of windows that are shortened
)

// blockRuns returns the number of runs of a block.
func (b *bench) blockRuns() (n int) {
	for _, w := range b.loads {
		n += b.served(w)
	}
	return n
}

// fit shortens windows and warm-ups, in proportion, if the blocks do not fit the budget otherwise.
func (b *bench) fit() {
	runs := b.cfg.Blocks * b.blockRuns()
	if !b.cfg.Fit || b.cfg.Budget == 0 || runs == 0 {
		return
	}
	longest, shortest := b.cfg.Window+b.cfg.Warmup, ShortestWindow+ShortestWarmup
	each := time.Duration(fitShare*float64(b.cfg.Budget))/time.Duration(runs) - startTime
	if each >= longest || longest <= shortest {
		return
	}
	part := max(0, float64(each-shortest)/float64(longest-shortest))
	between := func(least, most time.Duration) time.Duration {
		return (least + time.Duration(part*float64(most-least))).Truncate(windowStep)
	}
	b.fitted, b.cfg.Window, b.cfg.Warmup = true, between(ShortestWindow, b.cfg.Window), between(ShortestWarmup, b.cfg.Warmup)
	b.file.Config.WindowSeconds, b.file.Config.WarmupSeconds = b.cfg.Window.Seconds(), b.cfg.Warmup.Seconds()
}

// announce says how long the runs will take, and what the budget is too short for.
func (b *bench) announce() {
	text := fmt.Sprintf("%d blocks of %d runs", b.cfg.Blocks, b.total/b.cfg.Blocks)
	if b.fitted {
		text += fmt.Sprintf(", with windows of %v after %v for the budget", b.cfg.Window, b.cfg.Warmup)
	}
	text += fmt.Sprintf(": about %v", b.left().Round(time.Second))
	switch {
	case b.cfg.Budget == 0:
	case b.left() > b.cfg.Budget:
		text += fmt.Sprintf("; the budget of %v ends before: about %d blocks fit; %s",
			b.cfg.Budget, int(b.cfg.Budget*time.Duration(b.cfg.Blocks)/b.left()), b.relief())
	default:
		text += fmt.Sprintf(", within the budget of %v", b.cfg.Budget)
	}
	b.tell(Step{Phase: "plan", Note: text})
}

// relief says without which workloads the blocks fit the budget: the last ones that were named.
func (b *bench) relief() string {
	rest := b.cfg.Budget
	for i, w := range b.loads {
		if rest -= b.pace() * time.Duration(b.cfg.Blocks*b.served(w)); rest >= 0 {
			continue
		}
		if i == 0 {
			return fmt.Sprintf("those of %s alone take about %v", w.name, (b.cfg.Budget - rest).Round(time.Second))
		}
		var out []string
		for _, w := range b.loads[i:] {
			out = append(out, w.name)
		}
		return "without " + strings.Join(out, ", ") + " all would"
	}
	return ""
}

// foresee says, once for each workload, if the budget will end before its main metric can be decided,
// at the pace so far, even if fewer pairs are lost than so far: few blocks say little about those to come.
func (b *bench) foresee(blocks int) {
	if b.cfg.Budget == 0 || blocks < 2 {
		return
	}
	standings, added := map[string]standing{}, 0
	for _, w := range b.loads {
		s := b.standing(w)
		standings[w.name] = s
		if len(s.lacks) > 0 {
			added += 1 + len(s.lacks)
		}
	}
	more := b.blocksToCome(blocks, added)
	for _, w := range b.loads {
		s := standings[w.name]
		if b.foreseen[w.name] || float64(s.usable)+more*hopeful(s.usable, blocks) >= float64(s.needed) {
			continue
		}
		b.foreseen[w.name] = true
		expected := s.usable + int(more*float64(s.usable)/float64(blocks))
		text := fmt.Sprintf("%s: %d of the pairs of %d blocks are undisturbed; the budget of %v will probably end with about %d, and %d are needed",
			w.name, s.usable, blocks, b.cfg.Budget, expected, s.needed)
		if s.uneven != "" {
			text = fmt.Sprintf("%s will probably have no verdict: %s", w.name, s.uneven)
		}
		if s.filled > s.usable && float64(s.filled)+more*hopeful(s.filled, blocks) >= float64(s.needed) {
			text += ": pairs that were measured beside other processes make up for the rest, with wider intervals"
		}
		b.tell(Step{Phase: "plan", Note: text})
	}
}

// blocksToCome returns how many blocks fit the rest of the budget. Those after the ones that were asked
// for have added runs only: the baseline and the subjects that lack pairs.
func (b *bench) blocksToCome(blocks, added int) float64 {
	rest, planned := b.cfg.Budget-time.Since(b.began), float64(max(0, b.cfg.Blocks-blocks))
	if rest <= 0 {
		return 0
	}
	if left := b.left(); left > rest {
		return planned * float64(rest) / float64(left)
	} else if added > 0 {
		planned += float64(rest-left) / float64(b.pace()*time.Duration(added))
	}
	return planned
}

// hopeful returns the largest share of usable pairs for which so few, or fewer, of the pairs of so many
// blocks are usable in one of twenty comparisons (the upper end of Wilson's interval).
func hopeful(usable, blocks int) float64 {
	const z = 1.645
	k, n := float64(usable), float64(blocks)
	return (k + z*z/2 + z*math.Sqrt(k*(n-k)/n+z*z/4)) / (n + z*z)
}
