package request

import "time"

// growAfter is how long an arrival waits for a connection before others are made: less than a tenth of a
// latency that anybody would notice, and more than a burst takes.
const growAfter = int64(time.Millisecond)

// grow makes connections for the arrivals that wait for one, so that a server that stalls does not
// keep later arrivals from being sent, as it would not with users who know nothing of each other.
func (l *loop) grow(now int64) {
	if l.made >= len(l.conns) || l.draining {
		return
	}
	oldest, waits := l.open.queue.Oldest(now)
	if !waits || l.open.queue.Ready() <= now || now-oldest < growAfter {
		return
	}
	// As many as wait, and no more than can be connecting at once.
	streams := max(l.spec.Streams, 1)
	wanted := (int(l.open.queue.Waiting(now)) + streams - 1) / streams
	n := min(wanted, len(l.conns)-l.made, maxConnecting) - l.connecting - len(l.retry)
	for range n {
		l.retry = append(l.retry, later{c: &l.conns[l.made], due: now})
		l.made++
	}
}
