package lead

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/clock"
)

const (
	// sparePerRole is how many hands without a loop are kept for each loop.
	sparePerRole = 2
	// calm is how many ticks without any activity put the watchdog to sleep.
	// Waking it costs more than a few ticks in vain.
	calm = 8
)

// A Crew is the hands and roles of one transport, with their watchdog.
type Crew struct {
	takeover time.Duration

	mu      sync.Mutex
	roles   []*Role
	spare   int        // hands that wait for a role, or are about to
	calls   chan *Role // to them; it has room for all
	inputs  [][]byte   // buffers that nobody uses
	open    int        // roles that have a leader
	stopped bool

	asleep atomic.Bool
	wake   chan struct{} // to the watchdog
	stop   chan struct{}
	hands  sync.WaitGroup
}

// NewCrew returns a crew whose watchdog calls a follower when foreign code holds
// a loop for takeover, or up to twice that. Stop ends it.
func NewCrew(takeover time.Duration) *Crew {
	if takeover <= 0 {
		takeover = time.Millisecond
	}
	c := &Crew{takeover: takeover, wake: make(chan struct{}, 1), stop: make(chan struct{})}
	c.asleep.Store(true)
	return c
}

// Role adds a loop. lead is run by each hand that leads it, from the beginning or
// from where another one has lost it, until it loses it too or the loop is done:
// in this case it calls [Hand.Done]. exited is called when foreign code has ended
// the goroutine of a hand (runtime.Goexit, as t.FailNow does), by that goroutine,
// after another one has taken over what it led. The role starts with Start.
func (c *Crew) Role(lead, exited func(*Hand)) *Role {
	r := &Role{crew: c, lead: lead, exited: exited}
	r.parked.Store(true)
	c.mu.Lock()
	c.roles = append(c.roles, r)
	c.mu.Unlock()
	return r
}

// Start gives every role its first leader, and starts the watchdog.
func (c *Crew) Start() {
	c.mu.Lock()
	roles := c.roles
	c.open = len(roles)
	c.calls = make(chan *Role, sparePerRole*len(roles))
	c.mu.Unlock()
	go c.watchdog(roles)
	for _, r := range roles {
		clock.Enter()
		r.parked.Store(false)
		c.lead(r)
	}
	c.watch()
}

// Done is called by the leader of a loop that is closed, instead of leading on.
func (h *Hand) Done() {
	c := h.role.crew
	h.leading = false
	h.role.parked.Store(true)
	clock.Leave()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open--; c.open > 0 {
		return
	}
	// The last loop is gone: hands that still run foreign code end after it.
	c.stopped = true
	close(c.stop)
	close(c.calls)
}

// Stopped is closed when all roles are done.
func (c *Crew) Stopped() <-chan struct{} { return c.stop }

// Wait blocks until all hands have ended: those that run foreign code too.
func (c *Crew) Wait() { c.hands.Wait() }

// lead gives a role to a hand, a new one if none is spare.
func (c *Crew) lead(r *Role) {
	c.mu.Lock()
	spare := c.spare > 0
	if spare {
		c.spare--
	} else {
		c.hands.Add(1)
	}
	c.mu.Unlock()
	if spare {
		c.calls <- r
	} else {
		go c.run(r)
	}
}

// run is the life of a hand, from its first role on.
func (c *Crew) run(r *Role) {
	h := new(Hand)
	defer c.hands.Done()
	defer func() {
		if r != nil {
			c.exit(h)
		}
	}()
	for r != nil {
		c.take(h, r)
		r.lead(h)
		r = c.rest(h)
	}
}

// exit is the end of a hand within foreign code. Its memory may be in use by whom
// that code has given it to: it is left to the collector.
func (c *Crew) exit(h *Hand) {
	r := h.role
	if h.leading && r.state.CompareAndSwap(h.seq, h.seq+h.seq&1) {
		h.leading = false
		c.lead(r)
	}
	r.exited(h)
}

// take gives a hand the lead, and a buffer.
func (c *Crew) take(h *Hand, r *Role) {
	c.mu.Lock()
	h.in, r.in = r.in, nil
	if n := len(c.inputs) - 1; h.in == nil && n >= 0 {
		h.in, c.inputs[n] = c.inputs[n], nil
		c.inputs = c.inputs[:n]
	}
	c.mu.Unlock()
	if h.in == nil {
		h.in = make([]byte, minInput)
	}
	h.role, h.seq, h.leading = r, r.state.Load(), true
	r.leader = h
}

// rest has a hand that does not lead any more wait for a role. It returns nil when
// there are enough that do.
func (c *Crew) rest(h *Hand) *Role {
	h.leading = false
	h.Out.Release()
	c.mu.Lock()
	c.collect(h)
	h.released.Store(false)
	if c.stopped || c.spare >= cap(c.calls) {
		c.mu.Unlock()
		return nil
	}
	c.spare++
	c.mu.Unlock()
	return <-c.calls
}

// collect takes the buffer of a hand that does not use it any more, and keeps it
// for the next leader. c.mu is held.
func (c *Crew) collect(h *Hand) {
	if len(h.in) == minInput && len(c.inputs) < cap(c.calls) {
		c.inputs = append(c.inputs, h.in)
	}
	h.in = nil
}

// depose takes the role from a leader that is in the call of foreign code with
// number s, unless it comes back just now. The leader's buffer goes to the next one
// if it is released; if that happens just now, either of them takes it. While the
// lock is held the old leader cannot rest, and so not lead again.
func (c *Crew) depose(r *Role, s uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !r.state.CompareAndSwap(s, s+1) {
		return false
	}
	if h := r.leader; h.released.Load() {
		r.in, h.in = h.in, nil
	}
	return true
}

// watch wakes the watchdog if it sleeps.
//
//  1. A loop clears its parked flag, then reads asleep.
//  2. The watchdog sets asleep, then reads the parked flags.
//
// So at least one of them sees the other.
func (c *Crew) watch() {
	if c.asleep.Load() && c.asleep.CompareAndSwap(true, false) {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// watchdog deposes leaders whose foreign code does not return, and sleeps while
// there is nothing to watch.
func (c *Crew) watchdog(roles []*Role) {
	ticker := time.NewTicker(c.takeover)
	defer ticker.Stop()
	ticker.Stop()
	idle := calm
	for {
		if idle >= calm {
			ticker.Stop()
			c.asleep.Store(true)
			if !busy(roles) || !c.asleep.CompareAndSwap(true, false) {
				select {
				case <-c.wake:
				case <-c.stop:
					return
				}
			}
			idle = 0
			ticker.Reset(c.takeover)
		}
		select {
		case <-ticker.C:
		case <-c.stop:
			return
		}
		idle++
		if c.look(roles) {
			idle = 0
		}
	}
}

// look is one tick: it reports whether anything has moved since the last.
func (c *Crew) look(roles []*Role) (active bool) {
	for _, r := range roles {
		s := r.state.Load()
		switch {
		case s != r.seen:
			r.seen = s
			active = true
		case s&1 == 1 && c.depose(r, s):
			r.Stats.Takeovers.Add(1)
			c.lead(r)
			active = true
		case !r.parked.Load():
			active = true
		}
	}
	return active
}

// busy reports whether a leader is not parked.
func busy(roles []*Role) bool {
	for _, r := range roles {
		if !r.parked.Load() {
			return true
		}
	}
	return false
}
