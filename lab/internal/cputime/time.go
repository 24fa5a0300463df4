package cputime

import "errors"

// ErrGone is the error for a process that no longer exists.
var ErrGone = errors.New("server process is gone")

// Time is the CPU time of all server processes since their start.
type Time struct {
	Total     int64 // nanoseconds, scheduler's clock
	User, Sys int64 // clock ticks
}

// Split divides the CPU time between two readings into user and system seconds. The ratio
// of the two comes from the clock ticks, the sum from the scheduler's clock.
func Split(from, to Time) (user, sys, total float64) {
	total = float64(to.Total-from.Total) / 1e9
	u, s := float64(to.User-from.User), float64(to.Sys-from.Sys)
	if u+s <= 0 {
		return total, 0, total
	}
	return total * u / (u + s), total * s / (u + s), total
}
