package arrive

// stall is a time in which the caller took no arrivals, although it had nothing else to do.
type stall struct {
	from, to int64
	behind   bool // arrivals were waiting for a connection when it began
}

// Stalled reports that the caller did not run from one time to another, before it takes what was
// due meanwhile. The arrivals due in that time could have been sent when they were due, unless
// others were waiting already: that no connection is free for all of them at its end is the
// caller's fault, not that of who answers. Arrivals that waited then are charged with the rest of
// their wait.
func (q *Queue) Stalled(from, to int64) {
	q.stalls = append(q.stalls, stall{from, to, q.free == 0 && q.next < from})
}

// possible returns Arrival.Possible of the next arrival, and forgets the stalls before it.
func (q *Queue) possible() int64 {
	for len(q.stalls) > 0 && q.stalls[0].to < q.next {
		q.stalls = q.stalls[1:]
	}
	at, own := max(q.next, q.since), int64(0)
	for _, s := range q.stalls {
		if !s.behind && q.next >= s.from {
			return q.next
		}
		own += max(0, min(at, s.to)-max(q.next, s.from))
	}
	return max(q.next, at-own)
}
