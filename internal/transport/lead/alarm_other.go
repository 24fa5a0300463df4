//go:build !linux

package lead

import "time"

// An alarm fires once at a set time.
type alarm struct {
	timer *time.Timer
	done  chan struct{}
}

func newAlarm() (*alarm, error) {
	a := &alarm{timer: time.NewTimer(time.Hour), done: make(chan struct{})}
	a.timer.Stop()
	return a, nil
}

// set makes it fire after d and replaces the previous setting.
func (a *alarm) set(d time.Duration) { a.timer.Reset(d) }

// wait returns true when the alarm has fired, and false when it is closed.
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
