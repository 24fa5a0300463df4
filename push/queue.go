package push

// A queue is what waits for one subscriber, in order. It exists only while something waits.
//
//	items   _ _ 3 _ 4 5 _ 6     _ before head: sent; after it: a hole, dropped or replaced
//	            ▲ head    ▲ last     neither the first item nor the last is a hole
//
// To find an item by its key, or the first that may be dropped, takes the same for a queue of any
// length, and so does it to take one out: holes go when they are the majority.
type queue struct {
	items []item
	head  int
	holes int // after head
	bytes int
	lost  int // events dropped after the last item

	shard  *shard
	extra  int           // bytes that its items count for beyond those of an ordinary subscriber
	before int           // places of items that are not in the slice any more: keys refer to places
	keys   map[about]int // of a long queue with keys: the place of the item
	from   int           // place before which no item may be dropped for another
	shares []share       // of the rules with limits of their own; nil until there is such an item
	looks  int           // items and keys that were looked at, for tests
}

// An about is what an event is about, under the policy Conflate.
type about struct {
	log *topicLog
	key string
}

// A share is what of a queue has topics of one rule.
type share struct {
	events, bytes int
	from          int // place before which there is no item of the rule
}

// itemBytes is the size of an item, and keyBytes what a key counts for. A subscriber has freeItems of the
// former in subscriberBytes.
const (
	itemBytes = 16
	freeItems = 16
	keyBytes  = 96
)

// fewKeys is how long a queue is at most that is searched for a key.
const fewKeys = 16

// weigh counts the memory of the queue in Options.MaxBytes.
func (q *queue) weigh(items int) {
	n := max(items-freeItems, 0)*itemBytes + len(q.keys)*keyBytes
	if n != q.extra {
		q.shard.hub.bytes.Add(int64(n - q.extra))
		q.extra = n
	}
}

// An item is a message, and how many events were dropped right before it. m is nil in a hole, whose
// events were dropped before the next item.
type item struct {
	m    *message
	lost int
}

func (q *queue) len() int { return len(q.items) - q.head - q.holes }

// count notes that a message comes (1) or goes (-1).
func (q *queue) count(m *message, n int) {
	w := n * m.weight()
	q.bytes += w
	q.shard.waiting += n
	q.shard.waitingBytes += int64(w)
	if own := m.log.rule.own; own > 0 {
		if q.shares == nil {
			q.shares = make([]share, q.shard.hub.o.limited)
			for i := range q.shares {
				q.shares[i].from = q.before + len(q.items)
			}
		}
		q.shares[own-1].events += n
		q.shares[own-1].bytes += w
	}
}

// add appends a message, of which the queue takes a reference.
func (q *queue) add(m *message) {
	if len(q.items) == cap(q.items) && (q.head+q.holes) > 0 && q.head+q.holes >= len(q.items)/2 {
		q.compact()
	}
	m.hold()
	q.count(m, 1)
	if q.keys != nil && m.conflates() {
		q.keys[about{m.log, m.key}] = q.before + len(q.items)
	}
	q.items = append(q.items, item{m, q.lost})
	q.weigh(cap(q.items))
	q.lost = 0
}

// compact removes what was sent, and the holes.
func (q *queue) compact() {
	if q.holes == 0 {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.before, q.head = q.items[:n], q.before+q.head, 0
		return
	}
	n, lost := 0, 0
	for _, it := range q.items[q.head:] {
		if lost += it.lost; it.m != nil {
			q.items[n] = item{it.m, lost}
			n++
			lost = 0
		}
	}
	clear(q.items[n:])
	q.items, q.before, q.head, q.holes = q.items[:n], 0, 0, 0
	q.from = 0
	for i := range q.shares {
		q.shares[i].from = 0
	}
	if q.keys != nil {
		q.index()
	}
}

// index notes the places of all keys.
func (q *queue) index() {
	q.keys = make(map[about]int)
	for i, it := range q.items[q.head:] {
		q.looks++
		if it.m != nil && it.m.conflates() {
			q.keys[about{it.m.log, it.m.key}] = q.before + q.head + i
		}
	}
}

// pop removes the first item. The caller gets the reference.
func (q *queue) pop() item {
	it := q.items[q.head]
	q.items[q.head] = item{}
	q.head++
	q.leave(it.m)
	q.trim()
	return it
}

// leave notes that a message is in the queue no more.
func (q *queue) leave(m *message) {
	q.count(m, -1)
	if q.keys != nil && m.conflates() {
		delete(q.keys, about{m.log, m.key})
	}
}

// trim removes the holes at both ends. The events that were dropped there count with their neighbours.
func (q *queue) trim() {
	lost := 0
	for q.head < len(q.items) && q.items[q.head].m == nil {
		lost += q.items[q.head].lost
		q.head++
		q.holes--
	}
	end := len(q.items)
	if q.head < end {
		q.items[q.head].lost += lost
		lost = 0
	}
	for end > q.head && q.items[end-1].m == nil {
		end--
		lost += q.items[end].lost
		q.holes--
	}
	if end == len(q.items) {
		q.lost += lost
		return
	}
	q.items = q.items[:end]
	q.lost += lost
	q.from = min(q.from, q.before+end) // other items will take these places
	for i := range q.shares {
		q.shares[i].from = min(q.shares[i].from, q.before+end)
	}
}

// remove takes out the item at a place in items. If it is lost to the client, that is noted where it was.
func (q *queue) remove(i int, lost bool) {
	m := q.items[i].m
	q.items[i].m = nil
	if lost {
		q.items[i].lost++
	}
	q.holes++
	q.leave(m)
	q.trim()
	m.release()
}

// clear removes everything, and returns how many events that were. The queue is not used again.
func (q *queue) clear() int {
	n := q.len()
	for q.len() > 0 {
		q.pop().m.release()
	}
	q.keys = nil
	q.weigh(0)
	return n
}

// conflates reports whether the message may replace another, or be replaced.
func (m *message) conflates() bool { return m.key != "" && m.log.rule.Policy == Conflate }

// replaced finds the item that a message replaces under the policy Conflate, or -1.
func (q *queue) replaced(m *message) int {
	if !m.conflates() {
		return -1
	}
	if q.keys == nil && q.len() > fewKeys {
		q.index()
	}
	if q.keys != nil {
		q.looks++
		if at, ok := q.keys[about{m.log, m.key}]; ok {
			return at - q.before
		}
		return -1
	}
	for i := len(q.items) - 1; i >= q.head; i-- {
		q.looks++
		if old := q.items[i].m; old != nil && old.key == m.key && old.log == m.log {
			return i
		}
	}
	return -1
}

// oldest finds the first item that may be dropped for another: those of topics with the policies
// DropNewest and Disconnect may not. own is the rule whose items count, if it is not 0. It returns -1 if
// there is none.
func (q *queue) oldest(own int) int {
	from := &q.from
	if own > 0 {
		from = &q.shares[own-1].from
	}
	for *from = max(*from, q.before+q.head); *from < q.before+len(q.items); *from++ {
		q.looks++
		m := q.items[*from-q.before].m
		if m == nil || own > 0 && m.log.rule.own != own {
			continue
		}
		if p := m.log.rule.Policy; p == DropOldest || p == Conflate {
			return *from - q.before
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
	for {
		own, over := q.over(m, o)
		if !over {
			break
		}
		oldest := -1
		if policy == DropOldest || policy == Conflate {
			oldest = q.oldest(own)
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

// over reports whether there is no room for a message: among those of its rule, or, with own 0, among all.
func (q *queue) over(m *message, o *Options) (own int, over bool) {
	rule := m.log.rule
	if rule.own > 0 && q.shares != nil {
		s := &q.shares[rule.own-1]
		if s.events >= rule.QueueEvents || s.events > 0 && s.bytes+m.weight() > rule.QueueBytes {
			return rule.own, true
		}
	}
	return 0, q.len() >= o.QueueEvents || q.len() > 0 && q.bytes+m.weight() > o.QueueBytes
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

func (p *spare) get(sh *shard) *queue {
	n := len(p.queues)
	if n == 0 {
		return &queue{items: make([]item, 0, 4), shard: sh}
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
	q.keys = nil
	q.weigh(0)
	if cap(q.items) > maxSpare || p.items+cap(q.items) > spareItems {
		return
	}
	p.items += cap(q.items)
	*q = queue{items: q.items[:0], shard: q.shard}
	p.queues = append(p.queues, q)
}
