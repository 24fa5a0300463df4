package wire

import "time"

const (
	spinFor  = int64(100 * time.Microsecond) // polling time before the thread sleeps
	spinMost = int64(5 * time.Microsecond)   // maximum of one poll; a longer one means that another thread ran
)

// Rest decides when a polling thread may sleep. While there is traffic it only polls: the
// server's send would have to wake a sleeping thread, which costs the server microseconds
// that it would not need otherwise. After 100 microseconds without an event it sleeps, so
// that idle connections do not use the core.
type Rest struct {
	Spun int64 // total nanoseconds polled without a result

	parked int64 // since when there is nothing to do; 0: there is something to do
	last   int64 // time of the last poll if it returned nothing
}

// Poll begins a poll at now.
func (r *Rest) Poll(now int64) {
	if r.last != 0 {
		r.Spun += min(now-r.last, spinMost)
		r.last = 0
	}
}

// Busy records that there is something to do.
func (r *Rest) Busy() { r.parked = 0 }

// Idle records that the poll at now returned nothing, and reports whether the thread should
// sleep. pays reports whether a sleep would be long enough.
func (r *Rest) Idle(now int64, pays bool) bool {
	if r.parked == 0 {
		r.parked = now
	}
	if pays && now-r.parked >= spinFor {
		return true
	}
	r.last = now
	return false
}
