package group

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// ErrNone is the error of a process that may not make a control group for memory, or of a machine
// that has none.
var ErrNone = errors.New("no control group for memory can be made")

// A Group is a control group of one server. It lies at the top of the hierarchy, so that a
// shortage in it concerns no other group.
type Group struct {
	dir string
	v2  bool
}

// serial makes the names of the groups of this process differ.
var serial atomic.Int64

// Plan chooses the directory of a group that does not exist yet.
func Plan() (*Group, error) {
	mount, v2, err := hierarchy()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	return &Group{dir: filepath.Join(mount, fmt.Sprintf("redline-oom-%d-%d", os.Getpid(), serial.Add(1))), v2: v2}, nil
}

// hierarchy finds where the memory controller is mounted. A system may have both versions, but a
// controller belongs to one.
func hierarchy() (mount string, v2 bool, err error) {
	groups, err := procfs.Host.Groups("self", "memory")
	if err != nil {
		return "", false, err
	}
	for _, g := range groups {
		if !g.V2 {
			return g.Mount, false, nil
		}
	}
	if len(groups) == 0 {
		return "", false, errors.New("no hierarchy has the controller memory")
	}
	return groups[0].Mount, true, nil
}

// Dir returns the directory of the group.
func (g *Group) Dir() string { return g.dir }

// Name returns the path of the group in its hierarchy, as the kernel's log has it.
func (g *Group) Name() string { return "/" + filepath.Base(g.dir) }

// Version returns the version of the hierarchy, 1 or 2.
func (g *Group) Version() int {
	if g.v2 {
		return 2
	}
	return 1
}

// An Undoer, a *guard.Guard, receives each change before it is made. release is for one that could
// not be made.
type Undoer interface {
	Undelegate(procfs.Delegation) (release func() error, err error)
	RemoveControl(dir string) (release func() error, err error)
}

// Make makes the group. The error is [ErrNone] if this process may not.
func (g *Group) Make(undo Undoer) error {
	if err := g.delegate(undo); err != nil {
		return err
	}
	release, err := undo.RemoveControl(g.dir)
	if err != nil {
		return err
	}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return errors.Join(fmt.Errorf("%w: %w", ErrNone, err), release())
	}
	return nil
}

// delegate makes the groups of version 2 below the mount have the controller.
func (g *Group) delegate(undo Undoer) error {
	if !g.v2 {
		return nil
	}
	d, err := procfs.PlanDelegation(filepath.Dir(g.dir), "memory")
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrNone, err)
	case len(d.Controllers) == 0:
		return nil
	}
	release, err := undo.Undelegate(d)
	if err != nil {
		return err
	}
	if err := d.Make(); err != nil {
		return errors.Join(fmt.Errorf("%w: %w", ErrNone, err), release())
	}
	return nil
}

// Limit bounds the memory of the group, in bytes, without swap. unswapped says why swap could not
// be turned off; nil: it is off.
func (g *Group) Limit(bytes int64) (unswapped, err error) {
	text := strconv.FormatInt(bytes, 10)
	if g.v2 {
		return g.write("memory.swap.max", "0"), g.write("memory.max", text)
	}
	// The limit with swap must never be below the one without: whether the limit rises or falls
	// decides on the order.
	const limit, swap = "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"
	if err := g.write(limit, text); err != nil {
		if unswapped = g.write(swap, text); unswapped != nil {
			return unswapped, err
		}
		return nil, g.write(limit, text)
	}
	if unswapped = g.write(swap, text); unswapped != nil {
		unswapped = errors.Join(unswapped, g.write("memory.swappiness", "0"))
	}
	return unswapped, nil
}

func (g *Group) write(file, text string) error {
	if err := os.WriteFile(filepath.Join(g.dir, file), []byte(text), 0); err != nil {
		return fmt.Errorf("limit the memory of the control group: %w", err)
	}
	return nil
}

// Used returns the memory of the group with its page cache, in bytes.
func (g *Group) Used() (int64, error) { return g.read("memory.usage_in_bytes", "memory.current") }

// Peak returns the highest memory of the group since it was made. Version 2 has it since Linux 5.19.
func (g *Group) Peak() (int64, error) { return g.read("memory.max_usage_in_bytes", "memory.peak") }

func (g *Group) read(v1, v2 string) (int64, error) {
	if g.v2 {
		v1 = v2
	}
	n, err := procfs.Host.Int(g.dir, v1)
	return int64(n), err
}

// Kills returns how many processes of the group the kernel has killed because memory was short.
func (g *Group) Kills() (int, error) {
	file := "memory.oom_control"
	if g.v2 {
		file = "memory.events"
	}
	lines, err := procfs.Host.Lines(g.dir, file)
	if err != nil {
		return 0, err
	}
	if procfs.Value(lines, "oom_kill") == nil {
		return 0, fmt.Errorf("%s of the control group has no oom_kill: it needs Linux 4.13", file)
	}
	return int(procfs.Number(lines, "oom_kill")), nil
}

// Members returns the processes of the group.
func (g *Group) Members() ([]int, error) {
	words, err := procfs.Host.Fields(g.dir, "cgroup.procs")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, w := range words {
		if pid, err := strconv.Atoi(w); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// Free returns how much memory a new group may use before the machine, or the groups of which this
// process sees the top only, are short: in bytes.
func Free() (int64, error) {
	lines, err := procfs.Host.Lines("proc", "meminfo")
	if err != nil {
		return 0, err
	}
	free := int64(procfs.Number(lines, "MemAvailable:")) << 10
	if free == 0 {
		return 0, errors.New("/proc/meminfo has no MemAvailable")
	}
	mount, v2, err := hierarchy()
	if err != nil {
		return free, nil // without groups, only the machine is a bound
	}
	limit, used := "memory.limit_in_bytes", "memory.usage_in_bytes"
	if v2 {
		limit, used = "memory.max", "memory.current"
	}
	most, err := procfs.Host.Int(mount, limit)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, strconv.ErrSyntax): // the top of a host, or max
		return free, nil
	case err != nil:
		return 0, err
	}
	now, err := procfs.Host.Int(mount, used)
	if err != nil {
		return 0, err
	}
	return min(free, int64(most-now)), nil
}
