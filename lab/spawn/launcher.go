package spawn

import (
	"os/exec"
	"runtime"
)

// A Launcher starts processes pinned to CPUs.
//
// A child inherits the affinity of the thread that starts it, so that it is
// pinned before its first instruction and its runtime sizes itself by the CPUs
// it really has. One goroutine, locked to a thread of its own, therefore starts
// them all. The thread lives as long as the launcher: PDEATHSIG kills a child
// when the thread that started it ends, not only when the process does. It is not
// the process's main thread, whose affinity is taken for that of the process.
type Launcher struct {
	jobs chan launch
}

type launch struct {
	cmd  *exec.Cmd
	cpus []int
	done chan error
}

// NewLauncher returns a launcher, which its user closes.
func NewLauncher() *Launcher {
	l := &Launcher{jobs: make(chan launch)}
	go l.loop()
	return l
}

func (l *Launcher) loop() {
	runtime.LockOSThread()
	if onMainThread() { // which is kept here, so that the next goroutine gets another
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

// Start starts cmd in a process group of its own on the given CPUs.
func (l *Launcher) Start(cmd *exec.Cmd, cpus []int) error {
	j := launch{cmd: cmd, cpus: cpus, done: make(chan error, 1)}
	l.jobs <- j
	return <-j.done
}

// Close lets the launcher's thread end. Children that still run are killed.
func (l *Launcher) Close() { close(l.jobs) }
