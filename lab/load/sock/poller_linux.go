package sock

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

const (
	spinFor  = int64(100 * time.Microsecond) // polling before the thread goes to sleep
	spinMost = int64(5 * time.Microsecond)   // of one poll; what is longer was another thread's time
)

// Poller waits for the events of many descriptors, on one thread. While there is
// traffic it only polls: a thread that sleeps in epoll_wait has to be woken by the
// server's send, which costs the server microseconds that are none of its own.
// After 100 microseconds without an event it sleeps, so that idle connections leave
// the core alone. It belongs to one goroutine.
type Poller struct {
	Events []unix.EpollEvent // of the last Wait; valid until the next
	Spun   int64             // nanoseconds polled without a result, in all

	epfd   int
	room   []unix.EpollEvent
	parked int64 // since when there is nothing to do; 0: there is
	last   int64 // time of the last Wait if that one only polled
}

// NewPoller makes a Poller that takes up to size events at once. The caller closes
// it.
func NewPoller(size int) (*Poller, error) {
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create epoll instance: %w", err)
	}
	return &Poller{epfd: epfd, room: make([]unix.EpollEvent, size)}, nil
}

// Add watches a descriptor: its events, edge-triggered, carry both numbers. A
// descriptor that is closed is not watched any more.
func (p *Poller) Add(fd int, events uint32, index, generation int32) error {
	ev := unix.EpollEvent{Events: events | unix.EPOLLET, Fd: index, Pad: generation}
	if err := unix.EpollCtl(p.epfd, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		return fmt.Errorf("watch socket: %w", err)
	}
	return nil
}

// Wait fills Events with what there is at now, or becomes by the time until, both in
// nanoseconds; it may return sooner with nothing. With hurry it does not wait.
// all says that no descriptor was left out, asleep that the thread slept.
func (p *Poller) Wait(now, until int64, hurry bool) (all, asleep bool, err error) {
	if p.last != 0 {
		p.Spun += min(now-p.last, spinMost)
		p.last = 0
	}
	n, errno := Poll(p.epfd, p.room)
	if errno != 0 && errno != unix.EINTR {
		return false, false, fmt.Errorf("wait for events: %w", errno)
	}
	if errno == unix.EINTR {
		n = 0
	}
	if n > 0 || hurry {
		p.parked = 0
		p.Events = p.room[:n]
		return n < len(p.room), false, nil
	}
	p.Events = nil
	if p.parked == 0 {
		p.parked = now
	}
	wait := (until - now) / int64(time.Millisecond)
	if now-p.parked < spinFor || wait < 1 {
		p.last = now
		return true, false, nil
	}
	n, err = unix.EpollWait(p.epfd, p.room, int(wait))
	if err != nil && !errors.Is(err, unix.EINTR) {
		return false, true, fmt.Errorf("wait for events: %w", err)
	}
	if n > 0 {
		p.parked = 0
		p.Events = p.room[:n]
	}
	return n < len(p.room), true, nil
}

// Close frees the Poller, and none of what it watches.
func (p *Poller) Close() error { return unix.Close(p.epfd) }
