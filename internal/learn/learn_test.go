package learn

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestSlowCalls learns a handler from two calls that take very long, however many
// quick ones come between.
func TestSlowCalls(t *testing.T) {
	var h Habit
	if h.Held(Slow+1) || h.Blocks() {
		t.Error("one slow call makes a habit")
	}
	for range 1000 {
		h.Held(long - 1)
	}
	if !h.Held(Slow+1) || !h.Blocks() || h.Slows() != 2 {
		t.Errorf("after two slow calls: blocks %v, %d slow", h.Blocks(), h.Slows())
	}
	if h.Held(Slow + 1) {
		t.Error("learned twice")
	}
}

// TestLongCalls learns a handler whose calls are long as a rule, not one of which
// some are.
func TestLongCalls(t *testing.T) {
	for _, c := range []struct {
		name  string
		calls string // . is short, l is long, ? is not known
		after int    // of them it is learned
	}{
		{"all", strings.Repeat("l", 20), most},
		{"three of four", strings.Repeat("lll.", 10), window - 1},
		{"not known", strings.Repeat("l?", 20), 2*most - 1},
		{"half", strings.Repeat("l.", 500), 0},
		{"clusters", strings.Repeat(strings.Repeat("l", most-1)+strings.Repeat(".", window), 50), 0},
	} {
		var h Habit
		at := 0
		for i, k := range c.calls {
			d := map[rune]time.Duration{'.': long - 1, 'l': long, '?': 0}[k]
			if h.Held(d) && at == 0 {
				at = i + 1
			}
		}
		if at != c.after || h.Blocks() != (at > 0) {
			t.Errorf("%s: learned after %d calls, want %d", c.name, at, c.after)
		}
	}
}

// TestForget forgets a handler whose calls could have stayed on the loop but for a few.
func TestForget(t *testing.T) {
	for _, c := range []struct {
		waits int
		want  bool
	}{{0, true}, {few - 1, true}, {few, false}, {forget, false}} {
		var h Habit
		h.Held(Slow + 1)
		h.Held(Slow + 1)
		for i := range forget {
			d := time.Duration(1)
			if i < c.waits {
				d = short
			}
			if h.Ran(d) != (c.want && i == forget-1) {
				t.Errorf("%d waits: forgotten after %d calls", c.waits, i+1)
			}
		}
		if h.Blocks() == c.want || c.want && h.Slows() != 0 {
			t.Errorf("%d waits: blocks %v, %d slow", c.waits, h.Blocks(), h.Slows())
		}
	}
}

// TestFlaps stops learning a handler that is long on the loop and not off it, and
// begins again when it has blocked off the loop, or some time has passed.
func TestFlaps(t *testing.T) {
	var h Habit
	var s Shapes
	get, path := []byte("GET"), []byte("/x")
	learned := func(calls int) (by, of int) {
		for range calls {
			if h.Held(long) {
				by++
			}
			if s.Held(get, path, long); s.Find(get, path) != nil {
				of++
			}
			for h.Blocks() {
				h.Ran(1)
			}
			for k := s.Find(get, path); k != nil && k.Blocks(); {
				s.Ran(k, 1)
			}
		}
		return by, of
	}
	if by, of := learned(2 * trialLeft); by != 1 || of != 1 {
		t.Errorf("learned %d times, as a shape %d times, want once", by, of)
	}
	h.calm.Store(1)
	s.find("GET /x").calm.Store(1)
	if by, of := learned(2 * trialLeft); by != 1 || of != 1 {
		t.Errorf("learned %d times some time later, as a shape %d times, want once more", by, of)
	}
	for range after {
		h.Held(Slow + 1)
	}
	for range forget {
		h.Ran(short)
	}
	for range forget {
		h.Ran(1)
	}
	if by, _ := learned(2 * trialLeft); by != 1 { // it has blocked off the loop, so its calls are long as before
		t.Errorf("learned %d times after it has blocked off the loop, want once", by)
	}
	for i := range 3 * doublings {
		for range 2 * most {
			h.Held(2 * Slow)
		}
		if !h.Blocks() {
			t.Errorf("not learned from what is slow, when forgotten %d times", i)
		}
		for range forget {
			h.Ran(1)
		}
	}
	if h.long() > Slow {
		t.Errorf("calls are long from %v, later than slow, %v", h.long(), Slow)
	}
}

// TestPhases learns a handler again that waits for some time, and is quick for some time.
func TestPhases(t *testing.T) {
	const waits, quick = 5000, forget + 50
	for _, bursts := range []struct{ waits, quick int }{{waits, quick}, {70, 330}, {30, 370}} {
		var h Habit
		held := 0
		for range 100 {
			for i := range bursts.waits + bursts.quick {
				d := time.Duration(1)
				if i < bursts.waits {
					d = long
				}
				switch {
				case h.Blocks():
					h.Ran(d)
				case d == long:
					held++
					fallthrough
				default:
					h.Held(d)
				}
			}
		}
		if want := 100 * (most + 1); held > want {
			t.Errorf("%+v: %d waits held their loop, want %d at most", bursts, held, want)
		}
	}
}

// TestTrialOfTheFlapped leaves the trial to others when a shape has been forgotten.
func TestTrialOfTheFlapped(t *testing.T) {
	var s Shapes
	get := []byte("GET")
	for range 3 * trialLeft {
		s.Held(get, []byte("/flaps"), long)
		for k := s.Find(get, []byte("/flaps")); k != nil && k.Blocks(); {
			s.Ran(k, 1)
		}
	}
	for i := range 1000 {
		s.Held(get, []byte("/flaps"), long)
		if i%10 == 0 {
			s.Held(get, []byte("/waits"), 6*long)
		}
		if s.Find(get, []byte("/waits")) != nil {
			return
		}
	}
	t.Error("a shape that waits is not learned beside one that was forgotten")
}

// TestTrial learns a shape from its long calls among those of others.
func TestTrial(t *testing.T) {
	var s Shapes
	get := []byte("GET")
	for i := range 100 * trialLeft {
		s.Held(get, []byte("/quick"), long-1)
		if i%10 == 0 {
			s.Held(get, name(i), long) // none comes twice
		}
		if i%100 == 0 {
			s.Held(get, []byte("/slow/1"), long)
		}
	}
	if s.Find(get, []byte("/slow/2")) == nil {
		t.Error("a shape whose calls are long is not learned")
	}
	if s.Find(get, []byte("/quick")) != nil {
		t.Error("one whose calls are not is")
	}
}

func TestShape(t *testing.T) {
	for path, want := range map[string]string{
		"/":                        "GET /",
		"/a/b":                     "GET /a/b",
		"/users/8812/orders/x-17":  "GET /users/*/orders/*",
		"/users/8812/":             "GET /users/*/",
		"/v1/items":                "GET /*/items",
		"/550e8400-e29b-41d4/edit": "GET /*/edit",
		"*":                        "GET *",
		"":                         "GET ",
	} {
		if got := string(appendShape(nil, []byte("GET"), []byte(path))); got != want {
			t.Errorf("shape of %q is %q, want %q", path, got, want)
		}
	}
}

func TestShapes(t *testing.T) {
	var s Shapes
	if s.Find([]byte("GET"), []byte("/a/1")) != nil {
		t.Error("found before anything was learned")
	}
	s.Held([]byte("GET"), []byte("/a/1"), Slow+1)
	s.Held([]byte("GET"), []byte("/a/2"), Slow+1)
	h := s.Find([]byte("GET"), []byte("/a/345"))
	if h == nil {
		t.Fatal("a shape that was late twice is not found")
	}
	if s.Find([]byte("POST"), []byte("/a/345")) != nil || s.Find([]byte("GET"), []byte("/a/345/x")) != nil || s.Find([]byte("GET"), []byte("/b/1")) != nil {
		t.Error("found for another method or path")
	}
	for range forget {
		s.Ran(h, 1)
	}
	if s.Find([]byte("GET"), []byte("/a/345")) != nil || s.blocking.Load() != 0 {
		t.Error("found after it was forgotten")
	}
	s.Ran(h, time.Second)
	if s.blocking.Load() != 0 {
		t.Error("forgotten twice")
	}
}

// TestSiblings takes the last segment for a variable when many of them block.
func TestSiblings(t *testing.T) {
	var s Shapes
	for i := range siblings {
		path := "/posts/" + string(rune('a'+i))
		if s.Find([]byte("GET"), []byte("/posts/other")) != nil {
			t.Fatalf("%d names make a variable", i)
		}
		s.Held([]byte("GET"), []byte(path), Slow+1)
		s.Held([]byte("GET"), []byte(path), Slow+1)
	}
	if s.Find([]byte("GET"), []byte("/posts/other")) == nil {
		t.Error("many names that block make no variable")
	}
	if s.Find([]byte("GET"), []byte("/posts/other/x")) != nil {
		t.Error("found for a longer path")
	}
}

// name is a path of its own for each number.
func name(i int) []byte {
	b := []byte(fmt.Sprintf("%06d", i))
	for j := range b {
		b[j] += 'a' - '0'
	}
	return []byte("/" + string(b) + "/x")
}

// TestForgottenTwice forgets a shape that had been discarded with all others.
func TestForgottenTwice(t *testing.T) {
	var s Shapes
	learn(&s, []byte("/old"))
	old := s.Find(get, []byte("/old"))
	for i := 0; s.find("GET /old") != nil; i++ {
		s.swept = time.Time{}
		s.Held(get, name(i), Slow+1)
	}
	for range forget {
		s.Ran(old, 1)
	}
	learn(&s, []byte("/new"))
	if s.Find(get, []byte("/new")) == nil {
		t.Error("a shape that blocks is not found")
	}
}
