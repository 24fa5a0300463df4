package uring

import (
	"fmt"
	"os"
	"syscall"

	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/sys"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/sockets"
)

const (
	// ringFlags let completions wait until the thread enters the kernel anyway, instead of
	// interrupting it; see docs/adr/0010-io-uring.md for the figures.
	ringFlags = sys.RingCoopTaskrun | sys.RingTaskrunFlag | sys.RingSubmitAll

	bufferSize  = 4 << 10 // bytes
	bufferGroup = 0
	roundEvents = 128 // completions between two looks at everything else
)

// sizes are the lengths of a ring's queues; all are powers of two.
type sizes struct {
	requests    uint32 // queued before they have to be submitted
	completions uint32 // waiting; more of them wait in the kernel's memory
	buffers     int    // less than completions, so that there is room for all
	first       int    // buffers in use before these have run out
	quiet       int64  // nanoseconds without a shortage of buffers before their memory is returned
}

var usual = sizes{requests: 256, completions: 4096, buffers: 2048, first: 64, quiet: 2e9}

// A Transport is a transport whose loops are rings.
type Transport = sockets.Transport

// New returns a transport on io_uring without listeners. Close frees what it holds, even if
// it never served. Errors are those of [Probe].
func New(config transport.Config) (*Transport, error) {
	return sockets.New(config, func(l *sockets.Loop) (sockets.Driver, error) {
		return newDriver(l, usual)
	})
}

// A driver is one ring. All of it belongs to the loop's leader.
type driver struct {
	loop    *sockets.Loop
	ring    *sys.Ring
	buffers *sys.Buffers
	backlog []sys.SQE // requests that the queue had no room for
	ports   []*port   // by descriptor, until closed
	ears    []*ear
	ready   []*port // ports with early bytes, or an end, to be reported
	heard   []*ear  // ears with something to be reported
	budget  int     // completions left in this round
	flying  int     // requests that have not ended
	piece   []byte  // the input of the event just returned, in a buffer of the ring
	bid     uint16  // the number of this buffer
	fed     *port   // the port of the last event, if nothing is in flight for it
	batch   batch
	held    []sys.CQE // completions taken from the ring, but not handled
	stopped bool
	failed  bool  // the ring no longer works, and is not entered again
	first   int   // buffers in use before more were needed
	quiet   int64 // see sizes
	short   int64 // when there were too few buffers, on the clock's scale; 0 if no more than first are open
	limits  bool  // the kernel supports a limit for a multishot recv
	bare    bool  // the kernel has no buffers of ours, nor memory to know of them

	unsentFunc func(*sys.CQE)
	clock      func() int64
	offer      func() error         // of buffers
	submit     func() syscall.Errno // of ring
	stuck      bool
}

func newDriver(l *sockets.Loop, z sizes) (*driver, error) {
	ring, err := sys.NewRing(z.requests, z.completions, ringFlags)
	if err != nil {
		return nil, reason(err)
	}
	buffers, err := ring.NewBuffers(bufferGroup, z.buffers, bufferSize)
	if err != nil {
		ring.Close()
		return nil, reason(err)
	}
	buffers.Open(z.first)
	d := &driver{loop: l, ring: ring, buffers: buffers, clock: clock.Refresh, limits: limits(), first: z.first, quiet: z.quiet}
	if d.batch.slab, err = sys.NewSlab(slabSize); err != nil {
		d.Close()
		sys.Close(ring.FD)
		return nil, reason(err)
	}
	d.unsentFunc, d.offer, d.submit = d.unsent, buffers.Offer, ring.Enter
	return d, nil
}

// The interfaces that the driver implements.
var (
	_ sockets.Receiver = (*driver)(nil)
	_ sockets.Batcher  = (*driver)(nil)
	_ sockets.Requests = (*driver)(nil)
)

// Descriptor implements [sockets.Driver].
func (d *driver) Descriptor() int { return d.ring.FD }

// Stuck implements [sockets.Requests].
func (d *driver) Stuck() bool { return d.stuck }

// Fetch implements [sockets.Driver]. It submits queued requests, and collects completions
// in the same call.
func (d *driver) Fetch() bool {
	if p := d.fed; p != nil {
		// If it is still being fed, nothing in flight would detect its end.
		if d.fed = nil; p.state&(released|inFlight) == 0 {
			d.Watch(&p.conn, p.conn.Wants())
		}
	}
	d.budget = roundEvents
	d.stuck = false
	if d.ring.Queued() > 0 || len(d.backlog) > 0 || d.ring.Overflown() || !d.ring.Ready() && d.ring.Pending() {
		d.enter()
	}
	if d.short != 0 && clock.Nano()-d.short > d.quiet {
		d.shrink()
	}
	return len(d.ready) > 0 || len(d.heard) > 0 || len(d.held) > 0 || d.ring.Ready()
}

// enter submits the queued requests. Those that the kernel does not accept now stay queued.
func (d *driver) enter() {
	for !d.failed {
		errno := d.submit()
		switch errno {
		case 0, syscall.EINTR:
		case syscall.EAGAIN, syscall.EBUSY:
			// No memory, or completions that wait for room: these are collected first.
			d.stuck = true
		default:
			d.fail(errno)
			return
		}
		if len(d.batch.sends) > 0 && d.ring.Queued() == 0 {
			d.sent()
		}
		before := len(d.backlog)
		for len(d.backlog) > 0 && d.ring.Push(&d.backlog[0]) {
			d.backlog = d.backlog[1:]
		}
		if len(d.backlog) == before || errno != 0 {
			return
		}
	}
}

// fail ends the loop because the ring does not work. The ring is not entered again: its
// queue names descriptors that are about to be closed.
func (d *driver) fail(errno syscall.Errno) {
	d.failed = true
	d.loop.Fail(fmt.Errorf("enter ring: %w", os.NewSyscallError("io_uring_enter", errno)))
}

// again reports whether it is worth entering the ring again: there is no memory, or
// completions wait for room.
func again(errno syscall.Errno) bool {
	return errno == syscall.EINTR || errno == syscall.EAGAIN || errno == syscall.EBUSY
}

// push queues a request. It is never lost: if the queue is full and the kernel accepts
// nothing from it, the request waits in the backlog, after earlier ones.
func (d *driver) push(e *sys.SQE) {
	if len(d.backlog) == 0 && d.ring.Push(e) {
		return
	}
	if len(d.backlog) == 0 {
		d.enter()
		if d.ring.Push(e) {
			return
		}
	}
	d.backlog = append(d.backlog, *e)
}

// start queues a request that will complete.
func (d *driver) start(e *sys.SQE) {
	d.flying++
	d.push(e)
}

// cancel ends the request with these data, or the requests selected by the flags.
func (d *driver) cancel(data uint64, flags uint32) {
	d.push(&sys.SQE{Op: sys.OpCancel, FD: -1, Addr: data, Arg: flags, Flags: sys.SQESkipSuccess, Data: uint64(kindCancel)})
}

// Next implements [sockets.Driver].
//
// The head of the queue is moved before a completion is handled: a leader that is deposed
// while it feeds has removed it permanently, and the next leader continues after it.
func (d *driver) Next() (sockets.Event, bool) {
	if len(d.heard) > 0 || len(d.ready) > 0 {
		if e, ok := d.nextReady(); ok {
			return e, true
		}
	}
	for d.budget > 0 {
		cqe, ok := d.pop()
		if !ok {
			break
		}
		d.budget--
		if e, ok := d.complete(&cqe); ok {
			return e, true
		}
	}
	return sockets.Event{}, false
}

// pop takes the next completion.
func (d *driver) pop() (sys.CQE, bool) {
	if len(d.held) == 0 {
		return d.ring.Pop()
	}
	e := d.held[0]
	if d.held = d.held[1:]; len(d.held) == 0 {
		d.held = nil
	}
	return e, true
}

// nextReady returns an event that has no completion.
func (d *driver) nextReady() (sockets.Event, bool) {
	if n := len(d.heard) - 1; n >= 0 {
		e := d.heard[n]
		d.heard = d.heard[:n]
		e.queued = false
		return sockets.Event{Listener: e.ln}, true
	}
	for len(d.ready) > 0 {
		p := d.ready[0]
		d.ready[0] = nil
		if d.ready = d.ready[1:]; len(d.ready) == 0 {
			d.ready = nil
		}
		p.state &^= queued
		p.watched()
		if p.state&released == 0 {
			if p.state&inFlight == 0 {
				d.fed = p
			}
			return sockets.Event{Conn: &p.conn, Events: p.waiting()}, true
		}
	}
	return sockets.Event{}, false
}

// Stop implements [sockets.Requests].
func (d *driver) Stop() {
	d.stopped = true
	d.cancel(0, sys.CancelAny|sys.CancelAll)
}

// Drained implements [sockets.Requests]. A failed ring is not waited for: connections that
// were to be released are released.
func (d *driver) Drained() bool {
	if !d.failed {
		return d.flying <= 0
	}
	for i, p := range d.ports {
		if p != nil && p.state&released != 0 {
			d.ports[i] = nil
			d.loop.Released(&p.conn)
		}
	}
	return true
}

// Close implements [sockets.Requests].
//
// The kernel receives into the buffers, and sends from the slab, as long as requests are in
// flight. The requests of a failed ring cannot be waited for: closing its descriptor
// cancels them some time later, on the kernel's own threads, without any notification. So
// this memory stays mapped: it is better to leak 8 MiB than to let the kernel write to
// memory that is reused. The loop, and with it the transport, ends, so this does not happen
// repeatedly.
func (d *driver) Close() {
	if d.failed {
		d.closeAccepted()
	}
	d.ring.Unmap()
	if d.failed && d.flying > 0 {
		return
	}
	d.buffers.Close()
	if d.batch.slab != nil {
		d.batch.slab.Close()
	}
}

// closeAccepted closes connections that a failed ring has accepted and that have not been
// reported.
func (d *driver) closeAccepted() {
	for e, ok := d.pop(); ok; e, ok = d.pop() {
		if k, _, _ := parse(e.Data); k == kindAccept && e.Res >= 0 {
			sys.Close(int(e.Res))
		}
	}
}
