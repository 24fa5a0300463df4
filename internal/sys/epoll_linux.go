package sys

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The events of epoll, see epoll_ctl(2).
const (
	In    = unix.EPOLLIN
	Out   = unix.EPOLLOUT
	RdHup = unix.EPOLLRDHUP
	Hup   = unix.EPOLLHUP
	Err   = unix.EPOLLERR

	// Exclusive wakes only one of several instances that watch the same file.
	Exclusive = unix.EPOLLEXCLUSIVE
)

// An Event is a report of epoll about a file: a set of events, and the descriptor and
// generation with which it was registered.
type Event unix.EpollEvent

// Gen is the generation with which the file was registered.
func (e *Event) Gen() uint32 { return uint32(e.Pad) }

// An Epoll is an epoll instance.
type Epoll int

// NewEpoll creates an instance whose descriptor is non-blocking, so that [os.NewFile] adds
// it to the runtime's poller.
func NewEpoll() (Epoll, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("create epoll instance: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("create epoll instance: %w", err)
	}
	return Epoll(fd), nil
}

// Add registers fd for some events; reports contain gen.
func (p Epoll) Add(fd int, events, gen uint32) syscall.Errno {
	return p.ctl(unix.EPOLL_CTL_ADD, fd, events, gen)
}

// Mod changes the events of fd.
func (p Epoll) Mod(fd int, events, gen uint32) syscall.Errno {
	return p.ctl(unix.EPOLL_CTL_MOD, fd, events, gen)
}

// Del removes fd.
func (p Epoll) Del(fd int) syscall.Errno {
	return p.ctl(unix.EPOLL_CTL_DEL, fd, 0, 0)
}

func (p Epoll) ctl(op, fd int, events, gen uint32) syscall.Errno {
	e := Event{Events: events, Fd: int32(fd), Pad: int32(gen)}
	_, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(p), uintptr(op), uintptr(fd), uintptr(unsafe.Pointer(&e)), 0, 0)
	return errno
}

// Wait fetches events without waiting, and returns their number.
func (p Epoll) Wait(events []Event) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}
