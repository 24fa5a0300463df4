package learn

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxShapes bounds the number of stored shapes: clients choose the paths.
	maxShapes = 1024
	// maxShape is how many bytes of a path are used.
	maxShape = 256
	// siblings is how many shapes that differ only in their last segment make that segment
	// a variable one.
	siblings = 8
	// keep is how long a shape stays at least after it was found.
	keep = 2 * time.Second
)

// Shapes are the habits of handlers behind a router whose routes are unknown. Its requests
// are distinguished by method and shape of the path: segments that contain a digit count as
// identifiers, and so do last segments if many of them turn out to block. The zero value is
// ready.
//
//	GET /users/8812/orders/x-17   GET /users/*/orders/*
type Shapes struct {
	blocking atomic.Int32 // shapes that block: while there are none, lookups are skipped
	known    atomic.Pointer[map[string]*Habit]
	tries    atomic.Bool // a trial is in progress
	mu       sync.Mutex  // held to change known, which is replaced as a whole, and what follows
	trial    trial
	swept    time.Time // when room was made last
}

// A trial is about the shape of a request that took long, until the next few requests show
// whether that is its habit. One shape at a time is on trial. This bounds the cost of
// requests meanwhile, and the memory for paths that occur only once.
type trial struct {
	shape string
	habit Habit
	calls int // of this shape
	long  int // of them
	left  int // requests that are still examined
}

const (
	// trialCalls is the number of calls of which at least half have to be long for the
	// trial to continue, and trialLeft the maximum number of requests of all shapes that it
	// lasts.
	trialCalls = 4
	trialLeft  = 4096
)

// Find returns the habit that marks such a request as blocking, or nil.
func (s *Shapes) Find(method, path []byte) *Habit {
	if s.blocking.Load() == 0 {
		return nil
	}
	var room [maxShape + 32]byte
	known := *s.known.Load()
	shape := appendShape(room[:0], method, path)
	h := known[string(shape)]
	if h == nil || !h.Blocks() {
		if h = known[string(widen(shape))]; h == nil || !h.Blocks() {
			return nil
		}
	}
	if !h.found.Load() {
		h.found.Store(true)
	}
	return h
}

// Overran records that such a request, whose handler may never return, has held its loop until
// it was taken over. It is not to be recorded by Held as well.
func (s *Shapes) Overran(method, path []byte) { s.Held(method, path, Slow+1) }

// Held records how long such a request took on the loop: see [Habit.Held].
func (s *Shapes) Held(method, path []byte, d time.Duration) {
	if d < long && !s.tries.Load() || d == 0 {
		return
	}
	var room [maxShape + 32]byte
	shape := appendShape(room[:0], method, path)
	s.mu.Lock()
	defer s.mu.Unlock()
	if d > Slow {
		if h := s.habit(string(shape)); h != nil {
			h.Held(d)
			s.spread(string(shape))
		}
		return
	}
	t := &s.trial
	if t.left == 0 {
		h := s.find(string(shape))
		if d < long || h != nil && d < h.long() {
			return
		}
		*t = trial{shape: string(shape), left: trialLeft}
		if h != nil {
			t.habit.flaps.Store(h.flaps.Load())
			t.habit.calm.Store(h.calm.Load())
		}
		s.tries.Store(true)
	}
	if t.left--; string(shape) == t.shape {
		t.calls++
		if d >= t.habit.long() {
			t.long++
		}
		switch {
		case t.habit.Held(d):
			if h := s.habit(t.shape); h != nil {
				h.learn()
				s.spread(t.shape)
			}
			t.left = 0
		case t.calls >= trialCalls && t.long < t.calls/2:
			t.left = 0
		}
	}
	if t.left == 0 {
		s.tries.Store(false)
	}
}

// spread is called for a shape that has held its loop. If many siblings have, it makes the
// last segment a variable one. s.mu is held.
func (s *Shapes) spread(shape string) {
	wide := string(widen([]byte(shape)))
	need := siblings
	if h := s.find(wide); h != nil {
		need <<= min(h.doubled(), doublings) // it was wrong before
	}
	if s.children(shape) >= need {
		if h := s.habit(wide); h != nil {
			h.learn()
		}
	}
	s.recount()
}

// Ran records how long a call off the loop took.
func (s *Shapes) Ran(h *Habit, d time.Duration) {
	if h.Ran(d) {
		s.mu.Lock()
		s.recount()
		s.mu.Unlock()
	}
}

// recount counts the shapes that block: a habit that is forgotten may belong to shapes that
// were discarded together. s.mu is held.
func (s *Shapes) recount() {
	n := int32(0)
	for _, h := range *s.known.Load() {
		if h.Blocks() {
			n++
		}
	}
	s.blocking.Store(n)
}

// Each calls f for every shape that has held up its loop.
func (s *Shapes) Each(f func(shape string, h *Habit)) {
	if known := s.known.Load(); known != nil {
		for shape, h := range *known {
			f(shape, h)
		}
	}
}

// find returns the habit of a shape, or nil.
func (s *Shapes) find(shape string) *Habit {
	if known := s.known.Load(); known != nil {
		return (*known)[shape]
	}
	return nil
}

// habit returns the habit of a shape, a new one if necessary, or nil if there is no room for
// it. s.mu is held.
func (s *Shapes) habit(shape string) *Habit {
	if h := s.find(shape); h != nil {
		return h
	}
	next := s.room()
	if next == nil {
		return nil
	}
	h := new(Habit)
	next[shape] = h
	s.known.Store(&next)
	return h
}

// room returns a copy of what is known that has room for one more, or nil. If it is full, only
// what blocks and was found since the last time, at least keep ago, stays: shapes that clients
// make up do not displace those that requests keep having. s.mu is held.
func (s *Shapes) room() map[string]*Habit {
	known := s.known.Load()
	switch {
	case known == nil:
		return map[string]*Habit{}
	case len(*known) < maxShapes:
		return maps.Clone(*known)
	case time.Since(s.swept) < keep:
		return nil
	}
	s.swept = time.Now()
	next := map[string]*Habit{}
	for shape, h := range *known {
		if h.found.Swap(false) && h.Blocks() {
			next[shape] = h
		}
	}
	if len(next) == maxShapes {
		return nil
	}
	return next
}

// children counts the shapes that have held their loop, or block, and differ from this one only
// in their last segment.
func (s *Shapes) children(shape string) (n int) {
	parent := shape[:strings.LastIndexByte(shape, '/')+1]
	for other, h := range *s.known.Load() {
		if rest, ok := strings.CutPrefix(other, parent); ok && strings.IndexByte(rest, '/') < 0 && (h.Blocks() || h.Slows() > 0) {
			n++
		}
	}
	return n
}

// appendShape appends method and shape of a path.
func appendShape(b, method, path []byte) []byte {
	b = append(append(b, method[:min(len(method), 16)]...), ' ')
	path = path[:min(len(path), maxShape)]
	segment := len(b)
	variable := false
	for i := range len(path) {
		c := path[i]
		if c == '/' {
			if variable {
				b = append(b[:segment], '*')
			}
			b = append(b, '/')
			segment, variable = len(b), false
			continue
		}
		variable = variable || c >= '0' && c <= '9'
		b = append(b, c)
	}
	if variable {
		b = append(b[:segment], '*')
	}
	return b
}

// widen replaces the last segment of a shape by '*'. It may change its argument.
func widen(shape []byte) []byte {
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] == '/' {
			return append(shape[:i+1], '*')
		}
	}
	return shape
}
