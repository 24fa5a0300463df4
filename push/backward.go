package push

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redline-go/redline/push/format"
)

// A page that goes backward is read in two parts. In memory, each turn looks at the places from the
// last one down, under the same lock as it looks for what is missing there. The broker reads forward
// only, so what it has is read in windows, the newest first:
//
//	places  1 . . . . . . . . . . . . . lost . . . . . . . hi
//	        broker: ...  window  window │    memory
//	                             ◀──────┘◀────────────────
const (
	firstWindow = 256
	mostWindow  = 1 << 20
	// windowReads is how many reads of the broker a page may take: then it ends, and the next one
	// goes on. It is enough for a window of one place, whatever its event weighs.
	windowReads = 16
)

// beginBackward returns the place that the page ends before. The lock is held.
func (h *Hub) beginBackward(r *reader) uint64 {
	end := h.seq + 1
	if r.lastID == "" {
		return end
	}
	if seq, known := h.history.placeOf(r.lastID); known {
		return min(seq, end)
	}
	seq, ours := h.position(r.lastID)
	switch {
	case ours && seq <= h.seq || ours && h.broker != nil: // another node was faster
		return min(seq, end)
	case h.foreign(r.lastID):
		r.page.Gap = &format.Gap{From: r.lastID, To: h.present(), Reason: "epoch"}
	default:
		r.page.Gap = &format.Gap{From: r.lastID, To: h.present(), Reason: "unknown-id"}
	}
	return end
}

// backward reads the events before a place, until the page is full or nothing is left.
func (r *reader) backward(ctx context.Context, hi uint64) error {
	h := r.shard.hub
	for turns := 0; ; {
		lo, lost, more := r.descend(hi)
		n := len(r.page.Events)
		if lo < hi {
			turns++ // one that only looked for what is missing ends by itself
		}
		switch hi = lo; {
		case !more && h.broker != nil && lost > 0:
			return r.windows(ctx, hi)
		case !more:
			return nil
		case n >= r.r.Limit || r.room <= 0 || turns >= readTurns:
			r.page.Next = h.id(hi)
			return nil
		}
		if err := r.wait(ctx, false); err != nil {
			return err
		}
	}
}

// descend takes one turn: it adds what memory has of the places before hi, and returns from where on
// it has looked. With a broker it does not go further than the newest place that is lost here.
func (r *reader) descend(hi uint64) (lo, lost uint64, more bool) {
	h := r.shard.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	y := &h.history
	y.room = y.most
	lost, known := y.missing(r.catching, 0, *r.filters)
	if !known {
		return hi, lost, true
	}
	floor := uint64(0)
	if h.broker != nil {
		floor = lost
	}
	if hi <= floor+1 {
		return hi, lost, false
	}
	lo, more = y.before(r, hi, floor)
	if h.broker == nil && lost >= lo {
		r.misses(h.whole(r.catching, lost, *r.filters), "history")
	}
	return lo, lost, more
}

// misses notes a gap between the events of the page, or after them.
func (r *reader) misses(to, reason string) {
	if r.page.Gap == nil {
		r.page.Gap = &format.Gap{From: r.lastID, To: to, Reason: reason}
	}
}

// before adds the events before hi and after floor to a page, the newest first, until it is full or
// there is no room to examine more. All from lo on are on the page, or not selected.
func (y *history) before(r *reader, hi, floor uint64) (lo uint64, more bool) {
	next := y.backScan(func(l *topicLog) bool { return r.catching.selects(*r.filters, l.name) }, floor)
	if y.walk(0, *r.filters) {
		switch {
		case len(y.picked) == 0:
			return floor + 1, false
		case len(y.picked) <= 8:
			next = y.backMerge(floor)
		default:
			next = y.backScan(func(l *topicLog) bool { return l.stamp == y.stamp }, floor)
		}
	}
	for lo = hi; ; {
		m, from, more := next(lo)
		switch {
		case m == nil:
			return from, more
		case !r.fits(m):
			return lo, true
		}
		r.add(m)
		lo = m.seq
	}
}

// backMerge returns a function that finds the last event before a place, and after floor, of the
// picked logs.
func (y *history) backMerge(floor uint64) func(hi uint64) (*message, uint64, bool) {
	return func(hi uint64) (last *message, from uint64, more bool) {
		for _, l := range y.picked {
			i, _ := slices.BinarySearchFunc(l.events, hi, func(m *message, seq uint64) int {
				switch {
				case m.seq < seq:
					return -1
				case m.seq > seq:
					return 1
				}
				return 0
			})
			if i > 0 && l.events[i-1].seq > floor && (last == nil || l.events[i-1].seq > last.seq) {
				last = l.events[i-1]
			}
		}
		return last, floor + 1, false
	}
}

// backScan is like backMerge for all logs that are selected. If there is no room to examine
// everything, the function returns from where on there is no event of them, and that there may be more.
func (y *history) backScan(selected func(*topicLog) bool, floor uint64) func(hi uint64) (*message, uint64, bool) {
	return func(hi uint64) (*message, uint64, bool) {
		slots := y.all.slots
		for i := y.all.search(hi) - 1; i >= 0 && slots[i].at > floor; i-- {
			if y.room == 0 {
				return nil, hi, true
			}
			y.room--
			hi = slots[i].at
			if m := slots[i].v; m != nil && selected(m.log) {
				return m, hi, false
			}
		}
		return nil, floor + 1, false
	}
}

// windows reads what the broker has of the places before hi.
func (r *reader) windows(ctx context.Context, hi uint64) error {
	h := r.shard.hub
	size := uint64(firstWindow)
	for reads := 0; hi > 1; reads++ {
		if len(r.page.Events) >= r.r.Limit || r.room <= 0 || reads >= windowReads {
			r.page.Next = h.id(hi)
			return nil
		}
		after := hi - 1 - min(hi-1, size)
		got, first, whole, err := r.window(ctx, after, hi-1)
		if err != nil {
			return err
		}
		if g := r.page.Gap; g != nil && g.Reason == "broker" {
			r.page.Next = h.id(hi) // it is out of reach, and the node does not wait for it
			r.discardAll(got)
			return nil
		}
		if !whole && hi-1-after > 1 {
			size = max((hi-1-after)/4, 1)
			r.discardAll(got)
			continue
		}
		full := r.addBackward(got)
		switch {
		case full:
			r.page.Next = h.id(r.last)
			return nil
		case first > after+1: // the broker has nothing before
			return nil
		}
		if hi = after + 1; len(got) < firstWindow/4 {
			size = min(size*4, mostWindow)
		}
	}
	return nil
}

// discardAll gives up messages.
func (r *reader) discardAll(all []*message) {
	for _, m := range all {
		m.release()
	}
}

// addBackward adds messages, the last one first, and gives them up. It reports whether the page had no
// room for all.
func (r *reader) addBackward(all []*message) (full bool) {
	defer r.discardAll(all)
	for _, m := range slices.Backward(all) {
		if !r.fits(m) {
			return true
		}
		r.add(m)
	}
	return false
}

// window returns what the broker has of (after, until], of which the caller gets the references, and
// the first place that it has. whole: that is all, and not only the beginning.
func (r *reader) window(ctx context.Context, after, until uint64) (got []*message, first uint64, whole bool, err error) {
	h, c := r.shard.hub, r.catching
	h.mu.Lock()
	r.shard.mu.Lock()
	r.seen, c.told, c.gap, c.whole = after, 0, nil, 0
	h.await(&r.subscriber, until, fmt.Sprintf("backward %d-%d\n%s", after, until, strings.Join(*r.filters, "\n")))
	r.shard.mu.Unlock()
	h.mu.Unlock()
	if err := r.wait(ctx, true); err != nil {
		return nil, 0, false, err
	}
	r.shard.mu.Lock()
	defer r.shard.mu.Unlock()
	size := 0
	if q := r.queue; q != nil {
		for q.len() > 0 {
			m := q.pop().m
			size += len(m.event.Data)
			got = append(got, m)
		}
		r.queue = nil
		r.shard.spare.put(q)
	}
	if c.gap != nil { // with the place before the first
		first = c.told + 1
		r.misses(h.id(c.told), c.gap.Reason)
		c.gap = nil
	}
	return got, first, len(got) < fetchEvents && size < fetchBytes, nil
}
