package scripted

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Service is the service time of the server that stalls.
const Service = 2 * time.Millisecond

// longestLine is how many requests may wait for their response; further requests wait to be
// queued.
const longestLine = 1 << 15

// TooLate is the delay relative to the script from which on the server itself is considered
// late.
const TooLate = 500 * time.Microsecond

// A line holds requests until the script answers them. All have the same service time and a
// stall delays all of them, so the order is first in, first out, and one thread that sleeps
// precisely serves all: the runtime's own timers are up to a millisecond late, half of the
// service time.
type line struct {
	zero  time.Time
	ended chan struct{}

	tardy atomic.Int64 // responses more than TooLate after their time

	entry sync.Mutex // makes the order of the queue that of the times
	queue chan waiter

	mu     sync.Mutex
	script Script
}

type waiter struct {
	came time.Duration // since the line's zero time
	done chan struct{} // closed when the request is answered
}

func newLine() *line {
	return &line{
		zero: time.Now(), ended: make(chan struct{}), queue: make(chan waiter, longestLine),
		// Until there is a stall its start is out of reach.
		script: Script{Service: Service, StallAt: 1 << 62},
	}
}

// wait returns when the script answers a request that arrives now, or when the line ends.
func (l *line) wait() {
	w := waiter{done: make(chan struct{})}
	l.entry.Lock()
	w.came = time.Since(l.zero)
	select {
	case l.queue <- w:
	case <-l.ended:
	}
	l.entry.Unlock()
	select {
	case <-w.done:
	case <-l.ended:
	}
}

// stall stops the server for d from now on. A second stall replaces the first.
func (l *line) stall(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.script.StallAt, l.script.Stall = time.Since(l.zero), d
}

// left returns how much longer a request that arrived at that time must wait.
func (l *line) left(came time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.script.Answer(came) - time.Since(l.zero)
}

// run answers requests until the line ends.
func (l *line) run() {
	runtime.LockOSThread() // never unlocked: the thread, whose timer slack was changed, ends with the goroutine
	sharpen()
	for {
		select {
		case <-l.ended:
			return
		case w := <-l.queue:
			// A stall may begin during the sleep: then there is time left again.
			rest := l.left(w.came)
			for ; rest > 0; rest = l.left(w.came) {
				sleep(rest)
			}
			if rest < -TooLate {
				l.tardy.Add(1)
			}
			close(w.done)
		}
	}
}

// end releases all waiting requests.
func (l *line) end() { close(l.ended) }
