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
	mu       sync.Mutex  // held to change known, which is replaced as a whole, and trial
	trial    trial
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
	if h := known[string(shape)]; h != nil && h.Blocks() {
		return h
	}
	if h := known[string(widen(shape))]; h != nil && h.Blocks() {
		return h
	}
	return nil
}

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
		name := string(shape)
		if s.habit(name).Held(d) {
			s.learned(name)
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
			if s.habit(t.shape).learn() {
				s.learned(t.shape)
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

// learned is called for a shape that blocks from now on. If many siblings block, it makes
// the last segment a variable one. s.mu is held.
func (s *Shapes) learned(shape string) {
	wide := string(widen([]byte(shape)))
	need := siblings
	if h := s.find(wide); h != nil {
		need <<= min(h.doubled(), doublings) // it was wrong before
	}
	if s.children(shape) >= need {
		s.habit(wide).learn()
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

// habit returns the habit of a shape, a new one if necessary. s.mu is held.
func (s *Shapes) habit(shape string) *Habit {
	if h := s.find(shape); h != nil {
		return h
	}
	next := map[string]*Habit{}
	if known := s.known.Load(); known != nil {
		if len(*known) < maxShapes {
			next = maps.Clone(*known)
		} else {
			s.blocking.Store(0) // everything is forgotten, and learned again
		}
	}
	h := new(Habit)
	next[shape] = h
	s.known.Store(&next)
	return h
}

// children counts the shapes that block and differ from this one only in their last
// segment.
func (s *Shapes) children(shape string) (n int) {
	parent := shape[:strings.LastIndexByte(shape, '/')+1]
	for other, h := range *s.known.Load() {
		if rest, ok := strings.CutPrefix(other, parent); ok && strings.IndexByte(rest, '/') < 0 && h.Blocks() {
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
