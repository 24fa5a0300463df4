package arrive

import "math"

// Arrival is a request to be sent now. Times are nanoseconds on the caller's
// clock.
type Arrival struct {
	Conn     int   // connection for the request, no longer free
	Intended int64 // when it was due: response time counts from here
	Possible int64 // when it was due and a connection was free, without what the caller's own stalls added: any later delay is the caller's
}

// Queue assigns the arrivals of a plan to connections, in order, never early, and without
// omitting any. An arrival that finds no free connection waits, and its times show that. A
// backlog of any length needs no memory: it is the part of the plan that the iteration has
// not reached yet.
//
//	plan    ──o──o─o───o──o────o──o──────o───o──▶ time
//	          taken    │ next      │     now
//	                   └── due, ───┘
//	                       not taken
//
// Connections are numbered from 0. They are used in turn, the one that has been free for
// longest first, so that all of a server's event loops receive the same load.
type Queue struct {
	origin int64 // of the plan, on the caller's clock
	end    int64 // arrivals from here on are ignored
	times  Times
	next   int64 // first arrival that is not taken, or math.MaxInt64
	ahead  Times // runs ahead of times to count what is due
	coming int64 // first arrival that is not counted as due, or math.MaxInt64
	taken  uint64
	due    uint64

	ring   []int32 // connections added by Free
	first  int
	length int
	listed []bool // is in ring
	usable []bool // and is free; a lost one may still be listed
	free   int    // usable connections
	since  int64  // when free last increased from 0
	stalls []stall
}

// NewQueue returns a queue for the given number of connections, none of them free, and no
// arrivals.
func NewQueue(connections int) *Queue {
	return &Queue{
		next: math.MaxInt64, coming: math.MaxInt64,
		ring: make([]int32, connections), listed: make([]bool, connections), usable: make([]bool, connections),
	}
}

// Begin replaces the arrivals by those of p and resets the counts: p begins at origin, and
// arrivals at end or later are ignored.
func (q *Queue) Begin(p *Plan, origin, end int64) {
	q.origin, q.end, q.taken, q.due, q.stalls = origin, end, 0, 0, nil
	q.times, q.ahead = p.Times(), p.Times()
	q.next, q.coming = q.step(&q.times), q.step(&q.ahead)
}

// End ignores arrivals at the time end or later.
func (q *Queue) End(end int64) {
	q.end = min(q.end, end)
	if q.next >= q.end {
		q.next = math.MaxInt64
	}
	if q.coming >= q.end {
		q.coming = math.MaxInt64
	}
}

// step returns the next arrival of an iteration on the caller's clock.
func (q *Queue) step(t *Times) int64 {
	at, ok := t.Next()
	if !ok || at >= q.end-q.origin {
		return math.MaxInt64
	}
	return q.origin + at
}

// Free reports that a connection can carry a request.
func (q *Queue) Free(conn int, now int64) {
	if q.usable[conn] {
		return
	}
	q.usable[conn] = true
	if q.free++; q.free == 1 {
		q.since = now
	}
	if !q.listed[conn] {
		q.listed[conn] = true
		q.ring[(q.first+q.length)%len(q.ring)] = int32(conn)
		q.length++
	}
}

// Lost reports that a connection is no longer free, if it was.
func (q *Queue) Lost(conn int) {
	if q.usable[conn] {
		q.usable[conn] = false
		q.free--
	}
}

// Ready returns the time from which on Take returns an arrival, given the current state. It
// is math.MaxInt64 if a connection must become free first, or if there are no more
// arrivals.
func (q *Queue) Ready() int64 {
	if q.free == 0 {
		return math.MaxInt64
	}
	return q.next
}

// Take returns the next arrival if it is due and a connection is free.
func (q *Queue) Take(now int64) (Arrival, bool) {
	if q.Ready() > now {
		return Arrival{}, false
	}
	a := Arrival{Intended: q.next, Possible: q.possible()}
	a.Conn = q.pop()
	q.advance()
	return a, true
}

// GiveUp removes the next arrival that is due without a connection for it, and returns its
// time.
func (q *Queue) GiveUp(now int64) (intended int64, ok bool) {
	if q.next > now {
		return 0, false
	}
	intended = q.next
	q.advance()
	return intended, true
}

func (q *Queue) advance() {
	q.taken++
	q.next = q.step(&q.times)
}

// pop removes the connection that has been free for longest.
func (q *Queue) pop() int {
	for {
		conn := int(q.ring[q.first])
		q.first = (q.first + 1) % len(q.ring)
		q.length--
		q.listed[conn] = false
		if q.usable[conn] {
			q.usable[conn] = false
			q.free--
			return conn
		}
	}
}

// Due returns how many arrivals were due by now. The cost is a step of the plan for each
// one that was not counted before.
func (q *Queue) Due(now int64) uint64 {
	for q.coming <= now {
		q.due++
		q.coming = q.step(&q.ahead)
	}
	return q.due
}

// Oldest returns the time of the first arrival that is due and not taken, and false without one.
func (q *Queue) Oldest(now int64) (intended int64, ok bool) { return q.next, q.next <= now }

// Waiting returns how many arrivals are due and not taken.
func (q *Queue) Waiting(now int64) uint64 { return max(q.Due(now), q.taken) - q.taken }
