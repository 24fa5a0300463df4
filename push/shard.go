package push

import (
	"slices"
	"sync"
	"time"

	"github.com/redline-go/redline/push/topic"
)

// A shard holds a part of the subscribers: those of one loop, or a share of those served by
// net/http. It has its own index, so that a publish is handed over once, and its own lock.
//
// The order of locks is hub, shard. Methods need the shard's lock unless they take it.
type shard struct {
	hub  *Hub
	loop *walk // nil: its subscribers are served by net/http

	mu           sync.Mutex
	index        topic.Tree[list]
	all          []*subscriber
	cursor       int        // in all, of those that look for signs of life
	inbox        []*message // published, and not yet given to the subscribers
	inboxBytes   int64      // of them
	ripe         int        // how many of them have waited for MaxDelay
	later        bool       // a timer will empty the inbox
	lists        []*list    // of the last match
	spare        spare
	counts       counts
	waiting      int           // events in queues
	waitingBytes int64         // and their bytes
	doomed       []*subscriber // during Shutdown: those that are not yet ended
	fate         int           // and how many they were
}

// A list holds the subscribers of one topic or pattern.
type list struct {
	filters      []string // its text alone
	subs         []*subscriber
	behind, full int
}

// A place is where a subscriber is in a list.
type place struct {
	list *list
	at   int32
}

// counts are the totals of a shard, for [Stats].
type counts struct {
	delivered, queued, dropped, conflated, gaps, beats uint64
	ended                                              [reasons]uint64 // of byeClient: those that have left
}

// add takes in a subscriber that is not live yet.
func (sh *shard) add(s *subscriber) {
	s.at = int32(len(sh.all))
	sh.all = append(sh.all, s)
}

// enlist makes a subscriber live: it gets what is published from now on. The hub's lock is
// held too.
func (sh *shard) enlist(s *subscriber) {
	s.since = sh.hub.cluster.locals
	for i, f := range *s.filters {
		l := sh.index.Get(f)
		if l == nil {
			l = &list{filters: []string{f}}
			sh.index.Put(f, l)
		}
		p := place{l, int32(len(l.subs))}
		if i == 0 {
			s.place = p
		} else {
			if s.needs().others == nil {
				s.rare.others = make([]place, 0, len(*s.filters)-1)
			}
			s.rare.others = append(s.rare.others, p)
		}
		l.subs = append(l.subs, s)
	}
	if len(*s.filters) == 1 {
		s.filters = &s.place.list.filters // which its subscribers share
	}
	s.count(1)
}

// delist takes a subscriber out of the index. The last one of a list moves to its place, so
// lists are walked from the end: then nobody is passed over.
func (sh *shard) delist(s *subscriber) {
	s.count(-1)
	for p := range s.places() {
		end := len(p.list.subs) - 1
		last := p.list.subs[end]
		p.list.subs[p.at] = last
		if last != s {
			last.placeIn(p.list).at = p.at
		}
		p.list.subs[end] = nil
		p.list.subs = p.list.subs[:end]
		if end == 0 {
			sh.index.Delete(p.list.filters[0])
		}
	}
	s.place = place{}
	if s.rare != nil {
		s.rare.others = nil
	}
}

// remove forgets a subscriber.
func (sh *shard) remove(s *subscriber) {
	sh.delist(s)
	if s.bye == byeClient {
		sh.counts.ended[byeClient]++
	}
	end := len(sh.all) - 1
	sh.all[s.at] = sh.all[end]
	sh.all[s.at].at = s.at
	sh.all[end] = nil
	sh.all = sh.all[:end]
	s.at = -1
	if s.queue != nil {
		s.queue.clear()
		s.queue = nil
	}
	s.dropNews()
}

// post puts a message into the inbox if anybody here listens, and adds to a receipt what it
// is expected to cost. It takes the lock.
func (sh *shard) post(m *message, r *Receipt) (posted bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.lists = sh.index.Match(sh.lists[:0], m.event.Topic)
	if len(sh.lists) == 0 {
		return false
	}
	m.hold()
	sh.inbox = append(sh.inbox, m)
	sh.inboxBytes += int64(m.weight() + overhead)
	if sh.exact() {
		return true // the inbox is emptied at once, and the cost is known then
	}
	audience := 0
	for _, l := range sh.lists {
		audience += len(l.subs)
		r.Delivered += len(l.subs) - l.behind
		r.Queued += l.behind
		if p := m.log.rule.Policy; p == DropNewest || p == Disconnect {
			r.Queued -= l.full
		}
		r.Dropped += l.full
	}
	if n := len(sh.inbox); n > mostInbox || n > 1 && sh.inboxBytes > sh.hub.o.MaxBytes/16 {
		sh.hurry(2 * audience) // more than came: it gets shorter
	}
	return true
}

// hurry hands over about so much of what waits, of what waits for MaxDelay all.
func (sh *shard) hurry(room int) {
	switch {
	case sh.loop != nil:
		sh.loop.hurry(room)
	case len(sh.inbox) > 0:
		sh.empty()
	}
}

// exact reports whether the cost of a message is known when Publish returns.
func (sh *shard) exact() bool { return sh.loop == nil && sh.hub.o.MaxDelay == 0 }

// flush gives the subscribers what is in the inbox, now or after MaxDelay. It takes the
// lock.
func (sh *shard) flush() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	switch {
	case len(sh.inbox) == 0 || sh.later:
	case sh.hub.o.MaxDelay == 0:
		sh.empty()
	default:
		sh.later = true
		sh.after(sh.hub.o.MaxDelay, func() {
			sh.mu.Lock()
			defer sh.mu.Unlock()
			sh.later = false
			sh.empty()
		})
	}
}

// after calls f once, later.
func (sh *shard) after(d time.Duration, f func()) {
	if sh.loop == nil || !sh.loop.later(d, f) {
		time.AfterFunc(d, f)
	}
}

// empty gives the subscribers what is in the inbox: at once, or in a walk of their loop.
func (sh *shard) empty() {
	sh.ripe = len(sh.inbox)
	if sh.loop != nil {
		sh.loop.start()
		return
	}
	for i, m := range sh.inbox {
		sh.deliver(m)
		m.release()
		sh.inbox[i] = nil
	}
	sh.inbox, sh.inboxBytes, sh.ripe = sh.inbox[:0], 0, 0
	if cap(sh.inbox) > 1024 {
		sh.inbox = nil
	}
}

// wants reports whether a live subscriber has not had this message, and notes that it has
// now.
func (s *subscriber) wants(m *message) bool {
	if m.seq == unplaced {
		return s.since < m.local && (s.queue == nil || s.queue.len() == 0 || s.queue.items[len(s.queue.items)-1].m != m)
	}
	if s.seen >= m.seq {
		return false
	}
	s.seen = m.seq
	return s.since >= m.local // otherwise it has had it without a place
}

// deliver offers a message to its subscribers, each once.
func (sh *shard) deliver(m *message) {
	sh.lists = sh.index.Match(sh.lists[:0], m.event.Topic)
	for _, l := range sh.lists {
		for _, s := range slices.Backward(l.subs) {
			if !s.wants(m) {
				continue
			}
			s.offer(m)
			s.sink.wake()
		}
	}
}
