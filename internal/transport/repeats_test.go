package transport

import (
	"errors"
	"testing"
	"time"
)

// TestRepeats has an error come ten times a second for a minute.
func TestRepeats(t *testing.T) {
	var r Repeats
	var lines []string
	full := errors.New("too many open files")
	log := func(msg string, err error) {
		if !errors.Is(err, full) {
			t.Errorf("the error is lost: %v", err)
		}
		lines = append(lines, msg+": "+err.Error())
	}
	start := time.Now()
	for i := range 600 {
		r.Log(log, start.Add(time.Duration(i)*100*time.Millisecond), "accept connection", full)
	}
	r.Log(nil, start.Add(time.Hour), "accept connection", full) // nobody listens
	r.Log(log, start.Add(2*time.Hour), "accept connection", full)
	const first = "accept connection: too many open files"
	if len(lines) != 7 || lines[0] != first {
		t.Fatalf("%d lines, want 7: %q", len(lines), lines)
	}
	for _, l := range lines[1:] {
		if l != first+" (and 99 times since the last report)" {
			t.Errorf("%q", l)
		}
	}
}
