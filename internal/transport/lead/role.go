package lead

import (
	"sync/atomic"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/transport"
)

// Input buffers start small, because foreign code that blocks may hold one for long, and
// grow while reads fill them.
const (
	minInput = 8 << 10
	maxInput = 64 << 10
)

// A Role is the lead of one loop.
type Role struct {
	// state is even while the leader minds the loop, odd while it runs foreign code. It
	// only increases.
	state  atomic.Uint64
	parked atomic.Bool // nothing to do: the watchdog need not look
	crew   *Crew
	lead   func(*Hand)
	exited func(*Hand)
	leader *Hand  // leads, or is just being deposed
	in     []byte // for the next leader; under crew.mu
	seen   uint64 // state at the watchdog's last look; only the watchdog uses it
	taken  uint64 // number of the call from which the watchdog has taken over last
	bell   *Bell
	until  int64 // when the bell is to ring, on the clock's scale, or never; under crew.mu
	strain strain
	Stats  RoleStats
}

// RoleStats counts how a loop changed hands.
type RoleStats struct {
	Takeovers atomic.Uint64 // by the watchdog
	Detached  atomic.Uint64 // by Detach
	Spared    atomic.Uint64 // by Begin
}

// A Hand is a goroutine that leads, has led, or will lead. Only that goroutine may call its
// methods, or goroutines with which foreign code shares it, one at a time.
type Hand struct {
	role    *Role
	seq     uint64 // state of role as this hand has left it
	leading bool   // as far as this hand knows
	lost    int64  // when the watchdog has last taken role over, on the clock's scale; under crew.mu
	rare    bool   // that was the first time in many calls; under crew.mu
	// in belongs to the leader between calls of foreign code. During a call it belongs to
	// that code until it is released: then it is under crew.mu.
	in       []byte
	released atomic.Bool
	watch    atomic.Pointer[transport.Watch] // of the call of foreign code that runs

	// Readable and Writable end the waits of foreign code that no longer leads: one
	// goroutine at a time may wait for each.
	Readable, Writable Signal

	// Read and Sent count bytes for the transport.
	Read, Sent int
	// Local is for the transport. It is nil when the hand is new.
	Local any
	// Waits means that foreign code has given up the loop because it waits for something
	// other than its client. It is for the transport, too.
	Waits bool
	// Left means that the foreign code has left the transport's call before it returned. It
	// is for the transport, too. Any goroutine may use it.
	Left atomic.Bool
	// Out is the hand's own queue for the output of foreign code.
	Out buf.Queue
}

// Input returns the leader's scratch buffer for reading.
func (h *Hand) Input() []byte { return h.in }

// Filled reports that a read has filled all of Input: it is made larger for the next read.
// Slices returned by Input before remain valid.
func (h *Hand) Filled() {
	if len(h.in) < maxInput {
		h.in = make([]byte, 2*len(h.in))
	}
}

// Begin is called by the leader right before it runs foreign code. It reports whether the hand
// leads as before: a loop that has been taken over too often lately is given up at once, as by
// Detach.
func (h *Hand) Begin() (leads bool) {
	if h.watch.Load() != nil {
		h.watch.Store(nil) // of the call before
	}
	spare := h.role.strain.until.Load() != 0 && h.role.strain.lasts()
	h.seq++
	h.role.state.Store(h.seq)
	if spare {
		h.giveUp(&h.role.Stats.Spared)
	}
	return !spare
}

// Watch names what is told if the role is taken over from this hand before the call of foreign
// code ends, or Watch is called again; nil is nobody. It returns what was named before, nil if
// that has been told.
func (h *Hand) Watch(w *transport.Watch) *transport.Watch {
	if w == nil && h.watch.Load() == nil {
		return nil
	}
	return h.watch.Swap(w)
}

// Call returns the number of the call of foreign code that Begin is about to begin. It is
// never 0, and no other call of this role has it.
func (h *Hand) Call() uint64 { return h.seq + 1 }

// Taken returns the number of the call from which the watchdog has last taken the role over,
// 0 if there was none. The leader may ask before its first Begin.
func (h *Hand) Taken() uint64 { return h.role.taken }

// Within reports whether the role's leader is in the call of foreign code with a number. Any
// goroutine may ask.
func (r *Role) Within(call uint64) bool { return r.state.Load() == call }

// End is called after the foreign code has returned, and reports whether the hand still
// leads. If not, the hand must not touch anything of the loop.
func (h *Hand) End() bool {
	if !h.leading {
		return false
	}
	if h.role.state.CompareAndSwap(h.seq, h.seq+1) {
		h.seq++
		if h.released.Load() {
			h.released.Store(false)
		}
		return true
	}
	h.leading = false
	h.role.crew.returned(h)
	return false
}

// Release declares, between Begin and End, that foreign code no longer uses Input: the
// memory goes to the next leader when this one is deposed, or has been.
func (h *Hand) Release() {
	h.released.Store(true)
	if h.Leading() {
		return
	}
	c := h.role.crew
	c.mu.Lock()
	c.collect(h)
	c.mu.Unlock()
}

// Detach gives up the loop, between Begin and End, and reports whether the hand has led it
// until now as far as it knew. Memory that the hand does not need without the loop is
// released.
func (h *Hand) Detach() bool {
	if !h.leading {
		return false
	}
	if h.Out.Len() == 0 {
		h.Out.Release()
	}
	h.giveUp(&h.role.Stats.Detached)
	return true
}

// giveUp passes the role on, and counts it, unless the watchdog was first.
func (h *Hand) giveUp(count *atomic.Uint64) {
	h.leading = false
	r := h.role
	r.crew.mu.Lock()
	gave := r.crew.depose(r, h.seq)
	r.crew.mu.Unlock()
	if !gave {
		r.crew.returned(h)
		return
	}
	count.Add(1)
	r.crew.lead(r)
}

// Leading reports, between Begin and End, whether the hand has not been deposed
// yet.
func (h *Hand) Leading() bool { return h.leading && h.role.state.Load() == h.seq }

// Park is called by the leader when it is about to wait for the kernel, and Unpark when it
// has returned: while all loops are parked the watchdog sleeps, and the loops do not
// refresh the clock.
func (h *Hand) Park() {
	h.role.parked.Store(true)
	clock.Leave()
}

// Unpark reverses Park and returns the time.
func (h *Hand) Unpark() int64 {
	h.role.parked.Store(false)
	h.role.crew.watch()
	return clock.Enter()
}

// Parked reports whether the leader waits for the kernel, or is about to.
func (r *Role) Parked() bool { return r.parked.Load() }

// due makes the alarm ring for the loop at a time; 0 is never.
func (r *Role) due(until int64) {
	if until == 0 {
		until = never
	}
	r.crew.mu.Lock()
	r.until = until
	r.crew.arm(until)
	r.crew.mu.Unlock()
}
