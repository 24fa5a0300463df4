package serial

import (
	"sync"
	"time"
)

// A Loop runs functions in the order of their arrival, one at a time. It implements
// transport.Loop. The zero value is ready, and any goroutine may use it.
type Loop struct {
	mu      sync.Mutex
	todo    []func()
	running bool
	ended   bool
	timers  map[*time.Timer]struct{} // of Later, not yet due
}

// Walk calls next until more is false, and Turn of each result that is not nil. It reports
// false if the loop has ended. After Close next is not called again.
func (l *Loop) Walk(next func() (at interface{ Turn() bool }, more bool)) bool {
	return l.do(func() {
		for more := true; more && !l.over(); {
			var at interface{ Turn() bool }
			if at, more = next(); at != nil {
				at.Turn() // false: it is gone
			}
		}
	})
}

// Later calls f once, no sooner than after d. It reports false if the loop has ended.
func (l *Loop) Later(d time.Duration, f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	if l.timers == nil {
		l.timers = map[*time.Timer]struct{}{}
	}
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		l.mu.Lock() // which also waits until t is set
		delete(l.timers, t)
		l.mu.Unlock()
		l.do(f)
	})
	l.timers[t] = struct{}{}
	return true
}

// Close ends the loop: functions that have not begun are not called. It does not wait for the
// one that runs.
func (l *Loop) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended, l.todo = true, nil
	for t := range l.timers {
		t.Stop()
	}
	l.timers = nil
}

func (l *Loop) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// do runs f after those before it.
func (l *Loop) do(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.todo = append(l.todo, f)
	if !l.running {
		l.running = true
		go l.run()
	}
	return true
}

// run runs functions until there are none. If one of them ends the goroutine, another one
// continues.
func (l *Loop) run() {
	done := false
	defer func() {
		if !done {
			go l.run()
		}
	}()
	for {
		l.mu.Lock()
		if len(l.todo) == 0 {
			l.running, done = false, true
			l.mu.Unlock()
			return
		}
		f := l.todo[0]
		l.todo[0] = nil
		l.todo = l.todo[1:]
		l.mu.Unlock()
		f()
	}
}
