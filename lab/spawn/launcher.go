package spawn

import (
	"os/exec"
	"runtime"
)

// A Launcher starts processes pinned to CPUs.
//
// A child inherits the affinity of the thread that starts it, so it is pinned before its
// first instruction, and its runtime sizes itself by the CPUs that it really has. Therefore
// one goroutine, locked to its own thread, starts all children. The thread lives as long as
// the launcher, because PDEATHSIG kills a child when the thread that started it ends, not
// only when the process does. It is not the main thread, whose affinity counts as that of
// the process.
type Launcher struct {
	jobs chan launch
}

type launch struct {
	cmd  *exec.Cmd
	cpus []int
	done chan error
}

// NewLauncher returns a launcher. The caller must close it.
func NewLauncher() *Launcher {
	l := &Launcher{jobs: make(chan launch)}
	go l.loop()
	return l
}

func (l *Launcher) loop() {
	runtime.LockOSThread()
	if onMainThread() { // it is kept busy, so that the next goroutine gets another thread
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.loop()
		}()
		<-done
		runtime.UnlockOSThread()
		return
	}
	// Never unlocked: the thread ends with this goroutine.
	for j := range l.jobs {
		j.done <- start(j.cmd, j.cpus)
	}
}

// Start starts cmd in a new process group on the given CPUs.
func (l *Launcher) Start(cmd *exec.Cmd, cpus []int) error {
	j := launch{cmd: cmd, cpus: cpus, done: make(chan error, 1)}
	l.jobs <- j
	return <-j.done
}

// Close ends the launcher's thread. Children that still run are killed.
func (l *Launcher) Close() { close(l.jobs) }
