package push

// A queue is what waits for one subscriber, in order. It exists only while something waits.
type queue struct {
	items []item
	head  int
	bytes int
	lost  int // events dropped after the last item

	hub   *Hub
	extra int // bytes that its items count for beyond those of an ordinary subscriber
}

// itemBytes is the size of an item. A subscriber has freeItems of them in subscriberBytes.
const (
	itemBytes = 16
	freeItems = 16
)

// weigh counts the memory of the items in Options.MaxBytes.
func (q *queue) weigh(items int) {
	if n := max(items-freeItems, 0) * itemBytes; n != q.extra {
		q.hub.bytes.Add(int64(n - q.extra))
		q.extra = n
	}
}

// An item is a message, and how many events were dropped right before it.
type item struct {
	m    *message
	lost int
}

func (q *queue) len() int { return len(q.items) - q.head }

// add appends a message, of which the queue takes a reference.
func (q *queue) add(m *message) {
	if q.head > 0 && q.head >= len(q.items)/2 && len(q.items) == cap(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	m.hold()
	q.items = append(q.items, item{m, q.lost})
	q.weigh(cap(q.items))
	q.lost = 0
	q.bytes += m.weight()
}

// pop removes the first item. The caller gets the reference.
func (q *queue) pop() item {
	it := q.items[q.head]
	q.items[q.head] = item{}
	q.head++
	q.bytes -= it.m.weight()
	return it
}

// remove takes out the item at i, counted from the head. If it is lost to the client, that
// is noted where it was.
func (q *queue) remove(i int, lost bool) {
	i += q.head
	it := q.items[i]
	if lost {
		it.lost++
	}
	if i+1 < len(q.items) {
		q.items[i+1].lost += it.lost
	} else {
		q.lost += it.lost
	}
	if i-q.head < len(q.items)-i { // the shorter part moves
		copy(q.items[q.head+1:i+1], q.items[q.head:i])
		q.items[q.head] = item{}
		q.head++
	} else {
		copy(q.items[i:], q.items[i+1:])
		q.items[len(q.items)-1] = item{}
		q.items = q.items[:len(q.items)-1]
	}
	q.bytes -= it.m.weight()
	it.m.release()
}

// clear removes everything, and returns how many events that were. The queue is not used again.
func (q *queue) clear() int {
	n := q.len()
	for q.len() > 0 {
		q.pop().m.release()
	}
	q.weigh(0)
	return n
}

// replaced finds the item that a message replaces under the policy Conflate, or -1.
func (q *queue) replaced(m *message) int {
	if m.key == "" {
		return -1
	}
	for i := q.len() - 1; i >= 0; i-- {
		if old := q.items[q.head+i].m; old.key == m.key && old.log == m.log {
			return i
		}
	}
	return -1
}

// oldest finds the first item that may be dropped for another: those of topics with the
// policies DropNewest and Disconnect may not. It returns -1 if there is none.
func (q *queue) oldest() int {
	for i, it := range q.items[q.head:] {
		if p := it.m.log.rule.Policy; p == DropOldest || p == Conflate {
			return i
		}
	}
	return -1
}

// An outcome says what became of a message that was offered to a queue.
type outcome struct {
	queued     bool // it waits
	dropped    int  // events that the client will not get, this one included
	conflated  int  // events that it replaced
	disconnect bool // the subscriber has to be ended
}

// offer adds a message under its topic's policy.
func (q *queue) offer(m *message, o *Options) (r outcome) {
	policy := m.log.rule.Policy
	if policy == Conflate {
		if i := q.replaced(m); i >= 0 {
			q.remove(i, false)
			r.conflated++
		}
	}
	for q.len() >= o.QueueEvents || q.len() > 0 && q.bytes+m.weight() > o.QueueBytes {
		oldest := -1
		if policy == DropOldest || policy == Conflate {
			oldest = q.oldest()
		}
		switch {
		case policy == Disconnect:
			r.disconnect = true
			return r
		case oldest < 0:
			q.lost++
			r.dropped++
			return r
		}
		q.remove(oldest, true)
		r.dropped++
	}
	q.add(m)
	r.queued = true
	return r
}

// full reports whether the next message would be one too many.
func (q *queue) full(o *Options) bool {
	return q.len() >= o.QueueEvents || q.bytes >= o.QueueBytes
}

// maxSpare is the longest queue that is kept for the next subscriber that needs one, and
// spareItems how long all those kept are together, in items: 256 KiB.
const (
	maxSpare   = 64
	spareItems = 16 << 10
)

// A spare keeps queues that are empty. A shard's lock guards it.
type spare struct {
	queues []*queue
	items  int
}

func (p *spare) get(h *Hub) *queue {
	n := len(p.queues)
	if n == 0 {
		return &queue{items: make([]item, 0, 4), hub: h}
	}
	q := p.queues[n-1]
	p.queues[n-1] = nil
	p.queues = p.queues[:n-1]
	p.items -= cap(q.items)
	q.weigh(cap(q.items))
	return q
}

// put takes a queue that is empty.
func (p *spare) put(q *queue) {
	q.weigh(0)
	if cap(q.items) > maxSpare || p.items+cap(q.items) > spareItems {
		return
	}
	p.items += cap(q.items)
	*q = queue{items: q.items[:0], hub: q.hub}
	p.queues = append(p.queues, q)
}
