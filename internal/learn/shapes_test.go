package learn

import (
	"testing"
	"time"
)

// learn makes a shape block.
func learn(s *Shapes, path []byte) {
	s.Held(get, path, Slow+1)
	s.Held(get, path, Slow+1)
}

var get = []byte("GET")

// TestBound keeps what clients can make the table hold bounded.
func TestBound(t *testing.T) {
	var s Shapes
	for i := range 3 * maxShapes {
		s.swept = time.Time{}
		learn(&s, name(i))
		s.Find(get, name(i))
		if n := len(*s.known.Load()); n > maxShapes {
			t.Fatalf("%d shapes are remembered", n)
		}
	}
	n := 0
	s.Each(func(_ string, h *Habit) {
		if h.Blocks() {
			n++
		}
	})
	if int(s.blocking.Load()) != n {
		t.Errorf("%d shapes block, counted %d", n, s.blocking.Load())
	}
}

// TestFlood keeps a shape that requests keep having while clients make up others, whether
// those block, too, or not.
func TestFlood(t *testing.T) {
	used := []byte("/used/by/many")
	for calls := 1; calls <= 2; calls++ {
		var s Shapes
		learn(&s, used)
		for i := range 5 * maxShapes {
			for range calls {
				s.Held(get, name(i), Slow+1)
			}
			if i%maxShapes == 0 {
				s.swept = time.Time{} // some time passes
			}
			if i%(maxShapes/4) == 0 && s.Find(get, used) == nil {
				t.Fatalf("%d calls each: forgotten after %d others", calls, i)
			}
		}
	}
}

// TestFull learns a shape although the table is full of others that block and were found: some
// time later those make room that were not found again.
func TestFull(t *testing.T) {
	var s Shapes
	for i := range maxShapes {
		learn(&s, name(i))
		s.Find(get, name(i))
	}
	late, again, gone := []byte("/late"), name(7), name(8)
	learn(&s, late)
	learn(&s, late)
	if s.Find(get, late) != nil || s.find("GET "+string(gone)) == nil {
		t.Error("shapes that were just found make room")
	}
	s.Find(get, again)
	s.swept = time.Time{} // some time passes
	learn(&s, late)
	if s.Find(get, late) == nil || s.Find(get, again) == nil || s.Find(get, gone) != nil {
		t.Errorf("found: the new shape %v, one in use %v, one that is not %v",
			s.Find(get, late) != nil, s.Find(get, again) != nil, s.Find(get, gone) != nil)
	}
}

// TestOverran learns from calls that have not returned: a shape, and from one call each of many
// that differ in their last segment what they have in common.
func TestOverran(t *testing.T) {
	var s Shapes
	for range after {
		s.Overran(get, []byte("/hangs"))
	}
	if s.Find(get, []byte("/hangs")) == nil || s.Find(get, []byte("/other")) != nil {
		t.Error("the shape that hangs is not learned, or another one is")
	}
	for i := range siblings {
		s.Overran(get, []byte("/all/"+string(rune('a'+i))))
	}
	if s.Find(get, []byte("/all/others")) == nil || s.Find(get, []byte("/others")) != nil {
		t.Error("siblings that hang are not learned, or others are")
	}
}

// TestStuck does not forget a handler of whose calls off the loop many do not return.
func TestStuck(t *testing.T) {
	for _, c := range []struct {
		stuck int // while calls are evaluated
		want  bool
	}{{0, true}, {few - 1, true}, {few, false}} {
		var h Habit
		for range 5 * few {
			h.Begin() // these are in progress when it is learned, and after that
		}
		for range after {
			h.Overran()
		}
		for range c.stuck {
			h.Begin()
		}
		forgotten := false
		for range forget {
			h.Begin()
			forgotten = h.Ran(1)
		}
		if forgotten != c.want {
			t.Errorf("%d do not return: forgotten %v", c.stuck, forgotten)
		}
	}
}
