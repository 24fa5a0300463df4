package arrive

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Ramp defines how many users, or connections, a closed loop has over time. A ramp in use
// must not change.
type Ramp struct {
	From  int        `json:"from"` // at the start, and before it
	Steps []RampStep `json:"steps"`
	Index int        `json:"index,omitempty"` // of one of several generators, each of which has a part of the users: its number, from 0
	Of    int        `json:"of,omitempty"`    // and how many of them there are; 0: one
}

// RampStep changes the number of users linearly; a step of duration 0 is a jump.
type RampStep struct {
	For   time.Duration `json:"for"`
	Users int           `json:"users"` // at its end
}

// maxSteps is how many steps a ramp may have: each is counted by itself.
const maxSteps = 1000

// maxUsers is more than any machine has ports for.
const maxUsers = 1e8

// ParseRamp parses DURATION:USERS pairs, as in 30s:100,1m:100,10s:0: the number changes
// linearly to USERS over DURATION. Its errors say what to write instead.
func ParseRamp(text string) ([]RampStep, error) {
	const form = "write DURATION:CONNECTIONS, as 30s:100,1m:100,10s:0 (up to 100 over 30 s, 100 for a minute, down to 0 over 10 s), or 0s:CONNECTIONS for a jump"
	var steps []RampStep
	err := parsePairs(text, "step", form, maxSteps, func(d time.Duration, text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > maxUsers {
			return fmt.Errorf("%q is not a number of connections: %s", text, form)
		}
		steps = append(steps, RampStep{For: d, Users: n})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return steps, nil
}

// Validate returns an error that names the first invalid part of the ramp.
func (r *Ramp) Validate() error {
	if r.From < 0 || r.From > maxUsers {
		return fmt.Errorf("it begins with %d users", r.From)
	}
	var total time.Duration
	for i, s := range r.Steps {
		if total += s.For; s.For < 0 || total < 0 {
			return fmt.Errorf("step %d lasts %v", i+1, s.For)
		}
		if s.Users < 0 || s.Users > maxUsers {
			return fmt.Errorf("step %d ends with %d users", i+1, s.Users)
		}
	}
	switch {
	case r.Peak() == 0:
		return errors.New("there are no users throughout")
	case r.Of < 0 || r.Index < 0 || r.Index >= max(r.Of, 1):
		return fmt.Errorf("it is part %d of %d", r.Index, r.Of)
	}
	return nil
}

// Duration returns the total duration of the steps.
func (r *Ramp) Duration() (d time.Duration) {
	for _, s := range r.Steps {
		d += s.For
	}
	return d
}

// Peak returns the largest number of users of all generators together.
func (r *Ramp) Peak() int {
	most := r.From
	for _, s := range r.Steps {
		most = max(most, s.Users)
	}
	return most
}

// At returns how many users there are at a time since the start. The parts of several
// generators add up to the whole at any time.
func (r *Ramp) At(t time.Duration) int {
	return r.part(r.whole(t))
}

// Most returns the largest number of users of this generator.
func (r *Ramp) Most() int { return r.part(r.Peak()) }

// part returns this generator's part of n users.
func (r *Ramp) part(n int) int {
	if r.Of < 2 {
		return n
	}
	if r.Index < n%r.Of {
		return n/r.Of + 1
	}
	return n / r.Of
}

// whole returns the number of users of all generators together.
func (r *Ramp) whole(t time.Duration) int {
	if t < 0 {
		return r.From
	}
	before := r.From
	for _, s := range r.Steps {
		if t < s.For {
			return before + int(math.Round(float64(s.Users-before)*(float64(t)/float64(s.For))))
		}
		t -= s.For
		before = s.Users
	}
	return before
}

// Span is a part of a window in which the number of users changes linearly, or stays.
type Span struct {
	From, To   time.Duration // since the window began
	Begin, End int           // users of all generators at these times
}

// Spans divides a window into the steps of the ramp, and what is left of the window after
// them. Jumps are no spans, and a step that the window ends within ends with it.
func (r *Ramp) Spans(window time.Duration) (spans []Span) {
	from, users := time.Duration(0), r.From
	for _, s := range r.Steps {
		if from >= window {
			return spans
		}
		if s.For > 0 {
			span := Span{From: from, To: from + s.For, Begin: users, End: s.Users}
			if span.To > window {
				span.To, span.End = window, r.whole(window)
			}
			spans = append(spans, span)
		}
		from, users = from+s.For, s.Users
	}
	if from < window {
		spans = append(spans, Span{From: from, To: window, Begin: users, End: users})
	}
	return spans
}
