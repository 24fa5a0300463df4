package uring

import (
	"slices"

	"github.com/redline-go/redline/internal/sys"
	"github.com/redline-go/redline/internal/transport/sockets"
)

const (
	slabSize  = 256 << 10 // bytes to be sent that wait for the end of the round
	slabAlign = 64
	// batchMost and batchTime bound how long an answer waits for those of other
	// connections. The time is in nanoseconds, and asked when a session is about to
	// run: what runs then is waited for in any case.
	batchMost = 32
	batchTime = 100_000
)

// A batch is what is to be sent with the next call of the kernel. A send completes
// within that call, one way or another, and says so only if it has failed or was
// short: when the call has returned, the memory can be used again.
type batch struct {
	slab  sys.Slab
	at    int   // slab[:at] is in use
	since int64 // about when the first of them came; 0 is not known yet
	sends []send
}

// A send is the part of a batch that is for one connection: slab[at:end].
type send struct {
	port    *port
	at, end int
}

// Begin implements [sockets.Batcher].
func (d *driver) Begin(c *sockets.Conn) {
	if len(d.batch.sends) > 0 && (c.Batched || d.late()) {
		d.Submit()
	}
}

// late reports whether the batch has waited for long. A loop that sends an answer next
// runs a session, or enters the kernel: to note the time when it is first asked will do.
func (d *driver) late() bool {
	now := d.clock()
	if d.batch.since == 0 {
		d.batch.since = now
	}
	return now-d.batch.since >= batchTime
}

// Send implements [sockets.Batcher].
func (d *driver) Send(c *sockets.Conn, b []byte) bool {
	if d.stopped {
		return false
	}
	if len(d.batch.sends) >= batchMost || d.batch.at+len(b) > len(d.batch.slab) {
		d.Submit()
		if len(d.batch.sends) > 0 {
			return false // the kernel takes nothing now
		}
	}
	e := sys.SQE{
		Op: sys.OpSend, FD: int32(c.FD()), Addr: d.batch.slab.Addr(d.batch.at), Len: uint32(len(b)),
		Arg: sys.SendAll, Flags: sys.SQESkipSuccess, Data: data(kindSend, c.FD(), c.Gen()),
	}
	sys.Sending()
	copy(d.batch.slab[d.batch.at:], b)
	if len(d.backlog) > 0 || !d.ring.Push(&e) {
		return false
	}
	d.batch.sends = append(d.batch.sends, send{portOf(c), d.batch.at, d.batch.at + len(b)})
	d.batch.at += (len(b) + slabAlign - 1) &^ (slabAlign - 1)
	c.Batched = true
	return true
}

// Submit implements [sockets.Batcher]. If the kernel does not take the batch, because it has no
// memory or wants room for completions, the rest of it is sent without the ring: the loop waits for
// nothing here.
func (d *driver) Submit() {
	if d.enter(); len(d.batch.sends) == 0 || d.failed {
		return
	}
	d.ring.Unsubmitted(d.sendNow)
	d.sent()
}

// sendNow sends what a request in the queue is about to, and makes it one about nothing.
func (d *driver) sendNow(e *sys.SQE) {
	if e.Op != sys.OpSend {
		return
	}
	i := slices.IndexFunc(d.batch.sends, func(s send) bool { return d.batch.slab.Addr(s.at) == e.Addr })
	s, fd := d.batch.sends[i], int(e.FD)
	*e = sys.SQE{Op: sys.OpNop, FD: -1, Flags: sys.SQESkipSuccess, Data: uint64(kindCancel)}
	n, _ := sys.Send(fd, d.batch.slab[s.at:s.end], false) // the next attempt finds the error again
	if s.at+n < s.end {
		d.loop.Unsent(&s.port.conn, d.batch.slab[s.at+n:s.end])
	}
}

// hold takes all completions out of the ring, for Next to handle.
func (d *driver) hold() {
	for e, ok := d.ring.Pop(); ok; e, ok = d.ring.Pop() {
		d.held = append(d.held, e)
	}
}

// sent ends a batch that the kernel has taken. Sends that have failed must be
// known before anything else is sent for their connections, so they are looked for
// ahead of what has completed before them. Should there have been no room for
// them, what is in the queue is taken out first.
func (d *driver) sent() {
	if !d.collect() {
		return
	}
	for i := range d.held {
		d.unsent(&d.held[i])
	}
	d.ring.Each(d.unsentFunc)
	for _, s := range d.batch.sends {
		s.port.conn.Batched = false
	}
	clear(d.batch.sends)
	d.batch.sends, d.batch.at, d.batch.since = d.batch.sends[:0], 0, 0
}

// collect makes sure that the kernel holds no completions for which the ring had no room. It reports
// whether the ring works.
func (d *driver) collect() bool {
	for d.ring.Overflown() {
		d.hold()
		if errno := d.ring.Collect(); errno != 0 && !again(errno) {
			d.fail(errno)
			return false
		}
	}
	return true
}

// unsent gives back what a send has not sent, if the completion is about one, and
// makes it one about nothing.
func (d *driver) unsent(e *sys.CQE) {
	k, fd, gen := parse(e.Data)
	if k != kindSend {
		return
	}
	e.Data = uint64(kindCancel)
	if fd >= len(d.ports) || d.ports[fd] == nil || d.ports[fd].conn.Gen() != gen {
		return
	}
	i := slices.IndexFunc(d.batch.sends, func(s send) bool { return s.port == d.ports[fd] })
	if i < 0 {
		return
	}
	if s := d.batch.sends[i]; s.at+int(max(e.Res, 0)) < s.end {
		d.loop.Unsent(&s.port.conn, d.batch.slab[s.at+int(max(e.Res, 0)):s.end])
	}
}
