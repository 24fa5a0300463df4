package request

// maxDeferred is how many stalls may put off a check for timeouts: a thread that stalls all the
// time finds them too.
const maxDeferred = 3

// awake is called at every turn of the loop, and whenever arrivals may be sent. If the thread was
// not run since it was last, or since it was to be woken, then neither the arrivals due meanwhile
// nor the answers that have arrived are late because of the server.
func (l *loop) awake(now int64) {
	stalled := l.thread.Turn(now)
	if stalled == 0 || !l.started {
		return
	}
	if l.open != nil {
		l.open.queue.Stalled(now-stalled, now)
	}
	l.flight.Skip(stalled)
	l.lastRight += stalled
	if l.deferred < maxDeferred { // the answers that have arrived are read before any of them counts as missing
		l.deferred++
		l.nextScan = max(l.nextScan, now+scanEvery)
	}
}

// slept is called after a wait that was to end at a time, and before what it waited for is handled.
func (l *loop) slept(until, now int64) {
	l.thread.Slept(until, now)
	l.awake(now)
}
