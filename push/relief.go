package push

import (
	"cmp"
	"math"
	"slices"
)

// A relief frees memory when the hub has more than it may. Some of it is free at once, and some when
// the connections that keep it have been closed.
type relief struct {
	cut    map[*held]int32 // references of connections that are to be closed
	coming int64           // bytes that nobody has when they are
}

// add counts a reference that is about to go.
func (r *relief) add(c *held) {
	if c == nil {
		return
	}
	if r.cut[c]++; r.cut[c] == c.refs.Load() {
		r.coming += c.size.Load()
	}
}

// relieve frees memory when the hub has more than it may: subscribers are ended that keep what
// the history does not hold any more, in their queues or in their connections, those that are furthest
// behind first, and the history gets shorter. A subscriber that keeps what the history holds too would
// free nothing. need is what is about to be added for a newcomer, which does not cost others what they may resume
// from.
func (h *Hub) relieve(need int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.bytes.Load() + need
	if before <= h.o.MaxBytes || h.relieved == h.ticks.Load() && before < h.relievedAt+h.o.MaxBytes/64 {
		return
	}
	defer func() {
		// What could be freed is, or is about to be: not again for each event, or newcomer.
		h.relieved, h.relievedAt = math.MaxUint32, 0
		if after := h.bytes.Load() + need; after > h.o.MaxBytes {
			h.relieved, h.relievedAt = h.ticks.Load(), after
		}
	}()
	r := relief{cut: map[*held]int32{}}
	defer func() { h.coming.Store(r.coming) }()
	slow := h.slow(&r)
	goal := h.o.MaxBytes - h.o.MaxBytes/16 // so that this is not needed for each event
	for h.bytes.Load()-r.coming > goal {
		switch {
		case len(slow) > 0 && !h.history.holds(slow[0].first):
			r.end(&slow[0])
			slow = slow[1:]
		case need > 0:
			return
		case h.history.all.len() > 0:
			h.history.dropOldest()
		case !h.history.former.forgetOldest():
			return
		}
	}
}

// waiting is a subscriber that is behind.
type waiting struct {
	s     *subscriber
	first uint64 // place of the first event that it keeps
	held  bool   // by the history too
}

// first returns the place of the first event that is kept for a subscriber that is behind.
func (s *subscriber) first() (seq uint64, behind bool) {
	seq = unplaced
	if q := s.queue; q != nil && q.len() > 0 {
		seq, behind = q.items[q.head].m.seq, true
	}
	s.sink.unsent(func(f *frame) {
		if f.of != nil {
			seq, behind = min(seq, f.seq), true
		}
	})
	return seq, behind
}

// slow returns the subscribers that are behind: those first that keep what the history does not
// hold, and of them those that are furthest behind. The lock is held.
func (h *Hub) slow(r *relief) (all []waiting) {
	for _, sh := range h.shards {
		sh.mu.Lock()
		sh.hurry(hurried)
		for _, s := range sh.all {
			if s.state&severed != 0 {
				s.sink.unsent(func(f *frame) { r.add(f.of) })
			} else if seq, behind := s.first(); behind {
				all = append(all, waiting{s, seq, h.history.holds(seq)})
			}
		}
		sh.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b waiting) int {
		if a.held != b.held {
			if b.held {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.first, b.first)
	})
	return all
}

// end ends the subscriber, unless it has moved on meanwhile. If its connection keeps something, it is
// cut: a client that does not read gets no bye.
func (r *relief) end(w *waiting) {
	s, sh := w.s, w.s.shard
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if first, behind := s.first(); s.at < 0 || !behind || first != w.first {
		return
	}
	s.end(byeMemory)
	s.empty() // also of one that was ended for another reason
	s.sink.discard()
	s.sink.unsent(func(f *frame) {
		if f.of != nil {
			s.state |= severed
			r.add(f.of)
		}
	})
	if s.state&severed != 0 {
		s.sink.abort()
	}
}
