package transporttest

import (
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// Wake implements [transport.Conn].
func (f *Fake) Wake(task func(out *buf.Queue) error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.hijacked || f.closing || f.cut {
		return false
	}
	f.tasks = append(f.tasks, task)
	f.cond.Broadcast()
	return true
}

// Detach implements [transport.Conn].
func (f *Fake) Detach() { f.locked(func() { f.detached = f.busy }) }

// Detached implements [transport.Conn].
func (f *Fake) Detached() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.detached
}

// Watch implements [transport.Conn].
func (f *Fake) Watch(w *transport.Watch) (before *transport.Watch) {
	f.locked(func() { f.watch, before = w, f.watch })
	return before
}

// Release implements [transport.Conn].
func (f *Fake) Release() {
	if !f.busy {
		f.t.Errorf("Release is called outside of Feed")
	}
	f.spoil()
}

// Read implements [transport.Conn]. It waits for Send, End, Reset or Advance when
// nothing is there.
func (f *Fake) Read(p []byte, l sync.Locker) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.busy {
		f.t.Errorf("Read is called outside of Feed")
	}
	if len(p) == 0 {
		return 0, nil
	}
	f.fault()
	if err := f.await(l); err != nil {
		return 0, err
	}
	switch {
	case f.reset || f.cut:
		return 0, transport.ErrLost
	case len(f.input) > 0:
		n := copy(p, f.input[:f.some(len(f.input))])
		f.input = f.input[n:]
		return n, nil
	}
	return 0, io.EOF
}

// fault may reset the connection while it is fed: Lost is told. f.mu is held.
func (f *Fake) fault() {
	if f.faults > 0 && f.rng.Float64() < f.faults {
		f.reset = true
		f.tellLost(transport.ErrLost)
	}
}

// await waits for input, its end or a reset. f.mu is held.
func (f *Fake) await(l sync.Locker) error {
	for {
		switch {
		case f.reset || f.cut:
			return nil
		case f.over(f.deadline):
			return transport.ErrDeadline
		case len(f.input) > 0 || f.ended:
			return nil
		}
		f.wait(f.deadline, l)
	}
}

// wait waits for a change, or a time. l, if it is not nil, is unlocked meanwhile.
// f.mu is held, and always locked after l.
func (f *Fake) wait(until time.Time, l sync.Locker) {
	f.detached = true
	if !until.IsZero() {
		left := time.Until(until) - f.ahead
		defer time.AfterFunc(left, func() { f.locked(func() {}) }).Stop()
	}
	if l == nil {
		f.cond.Wait()
		return
	}
	l.Unlock()
	f.cond.Wait()
	f.mu.Unlock()
	l.Lock()
	f.mu.Lock()
}

// Unread implements [transport.Conn].
func (f *Fake) Unread(p []byte) { f.locked(func() { f.gaveBack = append(f.gaveBack, p...) }) }

// Flush implements [transport.Conn]. It waits for Stall(false), Reset or Advance
// while the peer reads nothing.
func (f *Fake) Flush(out *buf.Queue, most int, l sync.Locker) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.busy {
		f.t.Errorf("Flush is called outside of Feed")
	}
	f.fault()
	for {
		f.take(out)
		switch {
		case f.reset || f.cut:
			f.drop()
			return transport.ErrLost
		case f.pending.Len() <= most:
			return nil
		case f.over(f.roomBy):
			return transport.ErrDeadline
		case f.stalled:
			f.wait(f.roomBy, l)
		default:
			f.transmit(f.some(f.pending.Len()))
		}
	}
}

// SetTimeout implements [transport.Conn].
func (f *Fake) SetTimeout(d time.Duration) { f.locked(func() { f.deadline = f.after(d) }) }

// SetWriteTimeout implements [transport.Conn].
func (f *Fake) SetWriteTimeout(d time.Duration) { f.locked(func() { f.roomBy = f.after(d) }) }

// after is the time in d; 0 is never.
func (f *Fake) after(d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return time.Now().Add(f.ahead + d)
}

// Timeout is what is left of what the session has set last by SetTimeout; 0 is
// for ever.
func (f *Fake) Timeout() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.deadline.IsZero() {
		return 0
	}
	return time.Until(f.deadline) - f.ahead
}

// Pause implements [transport.Conn].
func (f *Fake) Pause(on bool) {
	f.locked(func() {
		if f.paused && !on {
			f.again = true
		}
		f.paused = on
	})
}

// Pending implements [transport.Conn].
func (f *Fake) Pending() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pending.Len()
}

// Untaken implements [transport.Conn]. Unless the peer is stalled, some of what it has
// received may be acknowledged meanwhile.
func (f *Fake) Untaken() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unacked > 0 && !f.stalled && f.rng.IntN(3) > 0 {
		f.acknowledge()
	}
	return f.pending.Len() + f.unacked
}

// Hijack implements [transport.Conn]. What is written to the connection becomes
// part of Output; it reads unread, and what the peer has sent or sends.
func (f *Fake) Hijack(unread []byte, out *buf.Queue) (net.Conn, error) {
	if err := f.Flush(out, 0, nil); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.reset || f.cut:
		return nil, transport.ErrLost
	case f.refusal != nil:
		return nil, f.refusal
	}
	f.hijacked = true
	f.input = append(bytes.Clone(unread), f.input...)
	f.cond.Broadcast()
	return &hijackedFake{f: f}, nil
}

// Close implements [transport.Conn].
func (f *Fake) Close(how transport.Closing) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.hijacked {
		return
	}
	f.closing = true
	switch how {
	case transport.Abrupt:
		f.cut = true
		f.drop()
		f.tellLost(transport.ErrLost)
	case transport.Reset:
		f.sever(nil)
	}
	f.cond.Broadcast()
}

// LocalAddr implements [transport.Conn].
func (f *Fake) LocalAddr() net.Addr { return f.local }

// RemoteAddr implements [transport.Conn].
func (f *Fake) RemoteAddr() net.Addr { return f.remote }

// A hijackedFake is a Fake after Hijack.
type hijackedFake struct {
	f    *Fake
	gone bool // under f.mu
}

func (h *hijackedFake) Read(p []byte) (int, error) {
	f := h.f
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		switch {
		case h.gone:
			return 0, net.ErrClosed
		case f.reset:
			return 0, transport.ErrLost
		case f.over(f.deadline):
			return 0, os.ErrDeadlineExceeded
		case len(f.input) > 0:
			n := copy(p, f.input)
			f.input = f.input[n:]
			return n, nil
		case f.ended:
			return 0, io.EOF
		}
		f.wait(f.deadline, nil)
	}
}

func (h *hijackedFake) Write(p []byte) (int, error) {
	h.f.mu.Lock()
	defer h.f.mu.Unlock()
	switch {
	case h.gone:
		return 0, net.ErrClosed
	case h.f.reset:
		return 0, transport.ErrLost
	}
	return h.f.output.Write(p)
}

func (h *hijackedFake) Close() error {
	h.f.locked(func() { h.gone = true })
	return nil
}

func (h *hijackedFake) LocalAddr() net.Addr  { return h.f.local }
func (h *hijackedFake) RemoteAddr() net.Addr { return h.f.remote }

func (h *hijackedFake) SetDeadline(t time.Time) error {
	h.f.locked(func() { h.f.deadline = t })
	return nil
}
func (h *hijackedFake) SetReadDeadline(t time.Time) error { return h.SetDeadline(t) }

// SetWriteDeadline does nothing: writes do not wait.
func (h *hijackedFake) SetWriteDeadline(time.Time) error { return nil }
