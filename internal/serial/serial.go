package serial

import (
	"slices"
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
	jobs    []job // of Later, the earliest last
	timer   *time.Timer
}

// A job is a function that is not due yet.
type job struct {
	at time.Time
	f  func()
}

// Walk calls next until more is false, and Turn of each result that is not nil. It reports
// false if the loop has ended. After Close next is not called again.
func (l *Loop) Walk(next func() (at interface{ Turn() bool }, more bool)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
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
	j := job{time.Now().Add(d), f}
	at, _ := slices.BinarySearchFunc(l.jobs, j, func(a, b job) int {
		if a.at.After(b.at) {
			return -1
		}
		return 1
	})
	if l.jobs = slices.Insert(l.jobs, at, j); at == len(l.jobs)-1 {
		l.arm()
	}
	return true
}

// arm sets the timer for the earliest function. l.mu is held.
func (l *Loop) arm() {
	if len(l.jobs) == 0 {
		return
	}
	d := time.Until(l.jobs[len(l.jobs)-1].at)
	if l.timer == nil {
		l.timer = time.AfterFunc(d, l.fire)
	} else {
		l.timer.Reset(d)
	}
}

// fire runs the functions that are due.
func (l *Loop) fire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := len(l.jobs) - 1; n >= 0 && time.Until(l.jobs[n].at) <= 0; n-- {
		l.do(l.jobs[n].f)
		l.jobs[n] = job{}
		l.jobs = l.jobs[:n]
	}
	l.arm()
}

// Close ends the loop: functions that have not begun are not called. It does not wait for the
// one that runs.
func (l *Loop) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended, l.todo, l.jobs = true, nil, nil
	if l.timer != nil {
		l.timer.Stop()
	}
}

func (l *Loop) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// do runs f after those before it. l.mu is held.
func (l *Loop) do(f func()) bool {
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
