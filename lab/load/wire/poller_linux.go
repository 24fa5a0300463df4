package wire

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Poller waits for events of many descriptors, on one thread. It polls before it sleeps,
// see Rest. It belongs to one goroutine.
type Poller struct {
	Rest
	Events []unix.EpollEvent // of the last Wait; valid until the next

	epfd int
	room []unix.EpollEvent
}

// NewPoller creates a Poller that returns up to size events at once. The caller must close
// it.
func NewPoller(size int) (*Poller, error) {
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create epoll instance: %w", err)
	}
	return &Poller{epfd: epfd, room: make([]unix.EpollEvent, size)}, nil
}

// Add watches a descriptor, edge-triggered; its events carry both numbers. A closed
// descriptor is no longer watched.
func (p *Poller) Add(fd int, events uint32, index, generation int32) error {
	ev := unix.EpollEvent{Events: events | unix.EPOLLET, Fd: index, Pad: generation}
	if err := unix.EpollCtl(p.epfd, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		return fmt.Errorf("watch socket: %w", err)
	}
	return nil
}

// Wait fills Events with those available at now, or becoming available by until, both in
// nanoseconds; it may return earlier without events. With hurry it does not wait. all
// reports that Events includes every ready descriptor, asleep that the thread slept.
func (p *Poller) Wait(now, until int64, hurry bool) (all, asleep bool, err error) {
	p.Poll(now)
	n, errno := Poll(p.epfd, p.room)
	if errno != 0 && errno != unix.EINTR {
		return false, false, fmt.Errorf("wait for events: %w", errno)
	}
	if errno == unix.EINTR {
		n = 0
	}
	if n > 0 || hurry {
		p.Busy()
		p.Events = p.room[:n]
		return n < len(p.room), false, nil
	}
	p.Events = nil
	wait := (until - now) / int64(time.Millisecond)
	if !p.Idle(now, wait >= 1) {
		return true, false, nil
	}
	n, err = unix.EpollWait(p.epfd, p.room, int(wait))
	if err != nil && !errors.Is(err, unix.EINTR) {
		return false, true, fmt.Errorf("wait for events: %w", err)
	}
	if n > 0 {
		p.Busy()
		p.Events = p.room[:n]
	}
	return n < len(p.room), true, nil
}

// Close closes the Poller, but not the descriptors that it watches.
func (p *Poller) Close() error { return unix.Close(p.epfd) }
