package sock

import "time"

const (
	spinFor  = int64(100 * time.Microsecond) // polling before the thread goes to sleep
	spinMost = int64(5 * time.Microsecond)   // of one poll; what is longer was another thread's time
)

// Rest says when a thread that polls may sleep. While there is traffic it only polls:
// a thread that sleeps has to be woken by the server's send, which costs the server
// microseconds that are none of its own. After 100 microseconds without an event it
// sleeps, so that idle connections leave the core alone.
type Rest struct {
	Spun int64 // nanoseconds polled without a result, in all

	parked int64 // since when there is nothing to do; 0: there is
	last   int64 // time of the last poll if it brought nothing
}

// Poll begins a poll at now.
func (r *Rest) Poll(now int64) {
	if r.last != 0 {
		r.Spun += min(now-r.last, spinMost)
		r.last = 0
	}
}

// Busy notes that there is something to do.
func (r *Rest) Busy() { r.parked = 0 }

// Idle notes that the poll at now brought nothing, and reports whether the thread
// is to sleep, if it can for as long as a sleep pays.
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
