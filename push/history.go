package push

import (
	"slices"
	"sort"

	"github.com/redline-go/redline/push/topic"
)

// history is what the hub keeps for subscribers that resume. The hub's lock guards it.
//
//	logs   orders/1: 3 7 9    orders/2: 4 8       one for each topic, with its bounds
//	all    3 4 _ 7 8 9                            every event in order; _ was dropped
type history struct {
	hub   *Hub
	tree  topic.Tree[topicLog]
	logs  []*topicLog
	all   []slot // ascending
	gone  int    // slots without a message
	bytes int64  // of data, with overheads
	ids   map[string]*message

	forgotten uint64 // the last event of any topic whose log was removed
	stamp     uint64 // of the last selection
	picked    []*topicLog
	expired   int // the log that expire looks at next
}

type slot struct {
	seq uint64
	m   *message // nil: dropped
}

// A topicLog holds the last events of one topic.
type topicLog struct {
	name   string
	rule   *Rule
	place  int // in history.logs
	events []*message
	bytes  int
	gone   uint64 // the newest event that is not held any more
	last   uint64 // the newest event
	stamp  uint64
}

// log returns the log of a topic, which it makes if there is none.
func (y *history) log(name string) *topicLog {
	if l := y.tree.Get(name); l != nil {
		return l
	}
	for len(y.logs) >= y.hub.o.MaxTopics {
		y.forget(y.stalest())
	}
	l := &topicLog{name: name, rule: y.hub.o.rule(name), place: len(y.logs)}
	y.logs = append(y.logs, l)
	y.tree.Put(name, l)
	y.hub.bytes.Add(overhead)
	return l
}

// stalest returns the log of some topic that has had no event for long: the best of a few
// random ones.
func (y *history) stalest() *topicLog {
	best := y.logs[int(spread()*float64(len(y.logs)))]
	for range 7 {
		if l := y.logs[int(spread()*float64(len(y.logs)))]; l.last < best.last {
			best = l
		}
	}
	return best
}

// forget removes a log.
func (y *history) forget(l *topicLog) {
	for len(l.events) > 0 {
		y.drop(l)
	}
	y.forgotten = max(y.forgotten, l.gone)
	y.tree.Delete(l.name)
	end := len(y.logs) - 1
	y.logs[l.place] = y.logs[end]
	y.logs[l.place].place = l.place
	y.logs[end] = nil
	y.logs = y.logs[:end]
	y.hub.bytes.Add(-overhead)
}

// add appends a message, and drops what then exceeds the bounds.
func (y *history) add(m *message) {
	l := m.log
	l.last = m.seq
	keep := l.rule.History
	if keep.Events < 0 || m.weight() > keep.Bytes || m.at < y.hub.now()-int64(keep.Age) {
		// Older ones would be a history with a hole.
		for len(l.events) > 0 {
			y.drop(l)
		}
		l.gone = m.seq
		return
	}
	m.hold()
	l.events = append(l.events, m)
	l.bytes += m.weight()
	y.bytes += int64(m.weight() + overhead)
	y.all = append(y.all, slot{m.seq, m})
	if m.own != "" {
		y.ids[m.own] = m
	}
	for len(l.events) > keep.Events || l.bytes > keep.Bytes {
		y.drop(l)
	}
	for y.bytes > y.hub.o.MaxBytes/2 && len(y.all) > 0 {
		y.dropOldest()
	}
}

// drop removes the oldest event of a log.
func (y *history) drop(l *topicLog) {
	m := l.events[0]
	l.events[0] = nil
	l.events = l.events[1:]
	if len(l.events) == 0 {
		l.events = nil
	}
	l.bytes -= m.weight()
	l.gone = max(l.gone, m.seq)
	y.bytes -= int64(m.weight() + overhead)
	if m.own != "" {
		delete(y.ids, m.own)
	}
	y.all[y.search(m.seq)].m = nil
	y.gone++
	m.release()
	y.trim()
}

// dropOldest removes the oldest event of all.
func (y *history) dropOldest() {
	for _, s := range y.all {
		if s.m != nil {
			y.drop(s.m.log)
			return
		}
	}
}

// trim frees the slots of dropped events: those at the beginning at once, others when they
// are the majority.
func (y *history) trim() {
	for len(y.all) > 0 && y.all[0].m == nil {
		y.all = y.all[1:]
		y.gone--
	}
	if y.gone > 64 && y.gone > len(y.all)/2 {
		kept := make([]slot, 0, len(y.all)-y.gone+64)
		for _, s := range y.all {
			if s.m != nil {
				kept = append(kept, s)
			}
		}
		y.all, y.gone = kept, 0
	}
}

// search returns the place of the first event that does not come before seq.
func (y *history) search(seq uint64) int {
	return sort.Search(len(y.all), func(i int) bool { return y.all[i].seq >= seq })
}

// expire drops what is too old, of a share of all topics at a time, and reports whether
// there is anything that can become too old.
func (y *history) expire(share int) bool {
	now := y.hub.now()
	for range min(len(y.logs)/share+1, len(y.logs)) {
		if y.expired >= len(y.logs) {
			y.expired = 0
		}
		l := y.logs[y.expired]
		for len(l.events) > 0 && l.events[0].at < now-int64(l.rule.History.Age) {
			y.drop(l)
		}
		y.expired++
	}
	return len(y.all) > 0
}

// after appends the events after seq of the topics that a filter selects, in order, at most
// so many and at least one of whatever size. lost is the newest event after seq that is
// missing, or 0; more says that there are more than it returns.
func (y *history) after(dst []*message, seq uint64, filter []string, events, bytes int) (_ []*message, lost uint64, more bool) {
	lost = y.pick(seq, filter)
	if len(y.picked) == 0 {
		return dst, lost, false
	}
	next := y.merge
	if len(y.picked) > 8 {
		next = y.scan
	}
	for m := next(seq); m != nil; m = next(seq) {
		if len(dst) >= events || len(dst) > 0 && bytes < m.weight() {
			return dst, lost, true
		}
		bytes -= m.weight()
		seq = m.seq
		dst = append(dst, m)
	}
	return dst, lost, false
}

// pick selects the logs of a filter that have events after seq, each once. It returns the
// newest event after seq that any of them has lost, or 0.
func (y *history) pick(seq uint64, filter []string) (lost uint64) {
	y.stamp++
	if y.forgotten > seq {
		lost = y.forgotten
	}
	picked := y.picked[:0]
	for _, f := range filter {
		from := len(picked)
		if topic.IsPattern(f) {
			picked = y.tree.Select(picked, f)
		} else if l := y.tree.Get(f); l != nil {
			picked = append(picked, l)
		}
		kept := picked[:from]
		for _, l := range picked[from:] {
			if l.stamp == y.stamp || l.last <= seq {
				continue
			}
			if l.gone > seq {
				lost = max(lost, l.gone)
			}
			l.stamp = y.stamp
			kept = append(kept, l)
		}
		picked = kept
	}
	y.picked = picked
	return lost
}

// merge returns the first event after seq of the picked logs.
func (y *history) merge(seq uint64) (first *message) {
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
	return first
}

// scan is like merge, for many logs.
func (y *history) scan(seq uint64) *message {
	for _, s := range y.all[y.search(seq+1):] {
		if s.m != nil && s.m.log.stamp == y.stamp {
			return s.m
		}
	}
	return nil
}
