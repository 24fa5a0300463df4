package restart

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
)

// variable is the environment variable by which a process is told what was passed on
// to it.
const variable = "REDLINE_RESTART"

// descriptors are what a process passes on, by number.
type descriptors struct {
	Ready     int   `json:"ready"` // a pipe; a byte in it says that the new process is ready
	Listeners []int `json:"listeners"`
}

// firstFD is the number of the first of [exec.Cmd.ExtraFiles].
const firstFD = 3

// inherited is what has come to this process.
var inherited struct {
	sync.Mutex
	from      descriptors
	taken     bool // from is what follows
	err       error
	ready     *os.File
	listeners []net.Listener // that nobody has asked for yet
}

// As early as that, lest a process be started that gets any of it.
func init() {
	if text, ok := os.LookupEnv(variable); ok {
		inherited.from, inherited.err = adopt(text)
	} else {
		inherited.taken = true // there is nothing
	}
}

// adopt has what was passed on go no further.
func adopt(text string) (from descriptors, err error) {
	if err = errors.Join(os.Unsetenv(variable), json.Unmarshal([]byte(text), &from)); err != nil {
		return from, fmt.Errorf("restart: read %s: %w", variable, err)
	}
	for _, fd := range append([]int{from.Ready}, from.Listeners...) {
		if fd < firstFD {
			return from, fmt.Errorf("restart: read %s: %d is no descriptor that can be passed on", variable, fd)
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
			u.SetUnlinkOnClose(true) // as a listener that this process had opened
		}
		inherited.listeners = append(inherited.listeners, l)
	}
	return nil
}

// Listen returns the listener for an address that the process that started this one
// has passed on with [Process]; if there is none, it listens as net.Listen does. The
// network is "tcp", "tcp4", "tcp6" or "unix". Connections that wait in a listener
// that was passed on are neither refused nor lost.
//
// A listener fits if net.Listen, called with the same words, would have listened
// there; port 0 fits any port. It is returned once, and is the caller's. The error is
// that of net.Listen, or says what of what was passed on could not be read.
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

// Ready tells the process that has started this one with [Process] that this one
// serves, so that it may go: call it when nothing can fail any more, as nobody serves
// if something does later. Listeners that were passed on and that nobody has asked
// for are closed. It does nothing when no process waits for it, or the second time.
// The error says what of what was passed on could not be read, or that the other
// process has gone already.
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
