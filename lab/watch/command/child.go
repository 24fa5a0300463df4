package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/guard"
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

// child is the command that was started. It has its own process group. When redline is killed,
// the kernel kills it, and the guard what it started.
type child struct {
	cmd      *exec.Cmd
	launcher *spawn.Launcher
	guard    *guard.Guard
	output   *tail.Tail // nil if it was shown
	done     chan struct{}
	err      error // of Wait, when done is closed
}

// start starts a command with this process's environment, on the same CPUs. Its output goes to
// the standard error of redline; under a live view, its end is shown if the command fails.
func start(args []string, console Console) (*child, error) {
	cpus, err := probe.Allowed()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", args[0], err)
	}
	c := &child{cmd: exec.Command(args[0], args[1:]...), launcher: spawn.NewLauncher(), done: make(chan struct{})}
	var out io.Writer = console.Err
	if console.Screen.Width > 0 {
		c.output = &tail.Tail{Limit: outputKept}
		out = c.output
	}
	c.cmd.Stdout, c.cmd.Stderr, c.cmd.WaitDelay = out, out, outputPause
	if err := c.launch(cpus); err != nil {
		c.launcher.Close()
		return nil, fmt.Errorf("start the command: %w", err)
	}
	go func() {
		defer close(c.done)
		c.err = c.cmd.Wait()
	}()
	return c, nil
}

// launch starts the guard and the command.
func (c *child) launch(cpus []int) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if c.guard, err = guard.Start(exe); err != nil {
		return err
	}
	if err := c.launcher.Start(c.cmd, cpus); err != nil {
		return errors.Join(err, c.guard.Close())
	}
	if _, err := c.guard.KillGroup(c.pid()); err != nil {
		return errors.Join(err, c.cmd.Process.Kill(), c.cmd.Wait(), c.guard.Close())
	}
	return nil
}

func (c *child) pid() int     { return c.cmd.Process.Pid }
func (c *child) name() string { return filepath.Base(c.cmd.Path) }

// wait waits for the end of a command that has ended already for the kernel.
func (c *child) wait() { <-c.done }

// ended reports whether the command ended, which it may do just now.
func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	case <-time.After(startPause):
		return false
	}
}

// how says how the command ended, with the end of its output. Call it after its end.
func (c *child) how() string {
	text := c.cmd.ProcessState.String()
	if c.output != nil && !c.cmd.ProcessState.Success() {
		if said := c.output.String(); said != "" {
			text += "\n" + said
		}
	}
	return text
}

// exit returns the command's exit code as that of redline; nil if it is 0. A signal is 128 and
// its number, as in a shell.
func (c *child) exit() error {
	if status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return cli.ExitCode(128 + int(status.Signal()))
	}
	if code := c.cmd.ProcessState.ExitCode(); code != 0 {
		return cli.ExitCode(code)
	}
	return nil
}

// close ends the command and its process group: with SIGTERM, and what is left with SIGKILL,
// which the guard sends.
func (c *child) close() error {
	defer c.launcher.Close()
	err := syscall.Kill(-c.pid(), syscall.SIGTERM)
	select {
	case <-c.done:
	case <-time.After(endPatience):
	}
	// Also after the command's end: its children may still run.
	if killed := c.guard.Close(); killed != nil {
		err = errors.Join(err, killed)
	} else {
		err = nil
	}
	<-c.done
	if err != nil {
		return fmt.Errorf("end %s: %w", c.name(), err)
	}
	return nil
}

// patiently repeats a connection to a process that was just started, until it succeeds, the
// command ends or patience does. ended is nil if no command was started.
func patiently(ctx context.Context, ended <-chan struct{}, connect func() error) error {
	err := connect()
	if ended == nil {
		return err
	}
	patience := time.NewTimer(startPatience)
	defer patience.Stop()
	for err != nil {
		select {
		case <-ended:
			return err
		case <-patience.C:
			return err
		case <-ctx.Done():
			return err
		case <-time.After(startPause):
		}
		err = connect()
	}
	return nil
}
