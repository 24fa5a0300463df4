package scripted

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Service is the service time of the server that stalls.
const Service = 2 * time.Millisecond

// longestLine is how many requests may wait for their answer; more wait to be
// taken in.
const longestLine = 1 << 15

// TooLate is how much later than the script a server may answer without being
// said to be at fault itself.
const TooLate = 500 * time.Microsecond

// A line keeps requests until their script answers them. All take equally long and
// a stall holds up all, so that who comes first leaves first, and one thread
// that sleeps precisely serves all: the runtime's own timers are up to a
// millisecond late, half of the service time.
type line struct {
	zero  time.Time
	ended chan struct{}

	tardy atomic.Int64 // answers more than TooLate after their time

	entry sync.Mutex // makes the order of the queue that of the times
	queue chan waiter

	mu     sync.Mutex
	script Script
}

type waiter struct {
	came time.Duration // since zero
	done chan struct{} // closed when it is answered
}

func newLine() *line {
	return &line{
		zero: time.Now(), ended: make(chan struct{}), queue: make(chan waiter, longestLine),
		// Until there is a stall its beginning is out of reach.
		script: Script{Service: Service, StallAt: 1 << 62},
	}
}

// wait returns when the script answers a request that comes now, or the line ends.
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

// stall lets the server do nothing from now on for the time d. A second stall
// takes the place of the first.
func (l *line) stall(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.script.StallAt, l.script.Stall = time.Since(l.zero), d
}

// left is how long who came at that time still has to wait.
func (l *line) left(came time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.script.Answer(came) - time.Since(l.zero)
}

// run answers until the line ends.
func (l *line) run() {
	runtime.LockOSThread() // never unlocked: the thread, which is sharper than others, ends with it
	sharpen()
	for {
		select {
		case <-l.ended:
			return
		case w := <-l.queue:
			// A stall may begin while it sleeps: then there is time left again.
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

// end lets all go.
func (l *line) end() { close(l.ended) }
