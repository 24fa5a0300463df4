//go:build linux

package main

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	eventBatch = 256
	readSize   = 64 << 10 // bytes taken from a connection at a time
)

// loop is the only event loop, with everything it owns. Only run's goroutine uses it,
// except for stop.
type loop struct {
	epoll    int
	listener int
	timer    int // timerfd, once a second, for the date
	waker    int // eventfd, readable when the loop is to end

	conns     []*conn // by descriptor
	accepting bool    // the listener is in the epoll set
	answers   *answers
	in        []byte
	queues    map[time.Duration]*queue // of subscribers, by interval
	texts     map[int]*frame           // of their events, by size
	topics    map[string][]*listener   // of /events
	events    [eventBatch]unix.EpollEvent
}

func newLoop(ln net.Listener) (_ *loop, err error) {
	l := &loop{epoll: -1, listener: -1, timer: -1, waker: -1}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	l.answers = newAnswers(time.Now())
	l.in = make([]byte, readSize)
	if l.listener, err = duplicate(ln); err != nil {
		return nil, err
	}
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if l.waker, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	if l.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	second := unix.Timespec{Sec: 1}
	if err := unix.TimerfdSettime(l.timer, 0, &unix.ItimerSpec{Interval: second, Value: second}, nil); err != nil {
		return nil, os.NewSyscallError("timerfd_settime", err)
	}
	for _, fd := range []int{l.waker, l.timer} {
		if err := l.watch(unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN); err != nil {
			return nil, err
		}
	}
	return l, l.listen()
}

// listen begins to accept connections, if the loop does not.
func (l *loop) listen() error {
	if l.accepting {
		return nil
	}
	l.accepting = true
	return l.watch(unix.EPOLL_CTL_ADD, l.listener, unix.EPOLLIN)
}

// stop makes run return. It may be called from any goroutine.
func (l *loop) stop() error {
	_, err := unix.Write(l.waker, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	return os.NewSyscallError("write eventfd", err)
}

// close closes all connections and descriptors, after run.
func (l *loop) close() error {
	for fd, c := range l.conns {
		if c != nil {
			unix.Close(fd)
		}
	}
	var first error
	for _, fd := range []int{l.listener, l.timer, l.waker, l.epoll} {
		if fd < 0 {
			continue
		}
		if err := unix.Close(fd); err != nil && first == nil {
			first = os.NewSyscallError("close", err)
		}
	}
	return first
}

// run serves until stop is called. It occupies a thread, and a P, which it never releases
// while it waits: everything else in the process needs another one, also on a single CPU.
func (l *loop) run() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	addProcs(1)
	defer addProcs(-1)
	for {
		pause, err := l.publishDue()
		if err != nil {
			return err
		}
		n, err := l.wait(pause)
		if err != nil {
			return err
		}
		for i := range l.events[:n] {
			event := &l.events[i]
			switch fd := int(event.Fd); fd {
			case l.listener:
				err = l.accept()
			case l.timer:
				err = l.tick()
			case l.waker:
				return nil
			default:
				err = l.serve(fd, event.Events)
			}
			if err != nil {
				return err
			}
		}
	}
}

// procs serialises changes of GOMAXPROCS.
var procs sync.Mutex

// addProcs changes GOMAXPROCS by n.
func addProcs(n int) {
	procs.Lock()
	defer procs.Unlock()
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + n)
}

// wait returns the number of events; there are none if pause, in milliseconds, was not
// negative and has passed, or if a signal arrived. It blocks in epoll_wait, as a server in
// C does, without the Go scheduler knowing: with the scheduler, each wait releases the P
// and takes it back with the help of the runtime's monitor, which costs several times the
// kernel's part.
//
// If the runtime needs this goroutine meanwhile, for example to stop it for a collection,
// it repeatedly sends a signal: that ends the wait, and Gosched lets the runtime have the
// goroutine. Otherwise a collection would never finish.
func (l *loop) wait(pause int) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.epoll),
		uintptr(unsafe.Pointer(&l.events[0])), eventBatch, uintptr(pause), 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case unix.EINTR:
		runtime.Gosched()
		return 0, nil
	}
	return 0, os.NewSyscallError("epoll_wait", errno)
}

func (l *loop) watch(operation, fd int, events uint32) error {
	err := unix.EpollCtl(l.epoll, operation, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)})
	if err != nil {
		return fmt.Errorf("watch descriptor %d: %w", fd, os.NewSyscallError("epoll_ctl", err))
	}
	return nil
}

// tick is called once a second.
func (l *loop) tick() error {
	var count [8]byte
	if _, err := unix.Read(l.timer, count[:]); err != nil && err != unix.EAGAIN {
		return os.NewSyscallError("read timerfd", err)
	}
	l.answers.refresh(time.Now())
	return l.listen()
}
