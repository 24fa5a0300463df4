package lead

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/clock"
)

const (
	// sparePerRole is how many hands without a loop are kept for each loop.
	sparePerRole = 2
	// coarse is the number of takeover times between two looks of the watchdog while loops
	// move and none was within a call. A look costs a thread's wake-up.
	coarse = 5

	never = math.MaxInt64
)

// A Crew is the hands and roles of one transport, with their watchdog.
type Crew struct {
	takeover time.Duration
	recovery int64 // of a loop from a takeover, in nanoseconds

	alarm  *alarm
	asleep atomic.Bool   // the watchdog checks no loop
	Looks  atomic.Uint64 // number of looks

	mu      sync.Mutex
	at      int64 // when the alarm is set to fire, on the clock's scale, or never
	next    int64 // when the watchdog will look again, unless it is asleep
	roles   []*Role
	spare   int        // hands that wait for a role, or are about to
	calls   chan *Role // for waiting hands; it has room for all
	inputs  [][]byte   // unused buffers
	open    int        // roles that have a leader
	stopped bool

	stop  chan struct{}
	hands sync.WaitGroup
}

// NewCrew returns a crew whose watchdog calls a follower when foreign code holds a loop for
// takeover, or up to six times that; 0 means a millisecond.
func NewCrew(takeover time.Duration) *Crew {
	if takeover <= 0 {
		takeover = time.Millisecond
	}
	c := &Crew{takeover: takeover, recovery: recovery, at: never, stop: make(chan struct{})}
	c.asleep.Store(true)
	return c
}

// Role adds a loop. lead is run by each hand that leads it, from the beginning or from
// where another hand has lost it, until it loses the loop too or the loop is done: in that
// case it calls [Hand.Done]. If foreign code ends the goroutine of a hand (runtime.Goexit,
// as t.FailNow does), that goroutine calls exited, after another hand has taken over what
// it led. The role starts with Start.
func (c *Crew) Role(lead, exited func(*Hand)) *Role {
	r := &Role{crew: c, lead: lead, exited: exited, until: never}
	r.strain.init(c.recovery)
	r.parked.Store(true)
	c.mu.Lock()
	c.roles = append(c.roles, r)
	c.mu.Unlock()
	return r
}

// Start gives every role its first leader, and starts the watchdog. On an error
// nothing has begun.
func (c *Crew) Start() error {
	alarm, err := newAlarm()
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.alarm = alarm
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
	return nil
}

// Done is called by the leader of a loop that is closed, instead of continuing to lead.
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
	close(c.calls)
	c.alarm.set(0) // for the watchdog to end
}

// Stopped is closed when all roles and the watchdog are done.
func (c *Crew) Stopped() <-chan struct{} { return c.stop }

// Wait blocks until all hands have ended, including those that run foreign code.
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

// exit is the end of a hand within foreign code. Its memory may still be in use by
// goroutines to which that code has passed it: it is left to the collector.
func (c *Crew) exit(h *Hand) {
	r := h.role
	if h.leading && r.state.CompareAndSwap(h.seq, h.seq+h.seq&1) {
		h.leading = false
		c.lead(r)
	}
	r.exited(h)
}

// take gives a hand the lead and a buffer.
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

// rest makes a hand that no longer leads wait for a role. It returns nil if enough hands
// wait.
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

// collect takes the buffer of a hand that no longer uses it, and keeps it for the next
// leader. c.mu is held.
func (c *Crew) collect(h *Hand) {
	if len(h.in) == minInput && len(c.inputs) < cap(c.calls) {
		c.inputs = append(c.inputs, h.in)
	}
	h.in = nil
}

// depose takes the role from a leader that is in the call of foreign code with number s,
// unless the leader is just returning. The leader's buffer goes to the next one if it is
// released; if that is just happening, either of them takes it. While the lock is held the
// old leader cannot rest, and so not lead again. c.mu is held.
func (c *Crew) depose(r *Role, s uint64) bool {
	if !r.state.CompareAndSwap(s, s+1) {
		return false
	}
	if h := r.leader; h.released.Load() {
		r.in, h.in = h.in, nil
	}
	return true
}

// takeOver makes a follower lead instead of a leader that is in the call of foreign code with
// number s. Between the two the role is the watchdog's. Who is told that the call has not
// returned knows it before the next call begins.
func (c *Crew) takeOver(r *Role, s uint64) {
	c.mu.Lock()
	if !c.depose(r, s) {
		c.mu.Unlock()
		return
	}
	now := clock.Refresh()
	r.strain.add(now)
	r.leader.lost, r.leader.rare = now, s-r.taken >= 2*rare
	w := r.leader.Watch(nil)
	c.mu.Unlock()
	if w != nil {
		w.Overran(w)
	}
	r.taken = s
	r.Stats.Takeovers.Add(1)
	c.lead(r)
}

// returned is called when a call from which the watchdog has taken over returns, or detaches.
func (c *Crew) returned(h *Hand) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := clock.Refresh(); now-h.lost < soon {
		h.role.strain.forgive(now, h.rare)
	}
}

// watch wakes the watchdog if it sleeps.
//
//  1. A loop clears its parked flag, then reads asleep.
//  2. The watchdog sets asleep, then reads the parked flags.
//
// So at least one of them sees the other.
func (c *Crew) watch() {
	if c.asleep.Load() && c.asleep.CompareAndSwap(true, false) {
		c.mu.Lock()
		c.next = clock.Nano() + coarse*int64(c.takeover)
		c.arm(c.next)
		c.mu.Unlock()
	}
}

// arm makes the alarm fire at a time, or earlier. c.mu is held.
func (c *Crew) arm(at int64) {
	if at < c.at && !c.stopped {
		c.at = at
		c.alarm.set(time.Duration(at - clock.Refresh()))
	}
}

// watchdog deposes leaders whose foreign code does not return, and rings for loops whose
// deadlines have come. It looks at coarse intervals while loops move, and again one
// takeover time after it has found one within a call or taken it over; while all are parked it
// does not look.
func (c *Crew) watchdog(roles []*Role) {
	for c.alarm.wait() {
		c.Looks.Add(1)
		c.mu.Lock()
		c.at = never
		if c.stopped {
			c.mu.Unlock()
			break
		}
		now := clock.Refresh()
		for _, r := range roles {
			switch {
			case r.until > now:
				c.arm(r.until)
			case r.bell.Ring():
				r.until = never // it looks, and says what comes next
			default:
				c.arm(now + int64(time.Millisecond)) // it moves, but may just have looked
			}
		}
		early := now < c.next
		if early && !c.asleep.Load() {
			c.arm(c.next)
		}
		c.mu.Unlock()
		if early || c.asleep.Load() {
			continue // it fired for a deadline
		}
		moved, within := c.look(roles)
		wait := coarse * c.takeover
		switch {
		case within:
			wait = c.takeover
		case !moved:
			c.asleep.Store(true)
			if !busy(roles) || !c.asleep.CompareAndSwap(true, false) {
				continue
			}
		}
		c.mu.Lock()
		c.next = now + int64(wait)
		c.arm(c.next)
		c.mu.Unlock()
	}
	// Nothing sets it any more: the loops are gone.
	_ = c.alarm.close()
	close(c.stop)
}

// look takes over loops that are in the same call as at the last look. It reports whether
// anything has moved since, and whether it should look again soon: a loop is within a call that
// may last.
func (c *Crew) look(roles []*Role) (moved, within bool) {
	for _, r := range roles {
		s := r.state.Load()
		switch {
		case s&1 == 1 && s == r.seen:
			c.takeOver(r, s)
			within = true // what follows a call that does not return may not return either
		case s&1 == 1:
			within = true
			r.seen = s
		case s != r.seen:
			moved = true
			r.seen = s
		case !r.parked.Load():
			moved = true
		}
	}
	return moved, within
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
