package std

import "time"

// A timeout is a time with a timer that fires then. The zero value is never.
type timeout struct {
	at    time.Time
	timer *time.Timer
}

// set moves the time to when d will have passed; 0 is never.
func (t *timeout) set(d time.Duration, f func()) {
	t.stop()
	if d == 0 {
		return
	}
	t.at = time.Now().Add(d)
	if t.timer == nil {
		t.timer = time.AfterFunc(d, f)
	} else {
		t.timer.Reset(d)
	}
}

func (t *timeout) over() bool { return !t.at.IsZero() && !time.Now().Before(t.at) }

func (t *timeout) never() bool { return t.at.IsZero() }

func (t *timeout) stop() {
	t.at = time.Time{}
	if t.timer != nil {
		t.timer.Stop()
	}
}
