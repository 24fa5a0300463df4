package ring

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/sock"
)

const (
	entries        = 512                          // of SQ
	minCompletions = 4096                         // of CQ
	leastSleep     = int64(50 * time.Microsecond) // shorter waits are polled
	sendFlags      = unix.MSG_NOSIGNAL | unix.MSG_DONTWAIT | unix.MSG_WAITALL
	perPlace       = 3 // maximum number of requests of one place at a time
)

// Types of completions, stored in the highest byte of the user data. Below are a place, 24
// bits, and its generation, 32 bits; for a send its number in the batch.
const (
	ofNothing = iota // processed already
	ofSend
	ofRecv
	ofRoom
	ofCancel
)

// MaxPlaces is how many places a Ring can have.
const MaxPlaces = 1 << 24

// place is the state of one socket.
type place struct {
	fd         int32 // -1: none
	generation uint32
	out        []byte // data to send; belongs to the caller
	receive    bool   // a recv is requested
	await      bool   // a poll for room is requested
	receiving  bool   // a recv is in flight
	awaiting   bool   // a poll for room is in flight
	listed     bool   // is in Ring.wanted
}

// Sent is the result of a send.
type Sent struct {
	Place int
	N     int        // bytes accepted by the socket
	Errno unix.Errno // why it accepted none: EAGAIN if it is full
}

// Event is an event of a place.
type Event struct {
	Place int
	Room  bool       // the socket is writable, or its connect is complete; otherwise the event is about reading:
	Data  []byte     // received bytes, valid until the next call of Next, Wait or Close; empty: end of stream
	Errno unix.Errno // of reading: the connection is broken
}

// Ring is an io_uring with sockets. It belongs to the goroutine that created it.
type Ring struct {
	sock.Rest
	q      queue
	mem    memory
	places []place
	wanted []int32 // places with requested operations
	cancel []uint64
	sent   []Sent
	sends  int // in wanted
	held   int // buffer of the last event; -1: none
}

// New creates a ring with the given number of places, and locks the calling goroutine to
// its thread until Close. If io_uring is not available the error wraps the errno, and says
// why that may be.
func New(places int) (r *Ring, err error) {
	if places < 1 || places > MaxPlaces {
		return nil, fmt.Errorf("io_uring: %d connections, 1 to %d are possible", places, MaxPlaces)
	}
	r = &Ring{places: make([]place, places), sent: make([]Sent, 0, Batch), held: -1}
	for i := range r.places {
		r.places[i].fd = -1
	}
	runtime.LockOSThread()
	if err := r.q.open(entries, min(max(minCompletions, ceil(2*places)), 1<<16)); err != nil {
		runtime.UnlockOSThread()
		return nil, unavailable(err)
	}
	if err := r.mem.open(&r.q, min(max(int(ceil(2*places)), minBuffers), maxBuffers)); err != nil {
		r.Close()
		return nil, unavailable(err)
	}
	return r, nil
}

// ceil returns the smallest power of two that is at least n.
func ceil(n int) uint32 { return 1 << bits.Len32(uint32(n-1)) }

// unavailable returns an error that says why there is no io_uring.
func unavailable(err error) error {
	why := ""
	switch errno, _ := errors.AsType[unix.Errno](err); errno {
	case unix.EPERM:
		why = "; it is forbidden by the sysctl kernel.io_uring_disabled or by the seccomp profile of a container"
	case unix.ENOSYS:
		why = "; this kernel, or the sandbox that replaces it, does not support it"
	case unix.EINVAL:
		why = "; the kernel is too old for it: Linux 6.1 is needed"
	case unix.ENOMEM:
		why = "; there is not enough memory that may be locked, see ulimit -l"
	default:
		return fmt.Errorf("create io_uring: %w", err)
	}
	return fmt.Errorf("create io_uring: %w (errno %d)%s", err, err, why)
}

// Open puts a socket into an empty place. The Ring closes it.
func (r *Ring) Open(i, fd int) {
	p := &r.places[i]
	*p = place{fd: int32(fd), generation: p.generation + 1, listed: p.listed}
}

func (r *Ring) want(i int) *place {
	p := &r.places[i]
	if !p.listed {
		p.listed = true
		r.wanted = append(r.wanted, int32(i))
	}
	return p
}

// Receive requests all data that the socket of a place receives. Call it once.
func (r *Ring) Receive(i int) { r.want(i).receive = true }

// AwaitRoom requests one event when the socket is writable, or its connect is complete.
func (r *Ring) AwaitRoom(i int) {
	if p := r.want(i); !p.awaiting {
		p.await = true
	}
}

// Send requests that b be sent. b must not change until Sent reports the send or
// CloseSocket was called. A place has one send at a time: another one replaces it. Send
// returns false if b is longer than SlotSize, or empty.
func (r *Ring) Send(i int, b []byte) bool {
	if len(b) == 0 || len(b) > SlotSize {
		return false
	}
	p := r.want(i)
	if p.out == nil {
		r.sends++
	}
	p.out = b
	return true
}

// Waiting returns how many sends wait for an enter.
func (r *Ring) Waiting() int { return r.sends }

// CloseSocket closes the socket of a place, and drops its requested operations. The
// connection ends with the next Wait or Submit.
func (r *Ring) CloseSocket(i int) {
	p := &r.places[i]
	if p.out != nil {
		r.sends--
	}
	if p.receiving {
		r.cancel = append(r.cancel, p.data(ofRecv, i))
	}
	if p.awaiting {
		r.cancel = append(r.cancel, p.data(ofRoom, i))
	}
	// close(2) on a socket always frees the descriptor.
	_ = unix.Close(int(p.fd))
	*p = place{fd: -1, generation: p.generation, listed: p.listed}
}

func (p *place) data(of uint64, i int) uint64 { return of<<56 | uint64(i)<<32 | uint64(p.generation) }

// Submit submits the requested operations, but fetches no events. It does nothing if there
// is no room for completions: Wait makes room, after the events were read.
func (r *Ring) Submit() error { return r.submit(0) }

func (r *Ring) submit(flags uintptr) error {
	r.sent = r.sent[:0]
	for (len(r.wanted) > 0 || len(r.cancel) > 0) && !r.q.overflown() && r.q.room() > entries && len(r.sent) == 0 {
		r.fill()
		if err := r.q.submit(flags); err != nil {
			return err
		}
		r.q.fresh(func(e *cqe) {
			if e.data>>56 != ofSend {
				return
			}
			s := &r.sent[uint32(e.data)]
			if s.N = max(int(e.res), 0); e.res < 0 {
				s.Errno = unix.Errno(-e.res)
			}
			e.data = ofNothing
		})
	}
	return nil
}

// fill fills in as many requests as there is room for.
func (r *Ring) fill() {
	for len(r.cancel) > 0 && r.q.free() > 0 {
		e := r.q.next()
		e.op, e.flags, e.fd, e.addr, e.data = opCancel, skipSuccess, -1, r.cancel[len(r.cancel)-1], ofCancel<<56
		r.cancel = r.cancel[:len(r.cancel)-1]
	}
	n := 0
	for _, i := range r.wanted {
		p := &r.places[i]
		if r.q.free() < perPlace || p.out != nil && len(r.sent) == Batch {
			break
		}
		n++
		p.listed = false
		r.write(p, int(i))
	}
	r.wanted = r.wanted[:copy(r.wanted, r.wanted[n:])]
}

// write fills in the requests of one place.
func (r *Ring) write(p *place, i int) {
	if p.out != nil {
		k := len(r.sent)
		e, n := r.q.next(), copy(r.mem.slot(k), p.out)
		e.op, e.flags, e.fd, e.addr, e.len, e.data = opSend, skipSuccess, p.fd, address(r.mem.slot(k)), uint32(n), ofSend<<56|uint64(k)
		e.setArg(sendFlags)
		r.sent = append(r.sent, Sent{Place: i, N: n})
		r.sends--
		p.out = nil
	}
	if p.receive {
		e := r.q.next()
		e.op, e.flags, e.ioprio, e.fd, e.data = opRecv, selectBuffer, recvMultishot, p.fd, p.data(ofRecv, i)
		p.receive, p.receiving = false, true
	}
	if p.await {
		e := r.q.next()
		e.op, e.fd, e.data = opPollAdd, p.fd, p.data(ofRoom, i)
		e.arg[0] = unix.POLLOUT
		p.await, p.awaiting = false, true
	}
}

// Wait submits the requested operations, and fetches the events that are available at now,
// or become available by until, both in nanoseconds; it may return earlier without events.
func (r *Ring) Wait(now, until int64) error {
	r.Poll(now)
	r.sent = r.sent[:0]
	r.release()
	switch {
	case len(r.wanted) > 0 || len(r.cancel) > 0 || r.q.flagged():
		r.Busy()
		return r.enter()
	case r.q.ready():
		r.Busy()
		return nil
	case !r.Idle(now, until-now >= leastSleep):
		return nil
	}
	err := r.q.sleep(until - now)
	if r.q.ready() {
		r.Busy()
	}
	return err
}

// enter is submit that fetches events as well. Completions that did not fit come first.
func (r *Ring) enter() error {
	if r.q.overflown() || len(r.wanted) == 0 && len(r.cancel) == 0 {
		return r.q.submit(enterGetEvents)
	}
	return r.submit(enterGetEvents)
}

// Sent returns the results of the sends of the last Wait or Submit. It is valid until the
// next call of either.
func (r *Ring) Sent() []Sent { return r.sent }

// Next returns the next event.
func (r *Ring) Next() (ev Event, ok bool) {
	r.release()
	for {
		e, ok := r.q.pop()
		if !ok {
			return Event{}, false
		}
		i, of := int(e.data>>32&(MaxPlaces-1)), e.data>>56
		switch of {
		case ofRecv:
			if ev, ok := r.received(i, e); ok {
				return ev, true
			}
		case ofRoom:
			p := &r.places[i]
			if p.fd < 0 || p.generation != uint32(e.data) {
				continue
			}
			p.awaiting = false
			ev := Event{Place: i, Room: true}
			if e.res < 0 {
				ev.Errno = unix.Errno(-e.res)
			}
			return ev, true
		}
	}
}

// received returns the event of a completed recv, if there is one.
func (r *Ring) received(i int, e cqe) (ev Event, ok bool) {
	p := &r.places[i]
	if e.flags&hasBuffer != 0 {
		r.held = int(e.flags >> 16)
	}
	if p.fd < 0 || p.generation != uint32(e.data) {
		r.release()
		return ev, false
	}
	p.receiving = e.flags&more != 0
	errno := unix.Errno(max(-e.res, 0))
	switch {
	case e.res > 0:
		if !p.receiving {
			r.Receive(i)
		}
		return Event{Place: i, Data: r.mem.buffer(r.held, int(e.res))}, true
	case errno == unix.ENOBUFS || errno == unix.EINTR: // buffers are returned before the next recv
		r.release()
		if !p.receiving {
			r.Receive(i)
		}
		return ev, false
	}
	return Event{Place: i, Errno: errno}, true
}

// release returns the buffer of the last event.
func (r *Ring) release() {
	if r.held >= 0 {
		r.mem.give(r.held)
		r.held = -1
	}
}

// Close closes all sockets, waits until the kernel has released them, and frees the ring.
func (r *Ring) Close() {
	for i := range r.places {
		if r.places[i].fd >= 0 {
			r.CloseSocket(i)
		}
	}
	for len(r.cancel) > 0 {
		for _, ok := r.Next(); ok; _, ok = r.Next() { // which makes room
		}
		if r.enter() != nil {
			break // closing the ring cancels the requests as well, only later
		}
	}
	r.q.close()
	r.mem.close()
	runtime.UnlockOSThread()
}
