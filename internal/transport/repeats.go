package transport

import (
	"fmt"
	"sync"
	"time"
)

// repeatsApart is the least time between two reports of what goes on and on.
const repeatsApart = 10 * time.Second

// Repeats reports an error that may come many times a second for hours, as when
// the process has no descriptors left: the first at once, and then one in ten
// seconds at most, with the number of those in between. The zero value is ready,
// for all goroutines.
type Repeats struct {
	mu     sync.Mutex
	next   time.Time
	silent int // since the last report
}

// Log tells log, which may be nil, or counts. now is the time.
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
		err = fmt.Errorf("%w (and %d times since this was last told)", err, n)
	}
	log(msg, err)
}
