//go:build !linux

package lead

import "time"

// An alarm goes off once at a time that is set.
type alarm struct {
	timer *time.Timer
	done  chan struct{}
}

func newAlarm() (*alarm, error) {
	a := &alarm{timer: time.NewTimer(time.Hour), done: make(chan struct{})}
	a.timer.Stop()
	return a, nil
}

// set has it go off in d, in place of what was set before.
func (a *alarm) set(d time.Duration) { a.timer.Reset(d) }

// wait returns true when it has gone off, and false when it is closed.
func (a *alarm) wait() bool {
	select {
	case <-a.timer.C:
		return true
	case <-a.done:
		return false
	}
}

func (a *alarm) close() error {
	a.timer.Stop()
	close(a.done)
	return nil
}
