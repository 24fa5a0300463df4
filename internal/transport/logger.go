package transport

import (
	"sync"
	"time"
)

// logMost is how many reports may wait to be written.
const logMost = 64

// A Logger passes reports to [Config.Log], which may block, on its own goroutine: a loop
// that reports something continues at once. Reports keep their order. Repeated messages are
// reduced as described for [Repeats], and reports are dropped while too many wait. All
// goroutines may use it. The goroutine ends when there is nothing to pass on; the last
// reports may come after the transport has been closed.
type Logger struct {
	log func(msg string, err error)

	mu      sync.Mutex
	repeats map[string]*Repeats // by message
	waiting []report
	running bool
}

type report struct {
	msg string
	err error
}

// NewLogger returns a logger that calls log, which may be nil.
func NewLogger(log func(msg string, err error)) *Logger {
	return &Logger{log: log, repeats: map[string]*Repeats{}}
}

// Log reports an error. msg is one of a small set.
func (l *Logger) Log(msg string, err error) { l.at(time.Now(), msg, err) }

func (l *Logger) at(now time.Time, msg string, err error) {
	if l.log == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) >= logMost {
		return
	}
	r := l.repeats[msg]
	if r == nil {
		r = new(Repeats)
		l.repeats[msg] = r
	}
	r.Log(l.put, now, msg, err)
}

// put schedules a report for writing. l.mu is held.
func (l *Logger) put(msg string, err error) {
	l.waiting = append(l.waiting, report{msg, err})
	if !l.running {
		l.running = true
		go l.write()
	}
}

// write passes waiting reports on.
func (l *Logger) write() {
	for {
		l.mu.Lock()
		if len(l.waiting) == 0 {
			l.running, l.waiting = false, nil
			l.mu.Unlock()
			return
		}
		r := l.waiting[0]
		l.waiting = l.waiting[1:]
		l.mu.Unlock()
		l.log(r.msg, r.err)
	}
}
