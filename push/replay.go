package push

import (
	"container/heap"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-go/redline/push/format"
)

// reads are the ranges of the broker's order that subscribers wait for. Those who want the same range
// share one read, and those with the same origin share its turns:
//
//	origin 192.0.2.1   read read read read      ┐
//	origin user ann    read                     ├─ in turn ──▶ at most maxReads at a time
//	origin 192.0.2.9   read read                ┘
//
// A read ends when nobody waits for it any more. The hub's lock guards them.
type reads struct {
	by      map[string]*read // those that have not ended, by what they read
	origins map[string]*origin
	turns   []*origin // that have reads in their queues
	running int
}

// maxReads is how many reads run at a time, and readsEach how many of one origin.
const (
	maxReads  = 32
	readsEach = maxReads / 2
)

// An origin is who asks: a user, or the clients of an address.
type origin struct {
	name    string
	queue   []*read
	dead    int  // how many of the queue nobody waits for, at most
	queued  bool // it is in turns, although all of its queue may have left
	running int
}

// A read is one range, (after, until].
type read struct {
	key, epoch   string
	after, until uint64
	filters      []string
	waiters      map[*subscriber]struct{}
	asked        []*origin // whose queues it is in
	ctx          context.Context
	cancel       context.CancelFunc // nil: it is not running
	ended        bool
}

// originOf names who asks for a stream.
func originOf(j *joining) string {
	if j.user != "" {
		return "user " + j.user
	}
	return network(j.address)
}

// fetch has a subscriber wait for the events in (s.seen, until], as many as a turn of catching up may
// have. The broker is asked until it answers: those that are live wait for it too. The locks of hub
// and shard are held.
func (h *Hub) fetch(s *subscriber, until uint64) {
	h.await(s, until, strconv.FormatUint(s.seen, 10)+"\n"+strings.Join(*s.filters, "\n"))
}

// await is fetch, for a read that those share who name it by the same key.
func (h *Hub) await(s *subscriber, until uint64, key string) {
	q := &h.cluster.reads
	r := q.by[key]
	if r == nil || r.epoch != h.era() {
		r = &read{key: key, epoch: h.era(), after: s.seen, filters: *s.filters, waiters: map[*subscriber]struct{}{}}
		q.by[key] = r
	}
	r.waiters[s] = struct{}{}
	s.catching.fetching, s.catching.read = true, r
	if r.cancel != nil {
		return // what it brings is a part of what is wanted, or more
	}
	r.until = max(r.until, until)
	o := q.origins[s.catching.origin]
	if o == nil {
		o = &origin{name: s.catching.origin}
		q.origins[o.name] = o
	}
	if !slices.Contains(r.asked, o) {
		r.asked = append(r.asked, o)
		o.queue = append(o.queue, r)
		q.enqueue(o)
	}
	h.startReads()
}

// enqueue gives an origin a turn, unless it has one.
func (q *reads) enqueue(o *origin) {
	if !o.queued {
		o.queued = true
		q.turns = append(q.turns, o)
	}
}

// startReads starts as many reads as may run, in turn for all origins. The lock is held.
func (h *Hub) startReads() {
	q := &h.cluster.reads
	for skipped := 0; q.running < maxReads && skipped < len(q.turns); {
		o := q.turns[0]
		q.turns = append(q.turns[:0], q.turns[1:]...)
		o.queued = false
		if o.running >= readsEach {
			q.enqueue(o)
			skipped++
			continue
		}
		r := o.next()
		switch {
		case len(o.queue) > 0:
			q.enqueue(o)
		case r == nil:
			q.forget(o)
		}
		if r == nil {
			continue
		}
		skipped = 0
		q.running++
		o.running++
		r.ctx, r.cancel = context.WithCancel(h.cluster.ctx)
		h.cluster.work.Go(func() { h.run(r, o) })
	}
}

// next takes the next read out of the queue that somebody waits for, and nobody has started.
func (o *origin) next() *read {
	for len(o.queue) > 0 {
		r := o.queue[0]
		o.queue[0] = nil
		o.queue = o.queue[1:]
		if !r.ended && r.cancel == nil {
			return r
		}
	}
	o.queue, o.dead = nil, 0
	return nil
}

// forget removes an origin that has nothing to do any more.
func (q *reads) forget(o *origin) {
	if len(o.queue) == 0 && !o.queued && o.running == 0 && q.origins[o.name] == o {
		delete(q.origins, o.name)
	}
}

// run asks the broker for a read until it is over.
func (h *Hub) run(r *read, o *origin) {
	defer r.cancel()
	for {
		got, first, err := h.replay(r)
		if h.fetched(r, got, first, err) {
			break
		}
		sleep(r.ctx, pause)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	q := &h.cluster.reads
	q.running--
	o.running--
	q.forget(o)
	h.startReads()
}

// end notes that nobody waits for a read any more.
func (q *reads) end(r *read) {
	r.ended = true
	if q.by[r.key] == r {
		delete(q.by, r.key)
	}
}

// stray notes that a subscriber has left that waited for the broker, or for this node to be as far as
// another. It takes the lock.
func (h *Hub) stray(s *subscriber, c *catchUp) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.ahead > 0 {
		heap.Remove(&h.cluster.ahead, c.ahead-1)
	}
	r := c.read
	if r == nil {
		return
	}
	if delete(r.waiters, s); len(r.waiters) > 0 || r.ended {
		return
	}
	h.cluster.reads.end(r)
	if r.cancel != nil {
		r.cancel()
		return
	}
	for _, o := range r.asked {
		if o.dead++; o.dead > 16+len(o.queue)/2 {
			o.queue, o.dead = slices.DeleteFunc(o.queue, func(r *read) bool { return r.ended || r.cancel != nil }), 0
		}
	}
}

// fetchEvents and fetchBytes bound what one read brings.
const (
	fetchEvents = 256
	fetchBytes  = 256 << 10
)

func (h *Hub) replay(r *read) (got []Record, first uint64, err error) {
	ctx, cancel := context.WithTimeout(r.ctx, h.o.WriteTimeout)
	defer cancel()
	room := fetchBytes
	first, err = h.broker.Replay(ctx, r.after, r.until, r.filters, func(rec Record) bool {
		if reserved(&rec.Event) {
			return true
		}
		got = append(got, rec)
		room -= len(rec.Event.Data)
		return len(got) < fetchEvents && room > 0
	})
	if err != nil {
		return nil, 0, err // what is missing before the events is unknown
	}
	return got, first, nil
}

// A haul is what a read has brought.
type haul struct {
	r     *read
	all   []*message
	first uint64
	err   error
	stale bool // the order has begun anew meanwhile
}

// fetched queues what the broker had for all who wait, or reports false if it is to be asked again.
func (h *Hub) fetched(r *read, got []Record, first uint64, err error) (ended bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := haul{r: r, first: first, err: err, stale: r.epoch != h.era()}
	if err != nil && !b.stale && len(r.waiters) > 0 && h.cluster.ctx.Err() == nil && (h.o.Isolated == Refuse || h.cluster.linked) {
		return false
	}
	h.cluster.reads.end(r) // nobody joins those who wait now
	if !b.stale && len(r.waiters) > 0 {
		for _, rec := range got {
			m := h.newMessage(&rec.Event)
			m.seq, m.event.ID = rec.Seq, h.id(rec.Seq)
			m.log = h.history.log(m.event.Topic)
			b.all = append(b.all, m)
		}
	}
	for h.share(&b) {
		h.mu.Unlock() // publishers need it
		h.mu.Lock()
	}
	for _, m := range b.all {
		m.release()
	}
	return true
}

// share gives what was brought to some of those who wait, as many as feedSlots allow, and reports
// whether there are more. The lock is held.
func (h *Hub) share(b *haul) (more bool) {
	b.stale = b.stale || b.r.epoch != h.era()
	room, each := feedSlots, max(len(b.all), 16) // who gets nothing costs something too
	for s := range b.r.waiters {
		if room -= each; room < 0 {
			return true
		}
		delete(b.r.waiters, s)
		h.take(s, b)
	}
	return false
}

// take gives a subscriber what its read has brought. The lock is held.
func (h *Hub) take(s *subscriber, b *haul) {
	r := b.r
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	c := s.catching
	if c == nil || c.read != r {
		return
	}
	c.fetching, c.read = false, nil
	if s.at < 0 || !s.catches() {
		return
	}
	defer s.sink.wake()
	switch {
	case b.stale || s.seen != r.after:
		return // it goes on elsewhere, which was announced
	case b.err != nil:
		c.whole = 0
		h.lose(s, r.until, "broker")
	case b.first > s.seen+1 && c.told < b.first-1:
		h.lose(s, b.first-1, "history")
	}
	c.whole = 0
	for _, m := range b.all {
		s.append(m)
	}
	if len(b.all) == 0 {
		s.seen = max(s.seen, min(r.until, h.seq))
	}
}

// lose notes that a subscriber will not get some of the events up to a place.
func (h *Hub) lose(s *subscriber, until uint64, reason string) {
	c := s.catching
	c.told = max(c.told, until)
	if c.gap == nil && until > c.whole {
		c.gap = &format.Gap{From: s.lastID, Reason: reason}
	}
}
