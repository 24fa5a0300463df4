package probe

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// others measures the CPU time of the processes outside of a run. It is an upper bound of what
// they did to the run: it has no part of the run's own threads, nor of waking them.
type others struct {
	fs     procfs.FS
	own    []int // of the run
	before map[int]procfs.Stat
}

// initialPIDs is the PID namespace of a machine, whose number is fixed (PROC_PID_INIT_INO). In
// another one, processes of the machine are hidden.
const initialPIDs = "pid:[4026531836]"

// kernelThreads is the PID of the parent of all kernel threads in that namespace. If it is not
// visible, those of other users are not either (option hidepid of /proc).
const kernelThreads = 2

// newOthers begins to measure. It returns nil if processes may be hidden.
func newOthers(fs procfs.FS, own []int) (*others, error) {
	if name, err := os.Readlink(fs.Path("proc", "self", "ns", "pid")); err != nil || name != initialPIDs {
		return nil, nil
	}
	before, err := fs.Stats()
	if err != nil {
		return nil, err
	}
	if _, visible := before[kernelThreads]; !visible {
		return nil, nil
	}
	return &others{fs: fs, own: own, before: before}, nil
}

// used returns the CPU time of the others since newOthers, exact to about a hundredth of a second
// for each of them.
func (o *others) used() (time.Duration, error) {
	after, err := o.fs.Stats()
	if err != nil {
		return 0, fmt.Errorf("read the processes of the machine: %w", err)
	}
	return time.Duration(usedBetween(o.before, after, o.own)) * tick, nil
}

// usedBetween returns the clock ticks that processes other than own used between two readings.
// The time of a process that has ended is among the children of the one that waited for it.
func usedBetween(before, after map[int]procfs.Stat, own []int) uint64 {
	var living, ended, left uint64
	for pid, now := range after {
		if slices.Contains(own, pid) {
			continue
		}
		then, ok := before[pid]
		if !ok || then.Start != now.Start {
			then = procfs.Stat{}
		}
		living += now.Ticks - min(now.Ticks, then.Ticks)
		ended += now.Children - min(now.Children, then.Children)
	}
	for pid, then := range before {
		if now, ok := after[pid]; (!ok || now.Start != then.Start) && !slices.Contains(own, pid) {
			left += then.Ticks + then.Children // used before the first reading
		}
	}
	return living + ended - min(ended, left)
}
