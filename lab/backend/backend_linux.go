package backend

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	eventBatch   = 128
	questionMost = 4 << 10 // bytes

	// Longest is the longest time that a question may name.
	Longest = time.Second
)

// ErrQuestion is the error of a connection that carries something else than questions.
var ErrQuestion = errors.New("not a question to the waiting backend")

// An answer is owed to a connection from the time due on.
type answer struct {
	due  int64
	fd   int
	text []byte
}

// A reading takes a question apart: how long to wait, and what to answer then, which is
// not a part of the question's memory. The error wraps ErrQuestion.
type reading func(question []byte) (wait time.Duration, text []byte, err error)

// loop is the process's one event loop, on a thread of its own.
type loop struct {
	epoll, listener, waker int

	read     reading
	question [questionMost]byte
	conns    map[int]bool
	owed     []answer // by the time when they are due, the last first
	events   [eventBatch]unix.EpollEvent
}

// Serve answers questions of eight bytes on a unix socket at path until ctx is done. It
// removes the socket when it ends.
func Serve(ctx context.Context, path string) error { return serve(ctx, path, readWord) }

// ServeHTTP answers requests of HTTP/1.1 as Serve does its questions.
func ServeHTTP(ctx context.Context, path string) error { return serve(ctx, path, readRequest) }

func serve(ctx context.Context, path string, read reading) (err error) {
	l := &loop{epoll: -1, listener: -1, waker: -1, read: read, conns: map[int]bool{}}
	defer func() { err = errors.Join(err, l.close(path)) }()
	if err := l.open(path); err != nil {
		return fmt.Errorf("open waiting backend at %s: %w", path, err)
	}
	// The loop keeps its P while it waits in the kernel: the rest needs another.
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(before + 1)
	defer runtime.GOMAXPROCS(before)
	ended := make(chan error, 1)
	go func() { ended <- l.run() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	if _, err := unix.Write(l.waker, []byte{1, 0, 0, 0, 0, 0, 0, 0}); err != nil {
		return os.NewSyscallError("write eventfd", err)
	}
	return <-ended
}

// open makes the descriptors.
func (l *loop) open(path string) (err error) {
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if l.waker, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return os.NewSyscallError("eventfd", err)
	}
	if l.listener, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0); err != nil {
		return os.NewSyscallError("socket", err)
	}
	if err := unix.Bind(l.listener, &unix.SockaddrUnix{Name: path}); err != nil {
		return os.NewSyscallError("bind", err)
	}
	// A server that has given up the rights it was started with connects as well.
	if err := os.Chmod(path, 0o666); err != nil {
		return err
	}
	if err := unix.Listen(l.listener, unix.SOMAXCONN); err != nil {
		return os.NewSyscallError("listen", err)
	}
	return errors.Join(l.watch(l.waker), l.watch(l.listener))
}

func (l *loop) watch(fd int) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &event))
}

// close frees all descriptors, after run.
func (l *loop) close(path string) error {
	var errs []error
	bound := false
	if l.listener >= 0 {
		name, err := unix.Getsockname(l.listener)
		at, unixName := name.(*unix.SockaddrUnix)
		bound = err == nil && unixName && at.Name == path
	}
	for fd := range l.conns {
		errs = append(errs, os.NewSyscallError("close", unix.Close(fd)))
	}
	for _, fd := range []int{l.epoll, l.listener, l.waker} {
		if fd >= 0 {
			errs = append(errs, os.NewSyscallError("close", unix.Close(fd)))
		}
	}
	if bound {
		errs = append(errs, os.Remove(path))
	}
	return errors.Join(errs...)
}

// run answers until the waker is written to.
func (l *loop) run() error {
	runtime.LockOSThread()
	// By default the kernel ends a wait up to 50 us late. The thread is not given back:
	// its slack is not the others'.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	for {
		l.answerDue()
		n, err := l.wait()
		if err != nil {
			return err
		}
		for i := range l.events[:n] {
			switch fd := int(l.events[i].Fd); fd {
			case l.waker:
				return nil
			case l.listener:
				err = l.accept()
			default:
				err = l.take(fd)
			}
			if err != nil {
				return err
			}
		}
	}
}

// now is nanoseconds on the monotonic clock.
func now() int64 {
	var ts unix.Timespec
	// It fails for clocks that do not exist, and this one does.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}

// wait blocks until there is something to read or the next answer is due. It goes past
// the Go scheduler, whose way around a blocking call costs microseconds; a signal of the
// runtime ends it.
func (l *loop) wait() (int, error) {
	limit := unix.NsecToTimespec(math.MaxInt64)
	if n := len(l.owed); n > 0 {
		limit = unix.NsecToTimespec(max(0, l.owed[n-1].due-now()))
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(l.epoll), uintptr(unsafe.Pointer(&l.events[0])),
		eventBatch, uintptr(unsafe.Pointer(&limit)), 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case unix.EINTR:
		runtime.Gosched()
		return 0, nil
	}
	return 0, os.NewSyscallError("epoll_pwait2", errno)
}

// accept takes all connections that wait.
func (l *loop) accept() error {
	for {
		fd, _, err := unix.Accept4(l.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch err {
		case nil:
			l.conns[fd] = true
			if err := l.watch(fd); err != nil {
				return err
			}
		case unix.EAGAIN:
			return nil
		case unix.EINTR, unix.ECONNABORTED:
		default:
			return os.NewSyscallError("accept4", err)
		}
	}
}

// take takes a question. What is written at once arrives at once on a unix socket.
func (l *loop) take(fd int) error {
	n, err := unix.Read(fd, l.question[:])
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return nil
	case err != nil || n == 0: // the client has left
		return l.drop(fd)
	}
	wait, text, err := l.read(l.question[:n])
	if err != nil {
		return err
	}
	a := answer{due: now() + int64(wait), fd: fd, text: text}
	// Nearly all are due after those that are owed, which stand at the front.
	at, _ := slices.BinarySearchFunc(l.owed, a, func(x, y answer) int {
		if x.due > y.due {
			return -1
		}
		return 1
	})
	l.owed = slices.Insert(l.owed, at, a)
	return nil
}

// answerDue sends what is due. An answer fits into a socket whose client waits for it.
func (l *loop) answerDue() {
	if len(l.owed) == 0 {
		return
	}
	at := now()
	for n := len(l.owed); n > 0 && l.owed[n-1].due <= at; n-- {
		a := &l.owed[n-1]
		_, _ = unix.Write(a.fd, a.text) // a client that has left is seen by the next read
		l.owed = l.owed[:n-1]
	}
}

// drop closes a connection and forgets what it is owed: its number may be another's
// next.
func (l *loop) drop(fd int) error {
	delete(l.conns, fd)
	l.owed = slices.DeleteFunc(l.owed, func(a answer) bool { return a.fd == fd })
	return os.NewSyscallError("close", unix.Close(fd))
}
