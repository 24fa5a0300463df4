package transport

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
)

// TestLogger has a log that blocks: reports wait, no more than a few, and come in
// their order.
func TestLogger(t *testing.T) {
	before := runtime.NumGoroutine()
	release, got := make(chan struct{}), make(chan string, 2*logMost)
	l := NewLogger(func(msg string, err error) {
		<-release
		got <- msg + ": " + err.Error()
	})
	for i := range 10 {
		l.Log("the same", fmt.Errorf("error %d", i))
	}
	var want []string
	for i := range 2 * logMost {
		l.Log(fmt.Sprintf("message %d", i), errors.New("odd"))
	}
	want = append(want, "the same: error 0")
	close(release)
	for range logMost {
		want = append(want, fmt.Sprintf("message %d: odd", len(want)-1))
	}
	var lines []string
	for end := time.After(time.Minute); len(lines) < logMost; {
		select {
		case s := <-got:
			lines = append(lines, s)
		case <-end:
			t.Fatalf("%d lines have come", len(lines))
		}
	}
	if !slices.Equal(lines, want[:logMost]) {
		t.Errorf("the lines are %q", lines)
	}
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the logger's goroutine does not end")
		}
	}
	if n := len(got); n > 1 {
		t.Errorf("%d lines more have come than may wait", n)
	}
	NewLogger(nil).Log("nobody listens", errors.New("odd"))
}
