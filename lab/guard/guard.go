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

// ErrClosed is the error of a guard that was closed.
var ErrClosed = errors.New("guard is closed")

// A Guard is the guarding process, seen from the command. Its methods may be
// called from any goroutine.
type Guard struct {
	cmd *exec.Cmd

	mu     sync.Mutex
	pipe   io.WriteCloser
	closed bool
	last   uint64
}

// Start starts the executable exe with the argument [Verb] and returns when it
// stands guard. The caller closes the guard.
func Start(exe string) (*Guard, error) {
	exe, err := filepath.Abs(exe)
	if err != nil {
		return nil, fmt.Errorf("start guard: %w", err)
	}
	cmd := exec.Command(exe, Verb)
	// A session of its own: a terminal's Ctrl-C and hangup do not reach it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Dir = "/" // keeps no file system busy
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

// ready waits for the guard's one line; whatever else is said or not said ends
// the process.
func ready(cmd *exec.Cmd, out io.Reader) error {
	timer := time.AfterFunc(startTimeout, func() {
		_ = cmd.Process.Kill() // it fails when the process has ended, which the reader below sees
	})
	defer timer.Stop()
	line, err := bufio.NewReader(io.LimitReader(out, 64)).ReadString('\n')
	if line == readyLine {
		return nil
	}
	err = fmt.Errorf("%s %s did not report for duty, it said %q: %w", cmd.Path, Verb, line, err)
	if kill := cmd.Process.Kill(); kill != nil && !errors.Is(kill, os.ErrProcessDone) {
		err = errors.Join(err, kill)
	}
	return err
}

// KillGroup has the process group that pid leads killed, whether pid itself
// still lives by then or not. The process must not have been waited for yet.
// Calling release takes it off the list.
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

// KillTree has the process pid killed, with its descendants, if pid still lives
// by then: for a process that shares the group of its parent. The process must
// not have been waited for yet. Calling release takes it off the list.
func (g *Guard) KillTree(pid int) (release func() error, err error) {
	s, err := procfs.Host.Stat(pid)
	if err != nil {
		return nil, fmt.Errorf("guard process %d: %w", pid, err)
	}
	return g.add(order{Kind: kindTree, PID: pid, Start: s.Start, Session: s.Session})
}

// RemoveAll has a file or directory removed, with all that is in it. Calling
// release takes it off the list.
func (g *Guard) RemoveAll(path string) (release func() error, err error) {
	abs, err := filepath.Abs(path)
	if err == nil && (path == "" || abs == filepath.Dir(abs)) {
		err = errors.New("that is no directory to remove")
	}
	if err != nil {
		return nil, fmt.Errorf("guard directory %q: %w", path, err)
	}
	return g.add(order{Kind: kindFile, Path: abs})
}

// Restore has the old value written back to a setting, a file of /proc/sys or
// /sys. It is called before the setting is changed. Calling release takes it
// off the list.
func (g *Guard) Restore(path, old string) (release func() error, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("guard setting %q: %w", path, err)
	}
	return g.add(order{Kind: kindSetting, Path: abs, Old: old})
}

// add sends an order. The release that it returns does so once.
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

// send writes one line, whole; mu is held.
func (g *Guard) send(o order) error {
	if g.closed {
		return ErrClosed
	}
	line, err := json.Marshal(o)
	if err == nil {
		_, err = g.pipe.Write(append(line, '\n'))
	}
	if errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("guard process %d has ended: nothing would be undone if this command died; run it again (%w)", g.cmd.Process.Pid, err)
	}
	if err != nil {
		return fmt.Errorf("tell guard: %w", err)
	}
	return nil
}

// Close has everything undone that was not released, and returns when it is. An
// error says that some of it could not be; the guard has written what to
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
