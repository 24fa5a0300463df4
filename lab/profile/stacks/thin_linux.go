package stacks

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// maxLeaves is how many stacks of threads that block are taken in a second, about.
var maxLeaves = 2_000.0

const (
	trial    = 100 * time.Millisecond // in which it is counted how often threads block
	leastOwn = 50.0                   // stacks a second of each thread, in any case
)

// thin measures how often each thread blocks. Of those that do so often, one wait in some is
// looked at, so that all together stay below a limit. Threads that block seldom are seen each
// time: their waits are the long ones.
func (s *session) thin(ctx context.Context) error {
	before, start := s.blocked(), time.Now()
	select {
	case <-time.After(trial):
	case <-ctx.Done():
		return fmt.Errorf("measure how often threads block: %w", context.Cause(ctx))
	}
	after, passed := s.blocked(), time.Since(start).Seconds()
	rates, sum := map[int]float64{}, 0.0
	for tid, n := range after {
		rates[tid] = float64(n-min(n, before[tid])) / passed
		sum += rates[tid]
	}
	s.period = uint64(max(1, math.Ceil(sum/maxLeaves)))
	if s.period == 1 {
		return nil
	}
	often := 0
	for _, r := range rates {
		if r > leastOwn {
			often++
		}
	}
	fair, most := max(min(leastOwn, maxLeaves), maxLeaves/float64(max(often, 1))), uint64(1)
	for tid, r := range rates {
		s.periods[tid] = uint64(max(1, math.Ceil(r/fair)))
		most = max(most, s.periods[tid])
	}
	s.note("The threads blocked %.0f times a second before the window: of those that do so often, one of up to %d waits was looked at, and counts as often.", sum, most)
	return nil
}

// blocked returns how often each thread has blocked since it started.
func (s *session) blocked() map[int]uint64 {
	counts := map[int]uint64{}
	for pid := range s.processes {
		tids, err := procfs.Host.Threads(pid)
		if err != nil {
			continue // it has ended
		}
		for _, tid := range tids {
			lines, err := procfs.Host.Lines("proc", strconv.Itoa(pid), "task", strconv.Itoa(tid), "status")
			if err == nil {
				counts[tid] = procfs.Number(lines, "voluntary_ctxt_switches")
			}
		}
	}
	return counts
}

// periodOf is of how many switches of a thread one is looked at.
func (s *session) periodOf(task int) uint64 {
	if task < 0 {
		return s.period
	}
	return max(1, s.periods[task])
}
