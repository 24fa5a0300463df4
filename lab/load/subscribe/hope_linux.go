package subscribe

import (
	"errors"
	"fmt"
	"time"
)

// awake is called at every turn of the loop, and at every read: a turn with thousands of reads is
// long. Without a subscriber, the time for which the thread was not run does not count.
func (l *Loop) awake(now int64) (stalled int64) {
	stalled = l.thread.Turn(now)
	l.book.alive += stalled
	return stalled
}

// Hope returns an error if there has been no standing subscriber for so long that the run
// is given up: 1.5 timeouts, or 2 seconds if connections fail.
func (l *Loop) Hope() error {
	b, now := l.book, l.Now()
	patience := b.timeout + b.timeout/2
	if b.lastCause == Connect || b.lastCause == TLS || b.lastCause == HTTP2 { // connections fail
		patience = min(patience, refusedFor)
	}
	if now-b.alive <= patience && l.Expected() > 0 {
		return nil
	}
	switch none := l.Expected() == 0 && b.lastCause == numKinds; {
	case none && b.Ends > 0:
		return errors.New("no subscriber is left: the server ended all streams, and no subscriber reconnects")
	case none:
		return errors.New("no subscriber is left: the server answered all with status 204")
	}
	return fmt.Errorf("no subscriber for %v: %s", time.Duration(now-b.alive).Round(time.Millisecond), b.cause())
}
