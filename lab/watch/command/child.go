package command

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

// child is the command that was started. It has its own process group, and the kernel kills it
// when redline ends.
type child struct {
	cmd      *exec.Cmd
	launcher *spawn.Launcher
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

// close ends the command and its process group: with SIGTERM, and with SIGKILL what is left.
func (c *child) close() error {
	defer c.launcher.Close()
	group := -c.pid()
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
		return fmt.Errorf("end %s: %w", c.name(), err)
	}
	return nil
}

// patiently repeats a connection to a process that was just started, until it succeeds.
func patiently(ctx context.Context, o *Options, connect func() error) error {
	err := connect()
	if len(o.Command) == 0 {
		return err
	}
	for end := time.Now().Add(startPatience); err != nil && time.Now().Before(end) && ctx.Err() == nil; err = connect() {
		time.Sleep(startPause)
	}
	return err
}
