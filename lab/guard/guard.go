package guard

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// Verb is the argument that makes the executable given to [Start] call [Main].
const Verb = "guard"

const (
	startTimeout = 30 * time.Second
	readyLine    = "ready\n"
)

// ErrClosed is the error of calls after Close.
var ErrClosed = errors.New("guard is closed")

// A Guard is the command's handle to the guard process. Its methods are safe for concurrent
// use.
type Guard struct {
	cmd *exec.Cmd

	mu     sync.Mutex
	pipe   io.WriteCloser
	closed bool
	last   uint64
}

// Start runs the executable exe with the argument [Verb] and returns when it is ready. The
// caller must close the guard.
func Start(exe string) (*Guard, error) {
	exe, err := filepath.Abs(exe)
	if err != nil {
		return nil, fmt.Errorf("start guard: %w", err)
	}
	cmd := exec.Command(exe, Verb)
	// A new session: Ctrl-C and the hangup of a terminal do not reach it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Dir = "/" // so that no file system is busy because of it
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start guard: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start guard: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start guard: %w", err)
	}
	if err := ready(cmd, out); err != nil {
		return nil, fmt.Errorf("start guard: %w", errors.Join(err, pipe.Close(), cmd.Wait()))
	}
	return &Guard{cmd: cmd, pipe: pipe}, nil
}

// ready waits for the guard's line; any other output, or none, ends the process.
func ready(cmd *exec.Cmd, out io.Reader) error {
	timer := time.AfterFunc(startTimeout, func() {
		_ = cmd.Process.Kill() // it fails if the process has ended, which the reader below detects
	})
	defer timer.Stop()
	line, err := bufio.NewReader(io.LimitReader(out, 64)).ReadString('\n')
	if line == readyLine {
		return nil
	}
	err = fmt.Errorf("%s %s did not become ready, it printed %q: %w", cmd.Path, Verb, line, err)
	if kill := cmd.Process.Kill(); kill != nil && !errors.Is(kill, os.ErrProcessDone) {
		err = errors.Join(err, kill)
	}
	return err
}

// KillGroup makes the guard kill the process group that pid leads, whether or not pid
// itself is still alive then. Nothing may have waited for the process yet. release cancels
// the action.
func (g *Guard) KillGroup(pid int) (release func() error, err error) {
	s, err := procfs.Host.Stat(pid)
	if err == nil && s.Group != pid {
		err = fmt.Errorf("it belongs to the group of %d", s.Group)
	}
	if err != nil {
		return nil, fmt.Errorf("guard process group %d: %w", pid, err)
	}
	return g.add(order{Kind: kindGroup, PID: pid, Start: s.Start, Session: s.Session})
}

// KillTree makes the guard kill the process pid and its descendants, if pid is still alive
// then. It is for a process in the group of its parent. Nothing may have waited for the
// process yet. release cancels the action.
func (g *Guard) KillTree(pid int) (release func() error, err error) {
	s, err := procfs.Host.Stat(pid)
	if err != nil {
		return nil, fmt.Errorf("guard process %d: %w", pid, err)
	}
	return g.add(order{Kind: kindTree, PID: pid, Start: s.Start, Session: s.Session})
}

// RemoveAll makes the guard remove a file, or a directory with its content. release cancels
// the action.
func (g *Guard) RemoveAll(path string) (release func() error, err error) {
	abs, err := filepath.Abs(path)
	if err == nil && (path == "" || abs == filepath.Dir(abs)) {
		err = errors.New("refusing to remove it")
	}
	if err != nil {
		return nil, fmt.Errorf("guard directory %q: %w", path, err)
	}
	return g.add(order{Kind: kindFile, Path: abs})
}

// Restore makes the guard write the old value back to a setting, a file of /proc/sys or
// /sys. Call it before the setting is changed. release cancels the action.
func (g *Guard) Restore(path, old string) (release func() error, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("guard setting %q: %w", path, err)
	}
	return g.add(order{Kind: kindSetting, Path: abs, Old: old})
}

// RemoveControl makes the guard kill all processes of a control group, and remove the group: an
// absolute path of its directory, which must not have groups below it. Call it before the group is
// made. release cancels the action.
func (g *Guard) RemoveControl(dir string) (release func() error, err error) {
	if !filepath.IsAbs(dir) || filepath.Clean(dir) == filepath.Dir(dir) {
		return nil, fmt.Errorf("guard control group %q: it is no path of a group", dir)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("guard control group %q: it exists already, so it is not this command's: %w", dir, os.ErrExist)
	}
	return g.add(order{Kind: kindControl, Path: filepath.Clean(dir)})
}

// Undelegate makes the guard undo a delegation. Call it before the delegation is made, and before
// the groups that it is for are guarded. release cancels the action.
func (g *Guard) Undelegate(d procfs.Delegation) (release func() error, err error) {
	return g.add(order{Kind: kindGiven, Given: &d})
}

// add sends an order. The returned release cancels it, once.
func (g *Guard) add(o order) (release func() error, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last++
	o.Op, o.ID = opAdd, g.last
	if err := g.send(o); err != nil {
		return nil, err
	}
	return sync.OnceValue(func() error {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.send(order{Op: opRemove, ID: o.ID})
	}), nil
}

// send writes one complete line; mu is held.
func (g *Guard) send(o order) error {
	if g.closed {
		return ErrClosed
	}
	line, err := json.Marshal(o)
	if err == nil {
		_, err = g.pipe.Write(append(line, '\n'))
	}
	if errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("guard process %d has ended, so nothing would be undone if this command died; run it again (%w)", g.cmd.Process.Pid, err)
	}
	if err != nil {
		return fmt.Errorf("write to guard: %w", err)
	}
	return nil
}

// Close makes the guard undo everything that was not released, and returns when that is
// done. An error means that something could not be undone; the guard has printed what to
// standard error.
func (g *Guard) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	err := g.send(order{Op: opDone})
	g.closed = true
	err = errors.Join(err, g.pipe.Close())
	if wait := g.cmd.Wait(); wait != nil {
		err = errors.Join(err, fmt.Errorf("guard could not undo everything: %w", wait))
	}
	return err
}
