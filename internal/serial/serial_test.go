package serial

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

const patience = time.Minute

// An item counts its turns.
type item struct{ turns atomic.Int64 }

func (i *item) Turn() bool { return i.turns.Add(1) > 0 }

// TestWalk wants walks one after the other, with a turn for each result.
func TestWalk(t *testing.T) {
	var l Loop
	defer l.Close()
	var order []int
	done := make(chan struct{})
	var visited item
	for w := range 3 {
		n := 0
		l.Walk(func() (interface{ Turn() bool }, bool) {
			order = append(order, w)
			if n++; n%2 == 0 {
				return nil, true
			}
			if n == 9 && w == 2 {
				defer close(done)
			}
			return &visited, n < 9
		})
	}
	wait(t, done)
	if len(order) != 27 || !slices.IsSorted(order) {
		t.Errorf("walks are mixed: %v", order)
	}
	after := make(chan struct{})
	l.Later(0, func() { close(after) })
	wait(t, after)
	if n := visited.turns.Load(); n != 15 {
		t.Errorf("%d turns, want 15", n)
	}
}

func wait(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("waited in vain")
	}
}

// TestLater wants functions in the order in which they are due.
func TestLater(t *testing.T) {
	var l Loop
	defer l.Close()
	var from, to [4]time.Time // when each is due
	order := make(chan int, 4)
	for _, i := range []int{2, 0, 3, 1} {
		after := time.Duration(i) * 20 * time.Millisecond
		due := time.Now().Add(after)
		l.Later(after, func() {
			if early := time.Until(due); early > 0 {
				t.Errorf("function %d is called %v early", i, early)
			}
			order <- i
		})
		from[i], to[i] = due, time.Now().Add(after)
	}
	var called []int
	for range 4 {
		select {
		case i := <-order:
			for _, j := range called {
				if to[i].Before(from[j]) {
					t.Errorf("function %d is called before function %d", j, i)
				}
			}
			called = append(called, i)
		case <-time.After(patience):
			t.Fatal("waited in vain")
		}
	}
}

// TestExit has a function end its goroutine: those behind it are called.
func TestExit(t *testing.T) {
	var l Loop
	defer l.Close()
	done := make(chan struct{})
	l.Later(0, runtime.Goexit)
	l.Later(0, func() { close(done) })
	wait(t, done)
}

// TestClose wants nothing to be called after Close, which comes within a walk.
func TestClose(t *testing.T) {
	var l Loop
	inside, release := make(chan struct{}), make(chan struct{})
	l.Walk(func() (interface{ Turn() bool }, bool) {
		close(inside) // which panics if it is called again
		<-release
		return nil, true
	})
	l.Later(0, func() { t.Error("a function is called after Close") })
	wait(t, inside)
	l.Close()
	close(release)
	if l.Walk(nil) || l.Later(0, nil) {
		t.Error("a closed loop takes functions")
	}
}
