package redline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// legacyEnv is the environment variable by which a process is told what was
// passed on to it.
const legacyEnv = "REDLINE_LEGACY"

// A legacy is what a process passes on: descriptors, by number.
type legacy struct {
	Ready     int   `json:"ready"` // a pipe; a byte in it says that the new process is ready
	Listeners []int `json:"listeners"`
}

// firstFD is the number of the first of [exec.Cmd.ExtraFiles].
const firstFD = 3

// inherited is the legacy that has come to this process.
var inherited struct {
	sync.Mutex
	read      bool
	err       error
	ready     *os.File
	listeners []net.Listener // that nobody has asked for yet
}

// Inherit returns the listener for an address, "tcp" or "unix", that the process
// that started this one has passed on with [Restart]; if there is none it
// listens. Connections that wait in a listener that was passed on are neither
// refused nor lost.
func Inherit(network, addr string) (net.Listener, error) {
	inherited.Lock()
	defer inherited.Unlock()
	if err := readLegacy(); err != nil {
		return nil, err
	}
	for i, l := range inherited.listeners {
		is, err := listensOn(l, network, addr)
		if err != nil {
			return nil, err
		}
		if is {
			inherited.listeners = append(inherited.listeners[:i], inherited.listeners[i+1:]...)
			return l, nil
		}
	}
	return net.Listen(network, addr)
}

// readLegacy takes the legacy out of the environment, once: processes that this
// one starts must not think it theirs.
func readLegacy() error {
	if inherited.read {
		return inherited.err
	}
	inherited.read = true
	text, ok := os.LookupEnv(legacyEnv)
	if !ok {
		return nil
	}
	var from legacy
	inherited.err = errors.Join(os.Unsetenv(legacyEnv), json.Unmarshal([]byte(text), &from))
	if inherited.err != nil {
		inherited.err = fmt.Errorf("inherit listeners: read %s: %w", legacyEnv, inherited.err)
		return inherited.err
	}
	inherited.ready = os.NewFile(uintptr(from.Ready), "ready")
	for _, fd := range from.Listeners {
		f := os.NewFile(uintptr(fd), "listener")
		l, err := net.FileListener(f)
		if err = errors.Join(err, f.Close()); err != nil {
			inherited.err = fmt.Errorf("inherit listeners: descriptor %d: %w", fd, err)
			return inherited.err
		}
		if u, ok := l.(*net.UnixListener); ok {
			u.SetUnlinkOnClose(true)
		}
		inherited.listeners = append(inherited.listeners, l)
	}
	return nil
}

// listensOn reports whether a listener is what net.Listen(network, addr) would
// have returned. Port 0 is any.
func listensOn(l net.Listener, network, addr string) (bool, error) {
	switch a := l.Addr().(type) {
	case *net.UnixAddr:
		return network == a.Net && addr == a.Name, nil
	case *net.TCPAddr:
		if network != "tcp" && network != "tcp4" && network != "tcp6" {
			return false, nil
		}
		want, err := net.ResolveTCPAddr(network, addr)
		if err != nil {
			return false, err
		}
		v4 := a.IP.To4() != nil
		switch {
		case want.Port != 0 && want.Port != a.Port, network == "tcp4" && !v4, network == "tcp6" && v4:
			return false, nil
		case want.IP == nil || want.IP.IsUnspecified():
			return a.IP.IsUnspecified(), nil
		}
		return want.IP.Equal(a.IP), nil
	}
	return false, nil
}

// Ready tells the process that has started this one with [Restart] that this one
// serves, so that it may go: call it when [Server.Adopt] or [Server.Listen] has
// succeeded, as nobody serves if they fail later. Listeners that were passed on and that nobody asked
// for are closed. It does nothing when no process waits for it.
func Ready() error {
	inherited.Lock()
	defer inherited.Unlock()
	if err := readLegacy(); err != nil {
		return err
	}
	var errs []error
	for _, l := range inherited.listeners {
		errs = append(errs, l.Close())
	}
	inherited.listeners = nil
	if f := inherited.ready; f != nil {
		inherited.ready = nil
		_, err := f.Write([]byte{1})
		errs = append(errs, err, f.Close())
	}
	return errors.Join(errs...)
}

// Restart starts this program again, from the file that it was started from and
// with the same arguments, passes the listeners on, and waits until the new
// process has called [Ready]. After that this one calls [Server.Shutdown]; both
// accept connections in the meantime. When ctx is done first, or the new process
// ends before it is ready, it is killed and waited for, the listeners stay with
// this process, and the error says why.
//
// The listeners are those that the servers were given with [Server.Serve] or
// [Server.Adopt]: what
// a server listens on by itself cannot be passed on without losing connections.
// Windows cannot pass listeners on: there the error is errors.ErrUnsupported.
func Restart(ctx context.Context, listeners ...net.Listener) (*os.Process, error) {
	if runtime.GOOS == "windows" {
		return nil, fmt.Errorf("restart: listeners cannot be passed on under Windows: %w", errors.ErrUnsupported)
	}
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
	to := legacy{Ready: firstFD, Listeners: []int{}}
	for _, l := range listeners {
		filer, ok := l.(interface{ File() (*os.File, error) })
		if !ok {
			return fmt.Errorf("pass %s on: a %T has no descriptor", l.Addr(), l)
		}
		f, err := filer.File()
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
	cmd.Env = append(os.Environ(), legacyEnv+"="+string(text))
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
