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

// Process starts this program again, from the same file and with the same arguments, passes
// the listeners on, and waits until the new process has called [Ready]. After that the
// caller ends its servers, for example with their Shutdown; both processes accept
// connections in the meantime. The listeners stay with the caller. The file of a Unix
// socket then belongs to the new process: closing the listener here does not remove it.
//
// If ctx is done first, or the new process ends before it is ready, the new process is
// killed and waited for, everything stays with this process, and the error gives the
// reason: that of ctx, or how the process ended. Concurrent calls are not useful.
//
// Pass the listeners that the servers use: a socket that a server opened by itself cannot
// be passed on without losing connections. A listener that has no descriptor is an error.
// Listeners can be passed on only on Unix systems: elsewhere the error is
// errors.ErrUnsupported.
func Process(ctx context.Context, listeners ...net.Listener) (*os.Process, error) {
	cmd, ready, err := successor(listeners)
	if err != nil {
		return nil, fmt.Errorf("restart: %w", err)
	}
	defer ready.Close()
	err = cmd.Start()
	for _, f := range cmd.ExtraFiles {
		f.Close() // duplicates, which the new process now has
	}
	if err != nil {
		return nil, fmt.Errorf("restart: %w", err)
	}
	if err := awaitReady(ctx, ready); err != nil {
		// The process may have ended by itself; its exit status says more than this error.
		_ = cmd.Process.Kill()
		return nil, fmt.Errorf("restart: new process is not ready: %w", errors.Join(err, cmd.Wait()))
	}
	for _, l := range listeners {
		if u, ok := l.(*net.UnixListener); ok {
			u.SetUnlinkOnClose(false) // the file belongs to the new process
		}
	}
	return cmd.Process, nil
}

// successor prepares a process that gets the listeners, and the pipe through which it
// reports that it is ready.
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

// bequeath passes duplicates of the listeners to a process that already has the pipe.
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
		// This fails if the pipe is closed: then nothing waits.
		_ = ready.SetReadDeadline(time.Unix(1, 0))
	})
	defer stop()
	_, err := ready.Read(make([]byte, 1))
	switch {
	case err == io.EOF:
		return errors.New("the process has ended, or closed its pipe")
	case ctx.Err() != nil && err != nil:
		return ctx.Err()
	}
	return err
}
