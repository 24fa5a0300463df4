package transport

import (
	"fmt"
	"sync"
	"time"
)

// repeatsApart is the minimum time between two reports of a repeated error.
const repeatsApart = 10 * time.Second

// Repeats reports an error that may occur many times per second for hours, as when the
// process has no descriptors left: the first occurrence at once, and then at most one
// report every ten seconds, with the number of occurrences in between. The zero value is
// ready, and all goroutines may use it.
type Repeats struct {
	mu     sync.Mutex
	next   time.Time
	silent int // since the last report
}

// Log calls log, which may be nil, or counts. now is the time.
func (r *Repeats) Log(log func(msg string, err error), now time.Time, msg string, err error) {
	if log == nil {
		return
	}
	r.mu.Lock()
	if now.Before(r.next) {
		r.silent++
		r.mu.Unlock()
		return
	}
	n := r.silent
	r.silent, r.next = 0, now.Add(repeatsApart)
	r.mu.Unlock()
	if n > 0 {
		err = fmt.Errorf("%w (and %d times since the last report)", err, n)
	}
	log(msg, err)
}
