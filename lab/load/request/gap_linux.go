package request

import "time"

const (
	// minStall is the time without a turn of the loop from which on the thread counts as stalled:
	// turns take microseconds, and a sleeping thread is woken within a millisecond.
	minStall = int64(5 * time.Millisecond)

	// longStall is that from which on a result names it: five ticks of the kernel's clock.
	longStall = int64(50 * time.Millisecond)

	// maxDeferred is how many stalls may put off a check for timeouts: a thread that stalls all the
	// time finds them too.
	maxDeferred = 3
)

// awake is called at every turn of the loop, and whenever arrivals may be sent. If the thread was
// not run since it was last, or since it was to be woken, then neither the arrivals due meanwhile
// nor the answers that have arrived are late because of the server.
func (l *loop) awake(now int64) {
	from := l.turned
	l.turned = max(now, from)
	if now-from < minStall || !l.started {
		return
	}
	if l.open != nil {
		l.open.queue.Stalled(from, now)
	}
	l.flight.Skip(now - from)
	l.lastRight += now - from
	if l.deferred < maxDeferred { // the answers that have arrived are read before any of them counts as missing
		l.deferred++
		l.nextScan = max(l.nextScan, now+scanEvery)
	}
	if now-from >= longStall {
		l.stalls.Add(from, now)
	}
}

// slept is called after a wait that was to end at a time, and before what it waited for is handled.
func (l *loop) slept(until, now int64) {
	l.turned = max(l.turned, min(until, now))
	l.awake(now)
}
