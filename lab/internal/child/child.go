// Package child starts a command whose process is observed, and ends it with its process group.
package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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

// Child is the command that was started. It has its own process group. When redline is killed,
// the kernel kills it, and the guard what it started.
type Child struct {
	name     string
	cmd      *exec.Cmd
	launcher *spawn.Launcher
	guard    *guard.Guard
	output   *tail.Tail // nil if it was shown
	done     chan struct{}
	err      error // of Wait, when done is closed
}

// Options change how a command is started.
type Options struct {
	Out  io.Writer // its output; nil: the end of it is kept, and How shows it if the command fails
	Env  []string  // in addition to this process's environment
	CPUs []int     // that it may use; none: those of this process

	Groups []string // control groups that it enters before its first instruction, by their directories
	Score  *int     // its oom_score_adj, see proc_pid_oom_score_adj(5); nil: that of this process
}

// enter is a script that writes what it is told to, and becomes the command: value, file, ..., the
// word --, and the command.
const enter = `while [ "$1" != -- ]; do
echo "$1" 2>/dev/null >"$2" || { echo "redline may not write $1 to $2: run it with more rights, or ask for less" >&2; exit 125; }
shift 2; done; shift; exec "$@"`

// command returns the command, which a shell starts if the options ask for something that a
// process does to itself.
func (o *Options) command(args []string) (*exec.Cmd, error) {
	if len(o.Groups) == 0 && o.Score == nil {
		return exec.Command(args[0], args[1:]...), nil
	}
	program, err := exec.LookPath(args[0])
	if err != nil {
		return nil, err
	}
	words := []string{"-c", enter, "sh"}
	for _, dir := range o.Groups {
		words = append(words, "0", filepath.Join(dir, "cgroup.procs")) // 0 is the process that writes
	}
	if o.Score != nil {
		words = append(words, strconv.Itoa(*o.Score), "/proc/self/oom_score_adj")
	}
	words = append(append(words, "--", program), args[1:]...)
	return exec.Command("/bin/sh", words...), nil
}

// Start starts a command. The caller must call Close.
func Start(args []string, o Options) (*Child, error) {
	cpus := o.CPUs
	if len(cpus) == 0 {
		var err error
		if cpus, err = probe.Allowed(); err != nil {
			return nil, fmt.Errorf("start %s: %w", args[0], err)
		}
	}
	cmd, err := o.command(args)
	if err != nil {
		return nil, fmt.Errorf("start the command: %w", err)
	}
	out := o.Out
	c := &Child{name: filepath.Base(args[0]), cmd: cmd, launcher: spawn.NewLauncher(), done: make(chan struct{})}
	if len(o.Env) > 0 {
		c.cmd.Env = append(os.Environ(), o.Env...)
	}
	if out == nil {
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
func (c *Child) launch(cpus []int) error {
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
	if _, err := c.guard.KillGroup(c.PID()); err != nil {
		return errors.Join(err, c.cmd.Process.Kill(), c.cmd.Wait(), c.guard.Close())
	}
	return nil
}

// PID returns the process id, which is also that of its process group.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Done returns a channel that is closed when the command has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Name returns the name of the program.
func (c *Child) Name() string { return c.name }

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

// Killed reports whether SIGKILL ended the command. Call it after its end.
func (c *Child) Killed() bool {
	status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
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

// Close ends the command and its process group: with SIGTERM, and what is left with SIGKILL,
// which the guard sends.
func (c *Child) Close() error {
	defer c.launcher.Close()
	err := syscall.Kill(-c.PID(), syscall.SIGTERM)
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
		return fmt.Errorf("end %s: %w", c.Name(), err)
	}
	return nil
}

// Patiently repeats a connection to a process that was just started, until it succeeds, ended is
// closed, or patience ends: ten seconds. If ended is nil, because no command was started, it
// connects once.
func Patiently(ctx context.Context, ended <-chan struct{}, connect func() error) error {
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

// Listening waits, as [Patiently] does, until something accepts connections at the address of a
// URL. A URL without a host is none of its business: who uses it explains what is wrong.
func Listening(ctx context.Context, ended <-chan struct{}, rawURL string) error {
	u, err := url.Parse(rawURL)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	port := u.Port()
	if port == "" && u.Scheme == "https" {
		port = "443"
	} else if port == "" {
		port = "80"
	}
	dialer := net.Dialer{Timeout: time.Second}
	return Patiently(ctx, ended, func() error {
		conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
		if err != nil {
			return fmt.Errorf("wait for %s: %w", u.Host, err)
		}
		return conn.Close()
	})
}
