package uring

import (
	"syscall"

	"github.com/redline-go/redline/internal/sys"
	"github.com/redline-go/redline/internal/transport/sockets"
)

// An ear is a listener with the driver's state for it. The kernel accepts connections
// without being asked. Those that the loop may not have yet, because of a limit, wait here;
// no more are accepted once the accept has been cancelled.
type ear struct {
	ln       *sockets.Listener
	number   int
	accepted []int
	errno    syscall.Errno // why the accept has ended, to be reported
	wanted   bool          // by Listen
	flying   bool          // the accept is in flight
	ending   bool          // and being cancelled
	queued   bool          // in the driver's list
	gone     bool          // the listener is closed: connections that still arrive are closed too
}

func (d *driver) earOf(ln *sockets.Listener) *ear {
	e, ok := ln.Port.(*ear)
	if !ok {
		e = &ear{ln: ln, number: len(d.ears)}
		d.ears = append(d.ears, e)
		ln.Port = e
	}
	return e
}

// Listen implements [sockets.Driver].
func (d *driver) Listen(ln *sockets.Listener) syscall.Errno {
	e := d.earOf(ln)
	e.wanted = true
	d.accept(e)
	if len(e.accepted) > 0 {
		d.report(e)
	}
	return 0
}

// accept starts the multishot accept, if none is in flight.
func (d *driver) accept(e *ear) {
	if e.flying || d.stopped {
		return
	}
	e.flying = true
	d.start(&sys.SQE{
		Op: sys.OpAccept, FD: int32(e.ln.FD()), Ioprio: sys.AcceptMultishot,
		Arg: sys.AcceptFlags, Data: data(kindAccept, e.number, 0),
	})
}

func (d *driver) report(e *ear) {
	if !e.queued {
		e.queued = true
		d.heard = append(d.heard, e)
	}
}

// Hold implements [sockets.Driver].
func (d *driver) Hold(ln *sockets.Listener) {
	e := d.earOf(ln)
	e.wanted = false
	if e.flying && !e.ending {
		e.ending = true
		d.cancel(data(kindAccept, e.number, 0), 0)
	}
}

// Deaf implements [sockets.Requests].
func (d *driver) Deaf(ln *sockets.Listener) bool {
	d.Hold(ln)
	return !d.earOf(ln).flying
}

// accepted handles the completions of the multishot accept.
func (d *driver) accepted(e *ear, c *sys.CQE) (sockets.Event, bool) {
	switch {
	case c.Res >= 0 && e.gone:
		sys.Close(int(c.Res))
	case c.Res >= 0:
		e.accepted = append(e.accepted, int(c.Res))
	}
	if c.Flags&sys.CQEMore == 0 {
		e.flying, e.ending = false, false
		switch errno := syscall.Errno(-min(c.Res, 0)); errno {
		case 0, syscall.ECANCELED, syscall.EINTR, syscall.EAGAIN, syscall.ECONNABORTED:
		default:
			e.errno = errno
		}
		if e.wanted && e.errno == 0 {
			d.accept(e)
		}
	}
	return sockets.Event{Listener: e.ln}, true
}

// Drop implements [sockets.Requests].
func (d *driver) Drop(ln *sockets.Listener) {
	e := d.earOf(ln)
	for _, fd := range e.accepted {
		sys.Close(fd)
	}
	e.accepted, e.wanted, e.gone = nil, false, true
}

// Accept implements [sockets.Driver].
func (d *driver) Accept(ln *sockets.Listener) (int, sys.Addr, syscall.Errno) {
	e := d.earOf(ln)
	if n := len(e.accepted); n > 0 {
		fd := e.accepted[0]
		if e.accepted = e.accepted[1:]; n > 1 {
			d.report(e)
		} else {
			e.accepted = nil
		}
		peer, _ := sys.PeerAddr(fd) // the zero address if the peer has already gone: the loop decides
		return fd, peer, 0
	}
	if errno := e.errno; errno != 0 {
		e.errno = 0
		return -1, sys.Addr{}, errno
	}
	if e.wanted {
		d.accept(e)
		return -1, sys.Addr{}, syscall.EAGAIN
	}
	return sys.Accept(ln.FD())
}
