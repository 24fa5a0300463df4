package restart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"time"
)

// Process starts this program again, from the file that it was started from and with
// the same arguments, passes the listeners on, and waits until the new process has
// called [Ready]. After that this one ends its servers, as by their Shutdown; both
// accept connections in the meantime. The listeners stay the caller's. The file of a
// Unix socket is the new process's from then on: closing the listener here leaves it.
//
// When ctx is done first, or the new process ends before it is ready, it is killed and
// waited for, everything stays with this process, and the error says why: ctx's, or
// how the process has ended. One call at a time makes sense.
//
// The listeners are those that the servers were given: what a server listens on by
// itself cannot be passed on without losing connections. One that has no descriptor
// is an error. Only Unix systems pass listeners on: elsewhere the error is
// errors.ErrUnsupported.
func Process(ctx context.Context, listeners ...net.Listener) (*os.Process, error) {
	cmd, ready, err := successor(listeners)
	if err != nil {
		return nil, fmt.Errorf("restart: %w", err)
	}
	defer ready.Close()
	err = cmd.Start()
	for _, f := range cmd.ExtraFiles {
		f.Close() // duplicates, which the new process has now
	}
	if err != nil {
		return nil, fmt.Errorf("restart: %w", err)
	}
	if err := awaitReady(ctx, ready); err != nil {
		// It may have ended by itself; how it ended says more than this error.
		_ = cmd.Process.Kill()
		return nil, fmt.Errorf("restart: new process is not ready: %w", errors.Join(err, cmd.Wait()))
	}
	for _, l := range listeners {
		if u, ok := l.(*net.UnixListener); ok {
			u.SetUnlinkOnClose(false) // the file is the new process's
		}
	}
	return cmd.Process, nil
}

// successor prepares a process that gets the listeners, and the pipe that it
// says in that it is ready.
func successor(listeners []net.Listener) (cmd *exec.Cmd, ready *os.File, err error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	ready, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	cmd = exec.Command(exe, os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{write}
	if err := bequeath(cmd, listeners); err != nil {
		ready.Close()
		for _, f := range cmd.ExtraFiles {
			f.Close()
		}
		return nil, nil, err
	}
	return cmd, ready, nil
}

// bequeath gives duplicates of the listeners to a process that has the pipe
// already.
func bequeath(cmd *exec.Cmd, listeners []net.Listener) error {
	to := descriptors{Ready: firstFD, Listeners: []int{}}
	for _, l := range listeners {
		f, err := duplicate(l)
		if err != nil {
			return fmt.Errorf("pass %s on: %w", l.Addr(), err)
		}
		to.Listeners = append(to.Listeners, firstFD+len(cmd.ExtraFiles))
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	text, err := json.Marshal(to)
	if err != nil {
		return err
	}
	cmd.Env = append(os.Environ(), variable+"="+string(text))
	return nil
}

// awaitReady waits for the byte of [Ready].
func awaitReady(ctx context.Context, ready *os.File) error {
	stop := context.AfterFunc(ctx, func() {
		// It fails when the pipe is closed: then nobody waits.
		_ = ready.SetReadDeadline(time.Unix(1, 0))
	})
	defer stop()
	_, err := ready.Read(make([]byte, 1))
	switch {
	case err == io.EOF:
		return errors.New("it has ended, or closed its pipe")
	case ctx.Err() != nil && err != nil:
		return ctx.Err()
	}
	return err
}
