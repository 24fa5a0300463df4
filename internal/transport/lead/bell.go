package lead

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redline-go/redline/internal/clock"
)

// A Bell is where the leader of a loop waits for the kernel: in the runtime's poller, on a
// descriptor that becomes readable when the loop has events (an epoll instance, a ring, an
// eventfd). Other goroutines ring it without a system call, by expiring the read deadline
// of that descriptor.
type Bell struct {
	role *Role
	fd   uintptr
	file *os.File
	raw  syscall.RawConn
	rung atomic.Bool
	late bool // a deadline has expired, perhaps after the one that was reset
	// until is when the crew's alarm has to ring for this loop, on the clock's scale: 0 is
	// never, -1 is unknown.
	until int64
}

// NewBell returns a bell on a non-blocking descriptor that the runtime's poller supports;
// Close closes it.
func NewBell(role *Role, fd int, name string) (*Bell, error) {
	b := &Bell{role: role, fd: uintptr(fd), file: os.NewFile(uintptr(fd), name)}
	role.bell = b
	var err error
	if b.raw, err = b.file.SyscallConn(); err == nil {
		err = b.file.SetReadDeadline(time.Time{}) // fails if the poller does not support the file
	}
	if err != nil {
		b.file.Close()
		return nil, fmt.Errorf("wait on %s: %w", name, err)
	}
	return b, nil
}

// Ring wakes the leader if it waits or is about to wait, and reports whether it does.
func (b *Bell) Ring() bool {
	if !b.role.parked.Load() {
		return false
	}
	if b.rung.CompareAndSwap(false, true) {
		// The file may be closed by now: then nothing waits.
		_ = b.file.SetReadDeadline(clock.Past)
	}
	return true
}

// Wait parks the leader h until poll returns true, until the time until (on the
// clock's scale; 0 is never) or until somebody rings; it may also return early.
// poll is called with the descriptor when it may have turned readable, and before.
// Wait returns the time. idle says whether there is still nothing to do: it is
// asked when ringing works already, and if there is, poll is called once.
//
//	leader                              other goroutine
//	1. take back what has rung          a. put the message
//	2. clear rung                       b. if parked, and rung was clear:
//	3. set parked                       c. let the deadline pass
//	4. look at the inbox (idle)
//	5. wait
//
// A message put before 4 is seen there. One put after 4 finds parked set and, as 2 came
// after 1, its c is not overwritten by this 1; if rung is already set, it was set by a
// goroutine whose c is still to come or came after 1, which also wakes the leader. A c that
// comes late, after 1 and 2, wakes the leader in vain, and is reset by the next 1.
func (b *Bell) Wait(h *Hand, until int64, poll func(fd uintptr) bool, idle func() bool) (int64, error) {
	if b.late || b.rung.Load() {
		if err := b.file.SetReadDeadline(time.Time{}); err != nil {
			return 0, err
		}
		b.rung.Store(false)
		b.late = false
		b.until = -1 // it may have been the alarm
	}
	if until != b.until {
		b.Until(until)
	}
	h.Park()
	var err error
	if idle() {
		err = b.raw.Read(poll)
	} else {
		poll(b.fd)
	}
	now := h.Unpark()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		b.late, err = true, nil
	}
	return now, err
}

// Until ends the wait that is about to begin at a time; poll calls it.
func (b *Bell) Until(until int64) {
	b.until = until
	b.role.due(until)
}

// Close closes the descriptor.
func (b *Bell) Close() error { return b.file.Close() }
