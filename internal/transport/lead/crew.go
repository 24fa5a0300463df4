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
	spare   []*Hand
	open    int // roles that have a leader
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
// in this case it calls [Hand.Done]. The role starts with Start.
func (c *Crew) Role(lead func(*Hand)) *Role {
	r := &Role{crew: c, lead: lead}
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
	for _, s := range c.spare {
		s.call <- nil
	}
	c.spare = nil
}

// Stopped is closed when all roles are done.
func (c *Crew) Stopped() <-chan struct{} { return c.stop }

// Wait blocks until all hands have ended: those that run foreign code too.
func (c *Crew) Wait() { c.hands.Wait() }

// lead gives a role to a hand, a new one if none is spare.
func (c *Crew) lead(r *Role) {
	c.mu.Lock()
	var h *Hand
	if n := len(c.spare); n > 0 {
		h = c.spare[n-1]
		c.spare[n-1] = nil
		c.spare = c.spare[:n-1]
	} else {
		h = &Hand{in: make([]byte, minInput), call: make(chan *Role, 1)}
		c.hands.Add(1)
		go c.run(h)
	}
	c.mu.Unlock()
	h.call <- r
}

// run is the life of a hand.
func (c *Crew) run(h *Hand) {
	defer c.hands.Done()
	for {
		r := <-h.call
		if r == nil {
			return
		}
		h.role, h.seq, h.leading = r, r.state.Load(), true
		r.lead(h)
		if !c.rest(h) {
			return
		}
	}
}

// rest puts a hand among the spare ones, and reports whether there was room.
func (c *Crew) rest(h *Hand) bool {
	h.leading = false
	if len(h.in) > minInput {
		h.in = make([]byte, minInput)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped || len(c.spare) >= sparePerRole*len(c.roles) {
		h.Out.Release()
		return false
	}
	c.spare = append(c.spare, h)
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
		case s&1 == 1 && r.state.CompareAndSwap(s, s+1):
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
