package sys

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// A ListenConfig sets how Listen opens a socket.
type ListenConfig struct {
	ReusePort   bool // SO_REUSEPORT: other sockets may listen on the same address
	FastOpen    int  // TCP_FASTOPEN queue length; 0 is off
	DeferAccept bool // TCP_DEFER_ACCEPT: accept when the first bytes have arrived
	Backlog     int  // 0 is the system's limit
}

// deferSeconds is how long the kernel waits for the first bytes before it returns the
// connection without them.
const deferSeconds = 5

// Listen opens a non-blocking listening socket and returns its descriptor, which the caller
// closes, and its address. The caller has to remove the file of a Unix socket.
func Listen(network, address string, c ListenConfig) (int, net.Addr, error) {
	lc := net.ListenConfig{KeepAlive: -1, Control: func(network, _ string, rc syscall.RawConn) error {
		var err error
		if e := rc.Control(func(fd uintptr) { err = c.options(network, int(fd)) }); e != nil {
			return e
		}
		return err
	}}
	lc.SetMultipathTCP(false)
	l, err := lc.Listen(context.Background(), network, address)
	if err != nil {
		return -1, nil, err
	}
	defer l.Close()
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	fd, err := Dup(l)
	if err != nil {
		return -1, nil, err
	}
	if c.Backlog > 0 {
		if err := unix.Listen(fd, c.Backlog); err != nil {
			Close(fd)
			return -1, nil, fmt.Errorf("set backlog: %w", os.NewSyscallError("listen", err))
		}
	}
	return fd, l.Addr(), nil
}

func (c ListenConfig) options(network string, fd int) error {
	if network == "unix" {
		return nil
	}
	set := func(what string, level, option, value int) error {
		if errno := setInt(fd, level, option, int32(value)); errno != 0 {
			return fmt.Errorf("set %s: %w", what, os.NewSyscallError("setsockopt", errno))
		}
		return nil
	}
	var errs []error
	if c.ReusePort {
		errs = append(errs, set("SO_REUSEPORT", unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
	}
	if c.FastOpen > 0 {
		errs = append(errs, set("TCP_FASTOPEN", unix.IPPROTO_TCP, unix.TCP_FASTOPEN, c.FastOpen))
	}
	if c.DeferAccept {
		errs = append(errs, set("TCP_DEFER_ACCEPT", unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, deferSeconds))
	}
	// Accepted sockets inherit it, which saves a call per socket.
	errs = append(errs, set("TCP_NODELAY", unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
	KeepAlive(fd)
	return errors.Join(errs...)
}

// KeepAlive lets a TCP socket, and those that a listening one accepts, detect within about
// two and a half minutes that the peer has vanished: like package net, after 15 s of
// silence, 9 times. Errors do not matter: this is optional, and other sockets do not have
// it.
func KeepAlive(fd int) {
	_ = setInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
	_ = setInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 15)
	_ = setInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 15)
	_ = setInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 9)
}

// Dup returns a duplicate of the descriptor of a listener or connection of
// package net, which the caller closes. It is non-blocking and closed on exec.
func Dup(v any) (int, error) {
	sc, ok := v.(syscall.Conn)
	if !ok {
		return -1, fmt.Errorf("duplicate %T: it has no descriptor", v)
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("duplicate %T: %w", v, err)
	}
	dup := -1
	if e := rc.Control(func(fd uintptr) { dup, err = DupFD(int(fd)) }); e != nil {
		err = e
	}
	if err != nil {
		return -1, fmt.Errorf("duplicate %T: %w", v, err)
	}
	return dup, nil
}

// DupFD duplicates a descriptor. The duplicate is closed on exec; both are
// non-blocking.
func DupFD(fd int) (int, error) {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("fcntl", err)
	}
	if err := unix.SetNonblock(dup, true); err != nil {
		Close(dup)
		return -1, os.NewSyscallError("fcntl", err)
	}
	return dup, nil
}

// Unblock makes a descriptor non-blocking. Others that share its file may have made it
// blocking: [os.File.Fd] does, and so does os/exec with the files that it passes on. Errors
// do not matter: it was non-blocking before.
func Unblock(fd int) { _ = unix.SetNonblock(fd, true) }

// Conn makes a connection of package net from a connected socket, with a separate
// descriptor: fd stays with the caller, unchanged, with any result.
func Conn(fd int) (net.Conn, error) {
	dup, err := DupFD(fd)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(dup), "socket")
	defer f.Close()
	// FileConn takes one more duplicate, of a file that it makes blocking. All duplicates
	// share that file.
	nc, err := net.FileConn(f)
	Unblock(fd)
	return nc, err
}

// MaxFiles is the maximum number of descriptors of the process, 0 if unknown.
func MaxFiles() int {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return 0
	}
	return int(min(r.Cur, math.MaxInt32))
}
