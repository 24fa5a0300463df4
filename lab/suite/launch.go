package suite

import (
	"os/exec"
	"runtime"
	"sync"
)

// A launcher starts processes pinned to CPUs.
//
// A child inherits the affinity of the thread that starts it, so that it is
// pinned before its first instruction and its runtime sizes itself by the CPUs
// it really has. One goroutine, locked to a thread of its own, therefore starts
// them all. The thread lives as long as the launcher: PDEATHSIG kills a child
// when the thread that started it ends, not only when the process does.
type launcher struct {
	jobs chan launch
}

type launch struct {
	cmd  *exec.Cmd
	cpus []int
	done chan error
}

func newLauncher() *launcher {
	l := &launcher{jobs: make(chan launch)}
	go l.loop()
	return l
}

func (l *launcher) loop() {
	runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
	for j := range l.jobs {
		j.done <- start(j.cmd, j.cpus)
	}
}

// start starts cmd in a process group of its own on the given CPUs.
func (l *launcher) start(cmd *exec.Cmd, cpus []int) error {
	j := launch{cmd: cmd, cpus: cpus, done: make(chan error, 1)}
	l.jobs <- j
	return <-j.done
}

// close lets the launcher's thread end. Children that still run are killed.
func (l *launcher) close() { close(l.jobs) }

// A tail keeps the last bytes that were written to it.
type tail struct {
	mu    sync.Mutex
	limit int
	kept  []byte
	cut   bool
}

// Write implements io.Writer and never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - t.limit; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
		t.cut = true
	}
	return len(p), nil
}

// String returns what was kept; a leading ellipsis stands for what was not.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut {
		return "..." + string(t.kept)
	}
	return string(t.kept)
}
