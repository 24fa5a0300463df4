package cputime

import (
	"errors"
	"math"
	"testing"
	"time"
)

// The usage of an interval is computed from the readings around it.
func TestTrack(t *testing.T) {
	begin := time.Now().Add(-time.Hour)
	at := func(seconds float64) time.Time { return begin.Add(time.Duration(seconds * 1e9)) }
	track := &Track{
		points: []point{
			{at(0), Time{Total: 1e9, User: 100, Sys: 0}},
			{at(1), Time{Total: 3e9, User: 200, Sys: 100}},
			{at(3), Time{Total: 3e9, User: 200, Sys: 100}},
			{at(4), Time{Total: 7e9, User: 200, Sys: 500}},
		},
		read: func() (Time, error) { t.Error("it was read again"); return Time{}, nil },
	}
	for _, c := range []struct{ from, to, user, sys, known float64 }{
		{0, 1, 1, 1, 1},
		{0, 0.5, 0.5, 0.5, 0.5},
		{1, 3, 0, 0, 2},
		{2, 3.5, 0, 2, 1.5},
		{0, 4, 1, 5, 4},
		{-5, 1, 1, 1, 1},
		{-5, -4, 0, 0, 0},
	} {
		user, sys, total, known, err := track.Between(at(c.from), at(c.to))
		if err != nil || math.Abs(user-c.user) > 1e-6 || math.Abs(sys-c.sys) > 1e-6 || math.Abs(total-c.user-c.sys) > 1e-6 || math.Abs(known-c.known) > 1e-6 {
			t.Errorf("from %v to %v: user %v, sys %v, total %v of %v, %v; want %+v", c.from, c.to, user, sys, total, known, err, c)
		}
	}
	one := &Track{points: track.points[:1], err: ErrGone}
	if _, _, total, known, err := one.Between(at(-2), at(-1)); err != nil || total != 0 || known != 0 {
		t.Errorf("before the first: %v of %v, %v", total, known, err)
	}
	// If the last reading is too old, the clocks are read now.
	track.read = func() (Time, error) { return Time{Total: 8e9, User: 300, Sys: 500}, nil }
	if user, _, total, known, err := track.Between(at(4), at(7200)); err != nil || user != 1 || total != 1 || known < 3000 || known > 7000 {
		t.Errorf("user %v, total %v of %v, %v", user, total, known, err)
	}
	// After a failed reading the earlier ones remain.
	track.read = func() (Time, error) { return Time{}, ErrGone }
	if _, _, _, _, err := track.Between(at(4), at(7200)); !errors.Is(err, ErrGone) {
		t.Errorf("gone: %v", err)
	}
	if _, _, total, _, err := track.Between(at(0), at(1)); err != nil || total != 2 {
		t.Errorf("total %v, %v", total, err)
	}
}
