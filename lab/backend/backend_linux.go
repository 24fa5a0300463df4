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

	// Longest is the longest delay that a question may hold.
	Longest = time.Second
)

// ErrQuestion is the error for input that is not a question.
var ErrQuestion = errors.New("not a question to the waiting backend")

// An answer is pending until it is sent.
type answer struct {
	due  int64 // when to send it; nanoseconds on the monotonic clock
	fd   int   // of its connection
	text []byte
}

// A reading parses a question. It returns how long to wait and what to answer then; the
// answer does not alias the question. The error wraps ErrQuestion.
type reading func(question []byte) (wait time.Duration, text []byte, err error)

// loop is the process's only event loop. It has its own thread.
type loop struct {
	epoll, listener, waker int

	read     reading
	question [questionMost]byte
	conns    map[int]bool
	pending  []answer // sorted by due, the latest first
	events   [eventBatch]unix.EpollEvent
}

// Serve answers questions of eight bytes on a unix socket at path until ctx is done. It
// removes the socket when it ends.
func Serve(ctx context.Context, path string) error { return serve(ctx, path, readWord) }

// ServeHTTP is like [Serve], for questions in HTTP/1.1.
func ServeHTTP(ctx context.Context, path string) error { return serve(ctx, path, readRequest) }

func serve(ctx context.Context, path string, read reading) (err error) {
	l := &loop{epoll: -1, listener: -1, waker: -1, read: read, conns: map[int]bool{}}
	defer func() { err = errors.Join(err, l.close(path)) }()
	if err := l.open(path); err != nil {
		return fmt.Errorf("open waiting backend at %s: %w", path, err)
	}
	// The loop keeps its P while it waits in the kernel: other goroutines need one more.
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

// open creates the descriptors.
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
	// Servers that have dropped their privileges connect as well.
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

// close closes all descriptors. It is called after run has returned.
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
	// By default the kernel ends a wait up to 50 us late. The thread stays locked: no
	// other goroutine runs with its slack.
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

// now returns the time of the monotonic clock in nanoseconds.
func now() int64 {
	var ts unix.Timespec
	// It fails only for clocks that do not exist.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}

// wait blocks until there is something to read or the next answer is due. It bypasses
// the Go scheduler, whose handling of a blocking call costs microseconds. A signal from
// the runtime interrupts it.
func (l *loop) wait() (int, error) {
	limit := unix.NsecToTimespec(math.MaxInt64)
	if n := len(l.pending); n > 0 {
		limit = unix.NsecToTimespec(max(0, l.pending[n-1].due-now()))
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

// accept accepts all connections that are queued.
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

// take reads a question. On a unix socket, the bytes of one write arrive together.
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
	// Nearly every answer is due after all pending ones, and goes to the front.
	at, _ := slices.BinarySearchFunc(l.pending, a, func(x, y answer) int {
		if x.due > y.due {
			return -1
		}
		return 1
	})
	l.pending = slices.Insert(l.pending, at, a)
	return nil
}

// answerDue sends the answers that are due. A client has at most one pending answer, so
// its socket has room.
func (l *loop) answerDue() {
	if len(l.pending) == 0 {
		return
	}
	at := now()
	for n := len(l.pending); n > 0 && l.pending[n-1].due <= at; n-- {
		a := &l.pending[n-1]
		_, _ = unix.Write(a.fd, a.text) // the next read detects a client that has left
		l.pending = l.pending[:n-1]
	}
}

// drop closes a connection and discards its pending answers: the descriptor's number may
// be reused.
func (l *loop) drop(fd int) error {
	delete(l.conns, fd)
	l.pending = slices.DeleteFunc(l.pending, func(a answer) bool { return a.fd == fd })
	return os.NewSyscallError("close", unix.Close(fd))
}
