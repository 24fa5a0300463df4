package clock

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// imfFixdate is the preferred format of RFC 9110 section 5.6.7, for a time in UTC.
const imfFixdate = "Mon, 02 Jan 2006 15:04:05 GMT"

// base is the origin of the monotonic clock. It has both a wall clock reading
// and a monotonic one.
var base = time.Now()

// Past is a time in the past: as a deadline it ends waits.
var Past = time.Unix(1, 0)

var (
	now    atomic.Int64 // nanoseconds since base
	second atomic.Int64 // value of now at which Date has to be rendered again
	date   atomic.Pointer[[]byte]
	users  atomic.Int32 // loops that refresh the clock
	render sync.Mutex
)

func init() { Refresh() }

// Refresh reads the system's clock, and returns the nanoseconds since the
// process started, monotonic.
func Refresh() int64 {
	n := int64(time.Since(base))
	now.Store(n)
	if n >= second.Load() {
		renderDate()
	}
	return n
}

// Enter declares that the caller refreshes the clock from now on, until Leave, at least
// about every millisecond. While no goroutine does, readers refresh it themselves.
func Enter() int64 {
	n := Refresh()
	users.Add(1)
	return n
}

// Leave ends Enter: call it before a loop parks.
func Leave() { users.Add(-1) }

// Nano is the coarse monotonic time in nanoseconds since the process started; it lags by at
// most one round of the busiest loop.
func Nano() int64 {
	if users.Load() == 0 {
		return Refresh()
	}
	return now.Load()
}

// Now is the coarse time. Its monotonic reading is that of [Nano]; its wall clock does not
// follow changes of the system's clock.
func Now() time.Time { return base.Add(time.Duration(Nano())) }

// After is the time on the scale of [Nano] at which d will have passed. It is never 0, and
// for a negative d it is in the past.
func After(d time.Duration) int64 {
	if n := Nano() + int64(d); n > 0 {
		return n
	}
	return beyond(d)
}

// beyond handles a time that is not on the scale.
func beyond(d time.Duration) int64 {
	if d > 0 {
		return math.MaxInt64
	}
	return 1
}

// Time converts from the scale of [Nano]; 0, which means never, becomes the zero
// time.
func Time(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return base.Add(time.Duration(n))
}

// Date is the current value of the HTTP Date field, in the format of RFC 9110 section
// 5.6.7, 29 bytes. It must not be modified.
func Date() []byte {
	if users.Load() == 0 {
		Refresh()
	}
	return *date.Load()
}

// renderDate renders the date, and schedules the next rendering: at the next second of the
// wall clock, which is read each time, so that it may be set.
func renderDate() {
	render.Lock()
	defer render.Unlock()
	t := time.Now()
	n := int64(t.Sub(base))
	if n < second.Load() {
		return // another goroutine was first
	}
	b := t.UTC().AppendFormat(make([]byte, 0, len(imfFixdate)), imfFixdate)
	date.Store(&b)
	second.Store(n + int64(time.Second) - int64(t.Nanosecond()))
}
