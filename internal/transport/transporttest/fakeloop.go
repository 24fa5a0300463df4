package transporttest

import (
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

var _ transport.Looped = (*Fake)(nil)

// Turn implements [transport.Looped].
func (f *Fake) Turn() bool {
	return f.Wake(func(out *buf.Queue) error {
		if s, ok := f.session.(transport.Turner); ok {
			err := s.Turn(out)
			f.locked(func() { f.quiet = true })
			return err
		}
		return nil
	})
}

// Loop implements [transport.Looped]: each connection has one of its own.
func (f *Fake) Loop() transport.Loop { return (*fakeLoop)(f) }

// At implements [transport.Looped].
func (f *Fake) At() transport.Turned { return f }

// A fakeLoop is a Fake in its role as loop.
type fakeLoop Fake

// A fakeJob is a walk, or a function of Later.
type fakeJob struct {
	next func() (transport.Turned, bool) // nil for a function
	at   time.Time
	f    func()
}

// Walk implements [transport.Loop].
func (l *fakeLoop) Walk(next func() (transport.Turned, bool)) bool {
	return (*Fake)(l).job(&fakeJob{next: next})
}

// Later implements [transport.Loop].
func (l *fakeLoop) Later(d time.Duration, f func()) bool {
	return (*Fake)(l).job(&fakeJob{f: f, at: time.Now().Add((*Fake)(l).Ahead() + d)})
}

// Ahead is how far the connection's time is ahead.
func (f *Fake) Ahead() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ahead
}

func (f *Fake) job(j *fakeJob) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	if j.next != nil {
		f.walks = append(f.walks, j)
	} else {
		f.laters = append(f.laters, j)
	}
	return true
}

// walk takes one turn of the first walk.
func (f *Fake) walk() {
	f.mu.Lock()
	j := f.walks[0]
	f.mu.Unlock()
	at, more := j.next()
	if at != nil {
		at.Turn() // false: it is gone
	}
	if !more {
		f.locked(func() { f.walks = f.walks[1:] })
	}
}

// dueJob is the index of a function that is due, -1 if there is none. f.mu is held.
func (f *Fake) dueJob() int {
	for i, j := range f.laters {
		if f.over(j.at) {
			return i
		}
	}
	return -1
}

// runJob runs a function that is due.
func (f *Fake) runJob() {
	var j *fakeJob
	f.locked(func() {
		i := f.dueJob()
		j = f.laters[i]
		f.laters = append(f.laters[:i:i], f.laters[i+1:]...)
	})
	j.f()
}
