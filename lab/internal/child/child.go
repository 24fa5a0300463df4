// Package child starts a command whose process is observed, and ends it with its process group.
package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/internal/tail"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/spawn"
)

const (
	startPatience = 10 * time.Second // for a command to open its socket or its pages
	startPause    = 50 * time.Millisecond
	endPatience   = 5 * time.Second // from SIGTERM to SIGKILL
	outputPause   = time.Second     // for output of processes that the command left
	outputKept    = 4 << 10
)

// Child is the command that was started. It has its own process group, and the kernel kills it
// when redline ends.
type Child struct {
	cmd      *exec.Cmd
	launcher *spawn.Launcher
	output   *tail.Tail // nil if it was shown
	done     chan struct{}
	err      error // of Wait, when done is closed
}

// Start starts a command with this process's environment, on the same CPUs. Its output goes to
// out. If out is nil, its end is kept, and [Child.How] shows it if the command fails. The caller
// must call Close.
func Start(args []string, out io.Writer) (*Child, error) {
	cpus, err := probe.Allowed()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", args[0], err)
	}
	c := &Child{cmd: exec.Command(args[0], args[1:]...), launcher: spawn.NewLauncher(), done: make(chan struct{})}
	if out == nil {
		c.output = &tail.Tail{Limit: outputKept}
		out = c.output
	}
	c.cmd.Stdout, c.cmd.Stderr, c.cmd.WaitDelay = out, out, outputPause
	if err := c.launcher.Start(c.cmd, cpus); err != nil {
		c.launcher.Close()
		return nil, fmt.Errorf("start the command: %w", err)
	}
	go func() {
		defer close(c.done)
		c.err = c.cmd.Wait()
	}()
	return c, nil
}

// PID returns the process id, which is also that of its process group.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Name returns the name of the program.
func (c *Child) Name() string { return filepath.Base(c.cmd.Path) }

// Wait waits for the end of a command that has ended already for the kernel.
func (c *Child) Wait() { <-c.done }

// Ended reports whether the command ended, which it may do just now.
func (c *Child) Ended() bool {
	select {
	case <-c.done:
		return true
	case <-time.After(startPause):
		return false
	}
}

// How says how the command ended, with the end of its output. Call it after its end.
func (c *Child) How() string {
	text := c.cmd.ProcessState.String()
	if c.output != nil && !c.cmd.ProcessState.Success() {
		if said := c.output.String(); said != "" {
			text += "\n" + said
		}
	}
	return text
}

// Exit returns the command's exit code as that of redline; nil if it is 0. A signal is 128 and
// its number, as in a shell.
func (c *Child) Exit() error {
	if status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return cli.ExitCode(128 + int(status.Signal()))
	}
	if code := c.cmd.ProcessState.ExitCode(); code != 0 {
		return cli.ExitCode(code)
	}
	return nil
}

// Close ends the command and its process group: with SIGTERM, and with SIGKILL what is left.
func (c *Child) Close() error {
	defer c.launcher.Close()
	group := -c.PID()
	err := syscall.Kill(group, syscall.SIGTERM)
	select {
	case <-c.done:
	case <-time.After(endPatience):
	}
	// Also after the command's end: its children may still run.
	if killed := syscall.Kill(group, syscall.SIGKILL); killed == nil {
		err = nil
	}
	<-c.done
	if errors.Is(err, syscall.ESRCH) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("end %s: %w", c.Name(), err)
	}
	return nil
}

// Patiently repeats a connection to a process that was just started, until it succeeds, for at
// most ten seconds.
func Patiently(ctx context.Context, connect func() error) error {
	err := connect()
	for end := time.Now().Add(startPatience); err != nil && time.Now().Before(end) && ctx.Err() == nil; err = connect() {
		time.Sleep(startPause)
	}
	return err
}
