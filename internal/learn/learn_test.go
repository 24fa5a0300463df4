package learn

import (
	"fmt"
	"testing"
	"time"
)

func TestHabit(t *testing.T) {
	var h Habit
	h.Held()
	if h.Blocks() {
		t.Error("one slow call makes a habit")
	}
	h.Held()
	if !h.Blocks() || h.Slows() != 2 {
		t.Errorf("after two slow calls: blocks %v, %d slow", h.Blocks(), h.Slows())
	}
	for i := range forget {
		if i == forget/2 {
			h.Ran(quick + 1) // begins the count anew
		}
		if h.Ran(quick) {
			t.Fatalf("forgotten after %d quick calls, a slow one between", i+1)
		}
	}
	for i := forget / 2; i < forget; i++ {
		if h.Ran(0) != (i == forget-1) {
			t.Errorf("forgotten after %d quick calls", i+1)
		}
	}
	if h.Blocks() || h.Slows() != 0 {
		t.Errorf("forgotten, but blocks %v, %d slow", h.Blocks(), h.Slows())
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
	s.Held([]byte("GET"), []byte("/a/1"))
	s.Held([]byte("GET"), []byte("/a/2"))
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
		s.Held([]byte("GET"), []byte(path))
		s.Held([]byte("GET"), []byte(path))
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
		s.Held([]byte("GET"), []byte(name(i)))
		s.Held([]byte("GET"), []byte(name(i)))
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
