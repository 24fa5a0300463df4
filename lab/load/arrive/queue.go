package arrive

import "math"

// Arrival is a request to be sent now. Times are nanoseconds on the caller's
// clock.
type Arrival struct {
	Conn     int   // that is to carry it, no longer free
	Intended int64 // when it was due: what response time counts from
	Possible int64 // when it was due and a connection was free: what is later is the caller's own delay
}

// Queue hands the arrivals of a plan to connections, in order, never early and
// never left out. One that finds no connection free waits, and that it waited is
// seen in its times. A backlog of any length takes no memory: it is what the walk
// through the plan has not come to yet.
//
//	plan    ──o──o─o───o──o────o──o──────o───o──▶ time
//	          taken    │ next      │     now
//	                   └── due, ───┘
//	                       not taken
//
// Connections are numbers from 0. They are used in turn, the one that is free
// for longest first, so that all of a server's loops see the same load.
type Queue struct {
	origin int64 // of the plan, on the caller's clock
	end    int64 // arrivals from here on do not exist
	times  Times
	next   int64 // first arrival that is not taken, or math.MaxInt64
	ahead  Times // walks before times, and counts
	coming int64 // first arrival that is not counted as due, or math.MaxInt64
	taken  uint64
	due    uint64

	ring   []int32 // connections that were put there by Free
	first  int
	length int
	listed []bool // stands in ring
	usable []bool // and is free; one that was lost may still be listed
	free   int    // usable connections
	since  int64  // when free last rose from 0
}

// NewQueue returns a queue for so many connections, none of them free, and no
// arrivals.
func NewQueue(connections int) *Queue {
	return &Queue{
		next: math.MaxInt64, coming: math.MaxInt64,
		ring: make([]int32, connections), listed: make([]bool, connections), usable: make([]bool, connections),
	}
}

// Begin replaces the arrivals by those of p, as if none had been: p begins at
// origin, and what it has at end or later is left out.
func (q *Queue) Begin(p *Plan, origin, end int64) {
	q.origin, q.end, q.taken, q.due = origin, end, 0, 0
	q.times, q.ahead = p.Times(), p.Times()
	q.next, q.coming = q.step(&q.times), q.step(&q.ahead)
}

// End leaves out what is due at the time end or later.
func (q *Queue) End(end int64) {
	q.end = min(q.end, end)
	if q.next >= q.end {
		q.next = math.MaxInt64
	}
	if q.coming >= q.end {
		q.coming = math.MaxInt64
	}
}

// step is the next arrival of a walk on the caller's clock.
func (q *Queue) step(t *Times) int64 {
	at, ok := t.Next()
	if !ok || at >= q.end-q.origin {
		return math.MaxInt64
	}
	return q.origin + at
}

// Free says that a connection can carry a request.
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

// Lost says that a connection is no longer free, if it was.
func (q *Queue) Lost(conn int) {
	if q.usable[conn] {
		q.usable[conn] = false
		q.free--
	}
}

// Ready returns the time from which on Take has something to give, as things
// stand; math.MaxInt64 when that is for a connection to become free, or when
// there are no arrivals any more.
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
	a := Arrival{Conn: q.pop(), Intended: q.next, Possible: max(q.next, q.since)}
	q.advance()
	return a, true
}

// GiveUp takes the next arrival that is due without a connection for it, and
// returns when it was.
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

// pop takes the connection that is free for longest.
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

// Due returns how many arrivals were due by now; it costs a step of the plan for
// each that was not counted before.
func (q *Queue) Due(now int64) uint64 {
	for q.coming <= now {
		q.due++
		q.coming = q.step(&q.ahead)
	}
	return q.due
}

// Waiting returns how many arrivals are due and not taken.
func (q *Queue) Waiting(now int64) uint64 { return max(q.Due(now), q.taken) - q.taken }
