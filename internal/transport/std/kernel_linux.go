package std

import (
	"net"
	"os"
	"syscall"
	"time"

	"github.com/redline-go/redline/internal/sys"
)

// sendFile sends from a file, within the kernel if possible. It does not move the file's
// offset, which others may use.
func sendFile(nc net.Conn, f *os.File, off int64, n int) (sent int, err error) {
	if !plain(nc) {
		return copyFile(nc, f, off, n)
	}
	from, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	to, err := nc.(syscall.Conn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var errno syscall.Errno
	var broken error
	err = to.Write(func(fd uintptr) (done bool) {
		broken = from.Control(func(file uintptr) {
			for errno = syscall.EINTR; errno == syscall.EINTR; {
				sent, errno = sys.SendFile(int(fd), int(file), off, n)
			}
		})
		return broken != nil || errno != syscall.EAGAIN
	})
	switch {
	case err != nil:
		return 0, err
	case broken != nil:
		return 0, broken
	case errno == syscall.EINVAL || errno == syscall.ENOSYS:
		return copyFile(nc, f, off, n)
	case errno != 0:
		return 0, os.NewSyscallError("sendfile", errno)
	}
	return sent, nil
}

// unacked is the number of bytes that the kernel has accepted and the peer's system has not
// acknowledged, 0 if that cannot be known.
func unacked(nc net.Conn) (n int) {
	control(nc, func(fd int) { n = sys.Untaken(fd) })
	return n
}

// setAckTimeout bounds the time for which the peer's system acknowledges nothing.
func setAckTimeout(nc net.Conn, d time.Duration) {
	control(nc, func(fd int) { sys.SetAckTimeout(fd, d) })
}

// temper is called before n bytes are sent: it bounds what the kernel accepts for a peer that takes
// only small segments.
func temper(nc net.Conn, n int) {
	if n >= sys.TemperFrom {
		control(nc, sys.Temper)
	}
}

// control calls f with the descriptor of a connection, if it has one and is not closed.
func control(nc net.Conn, f func(fd int)) {
	if nc = below(nc); !plain(nc) {
		return
	}
	if rc, err := nc.(syscall.Conn).SyscallConn(); err == nil {
		_ = rc.Control(func(fd uintptr) { f(int(fd)) }) // an error: it is closed
	}
}
