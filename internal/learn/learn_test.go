package learn

import (
	"fmt"
	"testing"
	"time"
)

func TestHabit(t *testing.T) {
	var h Habit
	h.Held(0)
	h.Held(within + 1)
	if h.Blocks() {
		t.Error("two slow calls far from each other make a habit")
	}
	calls := uint64(within + 2)
	for round, needs := range []int{forget, 2 * forget, 4 * forget} {
		h.Held(calls)
		h.Held(calls)
		if !h.Blocks() || h.Slows() < 2 {
			t.Errorf("round %d, after two slow calls: blocks %v, %d slow", round, h.Blocks(), h.Slows())
		}
		for i := range needs - 1 {
			if i == needs/2 {
				h.Ran(quick + 1) // begins the count anew
			}
			if h.Ran(quick) {
				t.Fatalf("round %d: forgotten after %d quick calls, a slow one between", round, i+1)
			}
		}
		for i := needs - 1 - needs/2; i < needs; i++ {
			if h.Ran(0) != (i == needs-1) {
				t.Errorf("round %d: forgotten after %d quick calls, or not", round, i+1)
			}
		}
		if h.Blocks() || h.Slows() != 0 {
			t.Errorf("forgotten, but blocks %v, %d slow", h.Blocks(), h.Slows())
		}
		calls += 10
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
	s.Held([]byte("GET"), []byte("/a/1"), 0)
	s.Held([]byte("GET"), []byte("/a/2"), 0)
	h := s.Find([]byte("GET"), []byte("/a/345"))
	if h == nil {
		t.Fatal("a shape that was late twice is not found")
	}
	if s.Find([]byte("POST"), []byte("/a/345")) != nil || s.Find([]byte("GET"), []byte("/a/345/x")) != nil || s.Find([]byte("GET"), []byte("/b/1")) != nil {
		t.Error("found for another method or path")
	}
	for range forget {
		s.Ran(h, 0)
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
		s.Held([]byte("GET"), []byte(path), 0)
		s.Held([]byte("GET"), []byte(path), 0)
	}
	if s.Find([]byte("GET"), []byte("/posts/other")) == nil {
		t.Error("many names that block make no variable")
	}
	if s.Find([]byte("GET"), []byte("/posts/other/x")) != nil {
		t.Error("found for a longer path")
	}
}

// TestBound keeps what clients can make the table hold bounded.
func TestBound(t *testing.T) {
	var s Shapes
	name := func(i int) string {
		b := []byte(fmt.Sprintf("%06d", i))
		for j := range b {
			b[j] += 'a' - '0'
		}
		return "/" + string(b) + "/x"
	}
	for i := range 3 * maxShapes {
		s.Held([]byte("GET"), []byte(name(i)), 0)
		s.Held([]byte("GET"), []byte(name(i)), 0)
		if n := len(*s.known.Load()); n > maxShapes {
			t.Fatalf("%d shapes are remembered", n)
		}
		if s.Find([]byte("GET"), []byte(name(i))) == nil {
			t.Fatalf("shape %d is not found right after it was learned", i)
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
