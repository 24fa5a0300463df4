package arrive

// stall is a time in which the caller took no arrivals, although it had nothing else to do.
type stall struct {
	from, to int64
	share    float64 // of the time, that was the caller's: less than 1 of several stalls
	behind   bool    // arrivals were waiting for a connection when it began
}

// maxStalls is how many stalls a queue keeps: a backlog that lasts would keep all.
const maxStalls = 64

// Stalled reports that the caller did not run from one time to another, before it takes what was
// due meanwhile. The arrivals due in that time could have been sent when they were due, unless
// others were waiting already: that no connection is free for all of them at its end is the
// caller's fault, not that of who answers. Arrivals that waited then are charged with the rest of
// their wait.
func (q *Queue) Stalled(from, to int64) {
	if len(q.stalls) == maxStalls {
		q.stalls = joined(q.stalls)
	}
	q.stalls = append(q.stalls, stall{from, to, 1, q.free == 0 && q.next < from})
}

// joined joins every two neighbours of an even number of stalls.
func joined(list []stall) []stall {
	for i := range len(list) / 2 {
		a, b := list[2*i], list[2*i+1]
		own := a.within(a.from, a.to) + b.within(b.from, b.to)
		list[i] = stall{a.from, b.to, float64(own) / float64(b.to-a.from), a.behind || b.behind}
	}
	return list[:len(list)/2]
}

// within returns how much of the time between two others was the caller's.
func (s *stall) within(from, to int64) int64 {
	return int64(s.share * float64(max(0, min(to, s.to)-max(from, s.from))))
}

// possible returns Arrival.Possible of the next arrival, and forgets the stalls before it.
func (q *Queue) possible() int64 {
	for len(q.stalls) > 0 && q.stalls[0].to < q.next {
		q.stalls = q.stalls[1:]
	}
	at, own := max(q.next, q.since), int64(0)
	for i := range q.stalls {
		s := &q.stalls[i]
		if !s.behind && q.next >= s.from {
			return q.next
		}
		if s.from >= at {
			break
		}
		own += s.within(q.next, at)
	}
	return max(q.next, at-own)
}
