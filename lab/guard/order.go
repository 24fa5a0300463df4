package guard

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// The operations of lines on the pipe.
const (
	opAdd    = "add"    // undo this at the end
	opRemove = "remove" // no longer undo it
	opDone   = "done"   // the command ends normally; the last line
)

// The kinds of actions to undo.
const (
	kindGroup   = "group"   // kill a process group
	kindTree    = "tree"    // kill a process with its descendants
	kindFile    = "file"    // remove a file or directory
	kindSetting = "setting" // write a value back
	kindControl = "control" // kill the processes of a control group and remove it
	kindGiven   = "given"   // take back controllers that control groups were given
)

// An order is one line of the pipe.
type order struct {
	Op   string `json:"op"`
	ID   uint64 `json:"id,omitempty"`
	Kind string `json:"kind,omitempty"`

	// Group or tree: identity of the leader that a reused pid does not share.
	PID     int    `json:"pid,omitempty"`
	Start   uint64 `json:"start,omitempty"`
	Session int    `json:"session,omitempty"`

	Path string `json:"path,omitempty"`
	Old  string `json:"old,omitempty"` // of a setting

	Given *procfs.Delegation `json:"given,omitempty"`
}

// undo executes the order.
func (o *order) undo() error {
	switch o.Kind {
	case kindGroup:
		return wrap(o.killed(o.group), "kill process group %d", o.PID)
	case kindTree:
		return wrap(o.killed(o.tree), "kill process %d and its descendants", o.PID)
	case kindFile:
		return removeAll(o.Path)
	case kindSetting:
		return o.restore()
	case kindControl:
		return wrap(removeControl(o.Path), "remove control group %s", o.Path)
	case kindGiven:
		return o.Given.Undo()
	}
	return fmt.Errorf("undo %q: unknown kind", o.Kind)
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}

// restore writes the old value unless it is set already: an unnecessary write to a file
// that has become read-only would cause an unnecessary error.
func (o *order) restore() error {
	if now, err := procfs.ReadSetting(o.Path); err == nil && now == strings.Join(strings.Fields(o.Old), " ") {
		return nil
	}
	return wrap(procfs.WriteSetting(o.Path, o.Old), "restore %s to %q", o.Path, o.Old)
}

// removeAll makes several attempts: a process that is ending may still write into the
// directory.
func removeAll(path string) (err error) {
	for range 5 {
		if err = os.RemoveAll(path); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return wrap(err, "remove %s", path)
}

// killWait limits the wait for killed processes to end. Only a process that hangs in the
// kernel takes longer.
const killWait = 20 * time.Second

// killed kills the processes that find returns until it returns none: if killed returns
// nil, none of them runs.
func (o *order) killed(find func(map[int]procfs.Stat) []procfs.Stat) error {
	for deadline := time.Now().Add(killWait); ; time.Sleep(5 * time.Millisecond) {
		all, err := procfs.Host.Stats()
		if err != nil {
			return err
		}
		victims := find(all)
		if len(victims) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of them still run %v after SIGKILL", len(victims), killWait)
		}
		var errs []error
		for _, v := range victims {
			errs = append(errs, kill(v))
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
}

// kill kills one process, but never another one that has reused its pid:
//
//  1. FindProcess opens a pidfd of the process that has the pid now.
//  2. Its start time identifies the process; while the pidfd is
//     open it cannot become another one.
//  3. The signal is sent to the pidfd.
func kill(s procfs.Stat) (err error) {
	p, err := os.FindProcess(s.PID)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Release()) }()
	now, err := procfs.Host.Stat(s.PID)
	if procfs.Gone(err) || err == nil && now.Start != s.Start {
		return nil
	}
	if err != nil {
		return err
	}
	if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s (%d): %w", s.Comm, s.PID, err)
	}
	return nil
}

// group returns the living members of the process group. The kernel does not reuse a
// group's number while it has members. So if the leader has gone the number still
// identifies the same group, unless the whole group ended and another process reused the
// number. A member that is older than the leader, or in another session, belongs to such a
// group.
func (o *order) group(all map[int]procfs.Stat) []procfs.Stat {
	if leader, ok := all[o.PID]; ok && leader.Start != o.Start {
		return nil
	}
	var members []procfs.Stat
	for _, s := range all {
		if s.Group == o.PID && s.Session == o.Session && s.Start >= o.Start && !s.Dead() {
			members = append(members, s)
		}
	}
	return members
}

// tree returns the process, and those descendants whose ancestors are all alive. The root
// comes last: once it has ended its descendants cannot be found any more.
func (o *order) tree(all map[int]procfs.Stat) []procfs.Stat {
	root, ok := all[o.PID]
	if !ok || root.Start != o.Start {
		return nil
	}
	children := map[int][]procfs.Stat{}
	for _, s := range all {
		if !s.Dead() {
			children[s.Parent] = append(children[s.Parent], s)
		}
	}
	found := []procfs.Stat{root}
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].PID]...)
	}
	if root.Dead() {
		found = found[1:]
	}
	slices.Reverse(found)
	return found
}
