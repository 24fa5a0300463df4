package restart

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
)

// variable is the environment variable that tells a process what was passed on to it.
const variable = "REDLINE_RESTART"

// descriptors are the numbers of what a process passes on.
type descriptors struct {
	Ready     int   `json:"ready"` // a pipe; a byte in it says that the new process is ready
	Listeners []int `json:"listeners"`
}

// firstFD is the number of the first of [exec.Cmd.ExtraFiles].
const firstFD = 3

// inherited is what this process received.
var inherited struct {
	sync.Mutex
	from      descriptors
	taken     bool // from is valid
	err       error
	ready     *os.File
	listeners []net.Listener // not yet requested
}

// This runs as early as possible, so that no process started later inherits any of it.
func init() {
	if text, ok := os.LookupEnv(variable); ok {
		inherited.from, inherited.err = adopt(text)
	} else {
		inherited.taken = true // nothing was passed on
	}
}

// adopt keeps the descriptors from being passed on further.
func adopt(text string) (from descriptors, err error) {
	if err = errors.Join(os.Unsetenv(variable), json.Unmarshal([]byte(text), &from)); err != nil {
		return from, fmt.Errorf("restart: read %s: %w", variable, err)
	}
	for _, fd := range append([]int{from.Ready}, from.Listeners...) {
		if fd < firstFD {
			return from, fmt.Errorf("restart: read %s: %d is not the number of an inherited descriptor", variable, fd)
		}
		closeOnExec(fd)
	}
	return from, nil
}

// take makes files and listeners of the descriptors, once. inherited is locked.
func take() error {
	if inherited.err != nil || inherited.taken {
		return inherited.err
	}
	inherited.taken = true
	inherited.ready = os.NewFile(uintptr(inherited.from.Ready), "ready")
	for _, fd := range inherited.from.Listeners {
		f := os.NewFile(uintptr(fd), "listener")
		l, err := net.FileListener(f)
		if err = errors.Join(err, f.Close()); err != nil {
			inherited.err = fmt.Errorf("restart: take descriptor %d over: %w", fd, err)
			return inherited.err
		}
		if u, ok := l.(*net.UnixListener); ok {
			u.SetUnlinkOnClose(true) // as for a listener that this process had opened
		}
		inherited.listeners = append(inherited.listeners, l)
	}
	return nil
}

// Listen returns the listener for an address that the parent process has passed on with
// [Process]; if there is none, it listens as net.Listen does. The network is "tcp", "tcp4",
// "tcp6" or "unix". Connections that wait in an inherited listener are neither refused nor
// lost.
//
// A listener fits if net.Listen with the same arguments would have listened there; port 0
// fits any port. Each listener is returned once, and then belongs to the caller. The error
// is that of net.Listen, or says which of the inherited descriptors could not be read.
func Listen(network, addr string) (net.Listener, error) {
	inherited.Lock()
	defer inherited.Unlock()
	if err := take(); err != nil {
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

// listensOn reports whether net.Listen(network, addr) would have returned such a listener.
// Port 0 matches any.
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

// Ready tells the process that started this one with [Process] that this one serves, so
// that the other may exit. Call it when nothing can fail any more: if something fails
// later, no process serves. Inherited listeners that have not been requested are closed. It
// has no effect if no process waits for it, or if it was called before. The error says
// which of the inherited descriptors could not be read, or that the other process has
// already ended.
func Ready() error {
	inherited.Lock()
	defer inherited.Unlock()
	if err := take(); err != nil {
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
