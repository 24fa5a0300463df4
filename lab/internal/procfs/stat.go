package procfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Stat is the content of /proc/PID/stat; see proc_pid_stat(5).
type Stat struct {
	PID         int
	Comm        string // name of the executable, truncated to 15 bytes
	State       byte   // R, S, D, Z, ...
	Parent      int
	Group       int
	Session     int
	MinorFaults uint64
	MajorFaults uint64
	Ticks       uint64 // CPU time in user and system mode, in clock ticks
	Children    uint64 // the same of its children that have ended and been waited for, and of theirs
	Start       uint64 // clock ticks from boot; together with PID it identifies a process
}

// Dead reports whether the process has ended and is waiting to be reaped.
func (s Stat) Dead() bool { return s.State == 'Z' || s.State == 'X' }

// Stat reads one process.
func (f FS) Stat(pid int) (Stat, error) {
	text, err := f.Text("proc", strconv.Itoa(pid), "stat")
	if err != nil {
		return Stat{}, err
	}
	s, err := parseStat(text)
	if err != nil {
		return Stat{}, fmt.Errorf("parse stat of process %d: %w", pid, err)
	}
	return s, nil
}

func parseStat(text string) (s Stat, err error) {
	// The name may contain spaces and parentheses: what follows the last one is regular.
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return s, errors.New("no name in parentheses")
	}
	if s.PID, err = strconv.Atoi(strings.TrimSpace(text[:open])); err != nil {
		return s, err
	}
	s.Comm = text[open+1 : end]
	const first = 3 // number of the field after the name in the manual
	words := strings.Fields(text[end+1:])
	if len(words) < 22-first+1 || len(words[0]) != 1 {
		return s, fmt.Errorf("%d fields after the name", len(words))
	}
	s.State = words[0][0]
	for _, x := range []struct {
		field int
		to    *int
	}{{4, &s.Parent}, {5, &s.Group}, {6, &s.Session}} {
		if *x.to, err = strconv.Atoi(words[x.field-first]); err != nil {
			return s, err
		}
	}
	var user, system, childUser, childSystem uint64
	for _, x := range []struct {
		field int
		to    *uint64
	}{{10, &s.MinorFaults}, {12, &s.MajorFaults}, {14, &user}, {15, &system}, {16, &childUser}, {17, &childSystem}, {22, &s.Start}} {
		if *x.to, err = strconv.ParseUint(words[x.field-first], 10, 64); err != nil {
			return s, err
		}
	}
	s.Ticks, s.Children = user+system, childUser+childSystem
	return s, nil
}

// Memory reads the size of a process's address space and of its resident memory, in bytes.
func (f FS) Memory(pid int) (size, resident uint64, err error) {
	words, err := f.Fields("proc", strconv.Itoa(pid), "statm")
	if err != nil {
		return 0, 0, err
	}
	if len(words) < 2 {
		return 0, 0, fmt.Errorf("read statm of process %d: %d fields", pid, len(words))
	}
	for i, to := range []*uint64{&size, &resident} {
		pages, err := strconv.ParseUint(words[i], 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("read statm of process %d: %w", pid, err)
		}
		*to = pages * uint64(os.Getpagesize())
	}
	return size, resident, nil
}

// Stats reads every process. Processes that end in the meantime are omitted.
func (f FS) Stats() (map[int]Stat, error) {
	pids, err := f.PIDs()
	if err != nil {
		return nil, err
	}
	all := make(map[int]Stat, len(pids))
	for _, pid := range pids {
		s, err := f.Stat(pid)
		if Gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all[pid] = s
	}
	return all, nil
}

// Tree returns pid and its living descendants, parents first; nil if pid does not exist.
// Descendants whose parent has ended are not found: they have another parent by then.
func (f FS) Tree(pid int) ([]int, error) {
	all, err := f.Stats()
	if err != nil {
		return nil, err
	}
	if _, ok := all[pid]; !ok {
		return nil, nil
	}
	children := map[int][]int{}
	for _, s := range all {
		if !s.Dead() {
			children[s.Parent] = append(children[s.Parent], s.PID)
		}
	}
	tree := []int{pid}
	for i := 0; i < len(tree); i++ {
		tree = append(tree, children[tree[i]]...)
	}
	return tree, nil
}

// Gone reports whether err means that a process, or a part of one, no longer exists.
func Gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}
