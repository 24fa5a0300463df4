package push

import (
	"slices"

	"github.com/redline-go/redline/push/format"
	"github.com/redline-go/redline/push/topic"
)

// A catchUp is the state of a subscriber that reads the history, a part in each turn: the
// hub's lock is never held for longer than feedSlots take.
type catchUp struct {
	gap      *format.Gap // to announce before the next event
	told     uint64      // losses up to here were announced
	fetching bool        // the broker was asked, or another node was faster
	read     *read       // what it waits for, of the broker
	awaited  uint64      // the place that it waits for, if another node was faster
	ahead    int         // where it is in ahead.waits, from 1; 0: it is not
	origin   string      // see originOf; only with a broker
	whole    uint64      // losses up to here are no gap: it asked for what is held
	present  bool        // it has all that there was when the hub was shut down

	looked uint64            // the place in history.losses up to which it has looked for losses
	lost   uint64            // the newest event that it has found to be missing there
	chased int               // slots of losses examined without reaching their end
	tree   *topic.Tree[bool] // of many filters
	found  []*bool           // its last match
}

// feedSlots is how many slots of a series a subscriber examines in one turn: the work that
// publishers may have to wait for.
const feedSlots = 2048

// feed continues a subscriber that catches up: with the next events of the history, or of
// the broker if the history does not reach back far enough. Having reached the present, it
// makes the subscriber live in the same instant, so that nothing is missed or repeated.
func (h *Hub) feed(s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sh := s.shard
	sh.mu.Lock()
	defer sh.mu.Unlock()
	c := s.catching
	if c == nil || c.fetching || s.queue != nil || s.at < 0 || !s.catches() {
		return
	}
	y := &h.history
	y.room = y.most
	lost, known := y.missing(c, s.seen, *s.filters)
	if !known {
		return // the next turn continues
	}
	if lost > c.told {
		if h.broker != nil {
			h.fetch(s, lost)
			return
		}
		h.lose(s, lost, "history")
		if c.gap != nil {
			c.gap.To = h.whole(c, lost, *s.filters)
		}
	}
	c.whole = min(c.whole, y.newest)
	events, seen, more := y.after(h.fed[:0], c, s.seen, *s.filters, min(h.o.QueueEvents, 256), 256<<10)
	h.fed = events
	for _, m := range events {
		s.append(m)
	}
	clear(events)
	switch s.seen = seen; {
	case more:
	case s.bye != 0: // and nothing is published any more
		s.seen, c.present = h.seq, true
	default:
		s.seen = h.seq
		sh.enlist(s)
	}
}

// whole returns the ID of the first event after a loss, from which on nothing is missing. If
// there is none yet, it is the position of the loss; if too much would have to be examined, the
// position after it.
func (h *Hub) whole(c *catchUp, lost uint64, filters []string) string {
	switch next, _, more := h.history.after(nil, c, lost, filters, 1, 0); {
	case len(next) > 0:
		return next[0].event.ID
	case more:
		return h.id(lost + 1)
	}
	return h.id(lost)
}

// missing returns the newest event after seq of the topics that the filters select that is
// not held any more, or 0. It reports false if there was no room to find out: the next call
// continues. Logs that drop events meanwhile come after the place up to which it has looked.
func (y *history) missing(c *catchUp, seq uint64, filters []string) (lost uint64, known bool) {
	switch {
	case y.newest <= seq:
		c.looked, c.chased = y.lost, 0
		return 0, true
	case slices.Contains(filters, "**"):
		return y.newest, true
	}
	if y.forgotten > seq {
		lost = y.forgotten
	}
	if named := !slices.ContainsFunc(filters, topic.IsPattern); named || y.walk(seq, filters) {
		if named {
			y.pick(seq, filters)
		} else {
			c.looked, c.chased = y.lost, 0
		}
		for _, l := range y.picked {
			if l.gone > seq {
				lost = max(lost, l.gone)
			}
		}
		return lost, true
	}
	slots := y.losses.slots
	for i := y.losses.search(c.looked + 1); i < len(slots); i++ {
		if y.room == 0 {
			if c.chased += y.most; c.chased <= 4*(len(slots)+y.most) {
				return 0, false
			}
			// Events are dropped faster than it can look. Better a gap too many than none.
			c.lost = y.newest
			break
		}
		y.room--
		if l := slots[i].v; l != nil && l.gone > max(seq, c.lost) && c.selects(filters, l.name) {
			c.lost = l.gone
		}
		c.looked = slots[i].at
	}
	c.looked, c.chased = y.lost, 0
	if c.lost > seq {
		lost = max(lost, c.lost)
	}
	return lost, true
}

// selects reports whether one of the filters selects a name.
func (c *catchUp) selects(filters []string, name string) bool {
	if len(filters) <= 4 {
		return slices.ContainsFunc(filters, func(f string) bool { return topic.Match(f, name) })
	}
	if c.tree == nil {
		c.tree = new(topic.Tree[bool])
		for _, f := range filters {
			c.tree.Put(f, new(bool))
		}
	}
	c.found = c.tree.Match(c.found[:0], name)
	return len(c.found) > 0
}

// after appends the events after seq of the topics that the filters select, in order, at most
// so many and at least one of whatever size. Everything up to seen is among them, or is not
// selected. more says that there may be more than it returns.
func (y *history) after(dst []*message, c *catchUp, seq uint64, filters []string, events, bytes int) (_ []*message, seen uint64, more bool) {
	next := func(seq uint64) (*message, uint64, bool) {
		return y.scan(seq, func(l *topicLog) bool { return c.selects(filters, l.name) })
	}
	named := !slices.ContainsFunc(filters, topic.IsPattern)
	if named {
		y.pick(seq, filters)
	}
	if named || y.walk(seq, filters) {
		switch {
		case len(y.picked) == 0:
			return dst, seq, false
		case len(y.picked) <= 8:
			next = y.merge
		default:
			next = func(seq uint64) (*message, uint64, bool) {
				return y.scan(seq, func(l *topicLog) bool { return l.stamp == y.stamp })
			}
		}
	}
	for {
		m, upTo, more := next(seq)
		switch {
		case m == nil:
			return dst, upTo, more
		case len(dst) > 0 && bytes < m.weight():
			return dst, seq, true
		}
		bytes -= m.weight()
		seq = m.seq
		if dst = append(dst, m); len(dst) >= events {
			return dst, seq, true
		}
	}
}

// pick selects the logs of names that have events after seq, each once.
func (y *history) pick(seq uint64, names []string) {
	y.stamp++
	y.picked = y.picked[:0]
	for _, name := range names {
		l := y.tree.Get(name)
		if l == nil {
			l = y.ghosts[name]
		}
		if l != nil && l.stamp != y.stamp && l.last > seq {
			l.stamp = y.stamp
			y.picked = append(y.picked, l)
		}
	}
}

// walk selects the logs of names and patterns that have events after seq, ghosts too, each once. It
// reports false if too much of a tree would have to be looked at, and then the series are.
func (y *history) walk(seq uint64, filters []string) bool {
	y.stamp++
	y.picked = y.picked[:0]
	nodes := y.most / 8
	for _, f := range filters {
		for _, tree := range [...]*topic.Tree[topicLog]{&y.tree, &y.shades} {
			found, whole := tree.Some(y.walked[:0], f, nodes/len(filters))
			for _, l := range found {
				if l.stamp != y.stamp && l.last > seq {
					l.stamp = y.stamp
					y.picked = append(y.picked, l)
				}
			}
			clear(found)
			if y.walked = found; !whole {
				return false
			}
		}
	}
	return true
}

// merge returns the first event after seq of the picked logs. It looks at all there are.
func (y *history) merge(seq uint64) (first *message, upTo uint64, more bool) {
	for _, l := range y.picked {
		i, _ := slices.BinarySearchFunc(l.events, seq+1, func(m *message, seq uint64) int {
			switch {
			case m.seq < seq:
				return -1
			case m.seq > seq:
				return 1
			}
			return 0
		})
		if i < len(l.events) && (first == nil || l.events[i].seq < first.seq) {
			first = l.events[i]
		}
	}
	return first, seq, false
}

// scan is like merge, for all logs that are selected. If there is no room to examine
// everything, it returns up to where there is no event of them, and that there may be more.
func (y *history) scan(seq uint64, selected func(*topicLog) bool) (first *message, upTo uint64, more bool) {
	slots := y.all.slots
	for i := y.all.search(seq + 1); i < len(slots); i++ {
		if y.room == 0 {
			return nil, seq, true
		}
		y.room--
		if m := slots[i].v; m != nil && selected(m.log) {
			return m, seq, false
		}
		seq = slots[i].at
	}
	return nil, seq, false
}
