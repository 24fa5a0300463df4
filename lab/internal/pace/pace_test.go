package pace

import (
	"testing"
	"time"
)

func TestWindow(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0.20 0.10 0.05 1/100 50\n": time.Second,
		"2.00 2.00 2.00 1/100 50\n": time.Second,
		"4.00 4.00 4.00 1/100 50\n": time.Second,
		"6.00 1.00 1.00 1/100 50\n": 1500 * time.Millisecond,
		"12.4 1.00 1.00 1/100 50\n": 3100 * time.Millisecond,
		"99.0 1.00 1.00 1/100 50\n": 5 * time.Second,
		"":                          time.Second,
	} {
		if got := stretched(time.Second, text, 2); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if got := Window(time.Second); got < time.Second || got > 5*time.Second {
		t.Errorf("here: %v", got)
	}
}
