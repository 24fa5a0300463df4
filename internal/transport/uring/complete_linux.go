package uring

import (
	"syscall"

	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/sys"
	"github.com/redline-go/redline/internal/transport/sockets"
)

// kind is the type of a completion. User data are
//
//	kind (4 bits) │ descriptor, or number of listener (28) │ generation (32)
type kind uint64

const (
	kindCancel kind = iota
	kindRecv
	kindPollIn
	kindPollOut
	kindPollGone
	kindAccept
	kindSend
)

func data(k kind, fd int, gen uint32) uint64 {
	return uint64(k)<<60 | uint64(fd)<<32 | uint64(gen)
}

func parse(data uint64) (k kind, fd int, gen uint32) {
	return kind(data >> 60), int(data >> 32 & (1<<28 - 1)), uint32(data)
}

// complete handles a completion, and returns what has become ready, if anything has.
func (d *driver) complete(e *sys.CQE) (sockets.Event, bool) {
	k, fd, gen := parse(e.Data)
	if e.Flags&sys.CQEMore == 0 && k != kindCancel {
		d.flying--
	}
	switch k {
	case kindCancel:
		return sockets.Event{}, false // it came too late: its purpose has ended
	case kindAccept:
		return d.accepted(d.ears[fd], e)
	}
	var p *port
	if fd < len(d.ports) {
		p = d.ports[fd]
	}
	if p == nil || p.conn.Gen() != gen {
		// It concerns a connection that is gone.
		if e.Flags&sys.CQEBuffer != 0 {
			d.buffers.Recycle(uint16(e.Flags >> 16))
		}
		return sockets.Event{}, false
	}
	if k == kindRecv {
		return d.received(p, e)
	}
	return d.polled(p, k, e)
}

// received handles the completions of the multishot recv of a connection.
func (d *driver) received(p *port, e *sys.CQE) (sockets.Event, bool) {
	sys.Received()
	c := &p.conn
	if e.Res > 0 && e.Flags&sys.CQEBuffer != 0 &&
		p.state&(receiving|ending|queued|released) == receiving && c.Usual() && p.early.Load() == nil {
		// The usual case: it is fed at once, see Recv.
		d.bid = uint16(e.Flags >> 16)
		d.piece = d.buffers.Bytes(d.bid, int(e.Res))
		if e.Flags&sys.CQEMore == 0 {
			p.state &^= receiving
			p.direct(true)
			p.watched()
			d.fed = p
		}
		return sockets.Event{Conn: c, Events: sockets.In}, true
	}
	if e.Flags&sys.CQEBuffer != 0 {
		id := uint16(e.Flags >> 16)
		if e.Res > 0 {
			p.keep(d.buffers.Bytes(id, int(e.Res)))
		}
		d.buffers.Recycle(id)
	}
	switch err := syscall.Errno(-min(e.Res, 0)); {
	case e.Res > 0:
	case e.Res == 0:
		p.after.Store(endOfStream)
	case err == syscall.ENOBUFS:
		// Open more buffers, if there are any; if not, some are free again by now.
		if !d.bare && d.buffers.Open(d.buffers.Opened()) {
			d.short = clock.Nano()
		}
	case err == syscall.ECANCELED || err == syscall.EINTR || err == syscall.EAGAIN:
		// We have cancelled it, or the thread that started it has ended.
	default:
		p.after.Store(uint32(err))
	}
	if e.Flags&sys.CQEMore == 0 {
		p.state &^= receiving | ending
		p.direct(true)
		if d.settled(p) {
			return sockets.Event{}, false
		}
	}
	if p.state&released != 0 {
		return sockets.Event{}, false
	}
	if p.state&receiving == 0 {
		d.loop.Directed(c)
	}
	p.watched()
	want := c.Wants()
	if want&sockets.In == 0 {
		d.endRecv(p)
	}
	d.Watch(c, want)
	return sockets.Event{}, false
}

// shrink returns the memory of buffers that were needed when many connections had sent
// something at once. The kernel is given none meanwhile: should something arrive, its recv
// ends for lack of buffers, and is started again.
//
//  1. The buffers are withdrawn: the kernel writes to none from here on.
//  2. Completions so far are taken out of the ring, for Next to handle. If one of them names a
//     buffer, nothing is returned this time.
//  3. Buffers are offered again, or later if the kernel has no memory for them now.
func (d *driver) shrink() {
	if d.stopped || d.failed || len(d.batch.sends) > 0 {
		return
	}
	d.short = 0
	if d.bare {
		d.offerAgain()
		return
	}
	if err := d.buffers.Withdraw(); err != nil {
		d.loop.Log("withdraw buffers", err)
		return
	}
	if d.hold(); !d.collect() {
		return
	}
	d.hold()
	used := map[uint16]bool{}
	for i := range d.held {
		if e := &d.held[i]; e.Flags&sys.CQEBuffer != 0 {
			used[uint16(e.Flags>>16)] = true
		}
	}
	if len(used) > 0 {
		d.short = clock.Nano()
	}
	d.buffers.Refill(d.first, used)
	d.offerAgain()
}

// offerAgain offers the buffers after a shrink. Without them connections are polled, and read from
// directly, until the kernel has memory again.
func (d *driver) offerAgain() {
	err := d.offer()
	if d.bare = err != nil; d.bare {
		d.short = clock.Nano()
		d.loop.Log("offer buffers", err)
	}
}

// polled handles the end of a poll: they are for one event each.
func (d *driver) polled(p *port, k kind, e *sys.CQE) (sockets.Event, bool) {
	p.state &^= polls[k]
	if d.settled(p) || p.state&released != 0 {
		return sockets.Event{}, false
	}
	p.watched()
	if e.Res <= 0 {
		d.Watch(&p.conn, p.conn.Wants()) // it was cancelled, not by us
		return sockets.Event{}, false
	}
	return sockets.Event{Conn: &p.conn, Events: uint32(e.Res)}, true
}

// settled releases a connection when nothing is in flight for it, and reports whether it
// has.
func (d *driver) settled(p *port) bool {
	if p.state&released == 0 || p.state&inFlight != 0 {
		return false
	}
	d.ports[p.conn.FD()] = nil
	d.loop.Released(&p.conn)
	return true
}
