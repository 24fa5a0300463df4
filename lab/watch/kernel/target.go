package kernel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"syscall"
	"time"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/watch"
)

// treeEvery is the time between two looks for children: each reads the stat of every process
// of the machine.
const treeEvery = time.Second

// Target is the process that is watched, with its children if that is wanted.
type Target struct {
	fs     procfs.FS
	pid    int
	tree   bool
	start  uint64 // with pid it identifies the process
	looked time.Time

	pids   []int
	inodes map[uint32]bool // of the sockets of all; nil if they cannot be read
}

// Open returns a process as the target. With tree, its descendants are watched too, and are
// looked for once a second. The error wraps [watch.ErrGone] if there is no such process.
func Open(fs procfs.FS, pid int, tree bool) (*Target, error) {
	t := &Target{fs: fs, pid: pid, tree: tree, pids: []int{pid}}
	stat, err := fs.Stat(pid)
	if procfs.Gone(err) || err == nil && stat.Dead() {
		return nil, fmt.Errorf("process %d: %w", pid, watch.ErrGone)
	}
	if err != nil {
		return nil, err
	}
	t.start = stat.Start
	return t, nil
}

// PIDs returns the processes as of the last look.
func (t *Target) PIDs() []int { return t.pids }

// Samplers returns the samplers of the target, in the order in which they depend on one
// another.
func (t *Target) Samplers() ([]watch.Sampler, error) {
	list := []watch.Sampler{&sampler{name: "the process", read: t.process}}
	if t.fs == procfs.Host {
		cpu, err := openCPU(t)
		if err != nil {
			return nil, err
		}
		list = append(list, cpu)
	}
	groups := &groups{t: t}
	sockets := &sockets{t: t}
	return append(
		list,
		&sampler{name: "its memory", read: t.memory},
		&sampler{name: "its shared memory", every: time.Second, read: t.shared},
		&sampler{name: "its threads", every: time.Second, read: t.threads},
		&sampler{name: "its I/O", read: t.traffic},
		&sampler{name: "its descriptors", read: t.open},
		&sampler{name: "the kinds of its descriptors", read: t.descriptors},
		&sampler{name: "its sockets", read: sockets.read, end: sockets.close},
		&sampler{name: "the network", every: time.Second, read: t.network},
		&sampler{name: "its control group", read: groups.read},
		&sampler{name: "pressure", every: time.Second, read: groups.pressure},
	), nil
}

// sampler adapts a function to [watch.Sampler].
type sampler struct {
	name  string
	every time.Duration
	read  func(r *watch.Reading) error
	end   func() error
}

func (s *sampler) Name() string                                     { return s.name }
func (s *sampler) Every() time.Duration                             { return s.every }
func (s *sampler) Sample(_ context.Context, r *watch.Reading) error { return s.read(r) }
func (s *sampler) Close() error {
	if s.end == nil {
		return nil
	}
	return s.end()
}

// look finds out whether the process still exists, and which children it has.
func (t *Target) look(now time.Time) error {
	stat, err := t.fs.Stat(t.pid)
	if procfs.Gone(err) || err == nil && (stat.Dead() || stat.Start != t.start) {
		return fmt.Errorf("process %d: %w", t.pid, watch.ErrGone)
	}
	if err != nil || !t.tree || now.Sub(t.looked) < treeEvery {
		return err
	}
	t.looked = now
	if pids, err := t.fs.Tree(t.pid); err == nil && len(pids) > 0 {
		t.pids = pids
	}
	return nil
}

// each calls read for every process. One that has ended is left out. If another one cannot be
// read, the figures are missing, and each returns false.
func (t *Target) each(r *watch.Reading, file string, figures []string, read func(pid int, id string) error) bool {
	alive := false
	for _, pid := range t.pids {
		id := strconv.Itoa(pid)
		switch err := read(pid, id); {
		case err == nil:
			alive = true
		case !procfs.Gone(err):
			r.Miss(t.fs.Path("proc", id, file), reason(err), figures...)
			return false
		case pid == t.pid && t.look(r.At) == nil:
			r.Miss(t.fs.Path("proc", id, file), "this kernel does not have the file", figures...)
			return false
		}
	}
	return alive
}

// reason returns an error without the file, with what to do about it.
func reason(err error) string {
	text := err.Error()
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		text = p.Err.Error()
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EPERM) {
		text += ": run as root or as the process's user"
	}
	return text
}
