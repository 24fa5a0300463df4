package push

import (
	"strings"

	"github.com/redline-go/redline/push/topic"
)

// history is what the hub keeps for subscribers that resume. The hub's lock guards it.
//
//	logs     orders/1: 3 7 9    orders/2: 4 8       one for each topic, with its bounds
//	all      3 4 _ 7 8 9                            every event in order; _ was dropped
//	losses   orders/2 orders/1                      logs that have dropped events, the last one last
//	ghosts   orders/0                               logs of topics that were too many
type history struct {
	hub    *Hub
	tree   topic.Tree[topicLog]
	logs   []*topicLog
	all    series[message] // by sequence number
	losses series[topicLog]
	ghosts map[string]*topicLog
	shades topic.Tree[topicLog] // the ghosts, for patterns
	dead   int64                // what the ghosts count for
	faded  series[topicLog]     // the ghosts, the last one last
	bytes  int64                // of data, with overheads
	ids    map[string]*message
	former ids

	lost      uint64 // counts what was dropped: the last place in losses
	newest    uint64 // the newest event of any topic that is not held any more
	fades     uint64 // counts the ghosts: the last place in faded
	forgotten uint64 // the last event of any topic whose ghost was removed
	most      int    // feedSlots, except in tests
	room      int    // slots that may still be examined before the lock is given back
	stamp     uint64 // of the last selection
	picked    []*topicLog
	walked    []*topicLog // memory of walk
	expired   int         // the log that expire looks at next
}

// A topicLog holds the last events of one topic.
type topicLog struct {
	name   string
	rule   *Rule
	place  int    // in history.logs
	fadeAt uint64 // its place in history.faded, if it is a ghost
	events []*message
	bytes  int
	gone   uint64 // the newest event that is not held any more
	lossAt uint64 // its place in history.losses, or 0
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
	l := y.ghosts[name]
	if l != nil { // which knows what it has lost
		y.lay(l)
	} else {
		l = &topicLog{name: name, rule: y.hub.o.rule(name)}
	}
	l.place = len(y.logs)
	y.logs = append(y.logs, l)
	y.tree.Put(name, l)
	y.hub.bytes.Add(topicBytes(name))
	return l
}

// topicBytes is what a log counts for besides its events. The nodes of two segments are within
// overhead.
func topicBytes(name string) int64 {
	return int64(overhead + max(len(name)+segmentBytes*(strings.Count(name, "/")-1)-100, 0))
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

// maxGhosts is how many ghosts there are at most, in a sixteenth of Options.MaxBytes.
const (
	maxGhosts  = 4096
	ghostBytes = 1 << 10 // the fields of one with a short name of two segments, and its entries in the history
)

// ghostWeight is what a ghost counts for.
func ghostWeight(name string) int64 {
	return int64(ghostBytes + max(len(name)+segmentBytes*(strings.Count(name, "/")-1)-100, 0))
}

// forget removes a log. Its ghost knows for a while what was lost, so that only those who asked for
// that get a gap.
func (y *history) forget(l *topicLog) {
	for len(l.events) > 0 {
		y.drop(l)
	}
	y.fades++
	l.fadeAt = y.fades
	y.faded.add(l.fadeAt, l)
	y.ghosts[l.name] = l
	y.shades.Put(l.name, l)
	y.dead += ghostWeight(l.name)
	y.hub.bytes.Add(ghostWeight(l.name))
	for y.faded.len() > maxGhosts || y.dead > y.hub.o.MaxBytes/16 {
		y.banish()
	}
	y.tree.Delete(l.name)
	end := len(y.logs) - 1
	y.logs[l.place] = y.logs[end]
	y.logs[l.place].place = l.place
	y.logs[end] = nil
	y.logs = y.logs[:end]
	y.hub.bytes.Add(-topicBytes(l.name))
}

// banish removes the oldest ghost. What it has lost may then be of any topic.
func (y *history) banish() {
	l := y.faded.slots[0].v
	y.lay(l)
	y.forgotten = max(y.forgotten, l.gone)
	if l.lossAt != 0 {
		y.losses.remove(l.lossAt)
	}
}

// lay removes a ghost: its topic is known again, or nobody remembers it.
func (y *history) lay(l *topicLog) {
	y.faded.remove(l.fadeAt)
	delete(y.ghosts, l.name)
	y.shades.Delete(l.name)
	y.dead -= ghostWeight(l.name)
	y.hub.bytes.Add(-ghostWeight(l.name))
}

// clear forgets everything.
func (y *history) clear() {
	for len(y.logs) > 0 {
		y.forget(y.logs[0])
	}
	for y.faded.len() > 0 {
		y.banish()
	}
	for y.former.forgetOldest() {
	}
}

// add appends a message, and drops what then exceeds the bounds.
func (y *history) add(m *message) {
	l := m.log
	l.last = m.seq
	keep := l.rule.History
	old := m.at < y.hub.now()-int64(keep.Age) && len(l.events) == 0 // those before it, if any, go first
	if keep.Events < 0 || old {
		// Older ones would be a history with a hole.
		for len(l.events) > 0 {
			y.drop(l)
		}
		y.former.add(m.own, m.seq)
		y.lose(l, m.seq)
		return
	}
	m.hold()
	l.events = append(l.events, m)
	l.bytes += m.weight()
	y.bytes += int64(m.weight() + overhead)
	y.all.add(m.seq, m)
	if m.own != "" {
		y.ids[m.own] = m
	}
	for len(l.events) > keep.Events || l.bytes > keep.Bytes && len(l.events) > 1 {
		y.drop(l)
	}
	for y.bytes > y.hub.o.MaxBytes/2 && y.all.len() > 0 {
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
	y.bytes -= int64(m.weight() + overhead)
	if m.own != "" {
		delete(y.ids, m.own)
		y.former.add(m.own, m.seq)
	}
	y.all.remove(m.seq)
	y.lose(l, m.seq)
	m.release()
}

// lose notes that an event of a log is not held any more.
func (y *history) lose(l *topicLog, seq uint64) {
	l.gone, y.newest = max(l.gone, seq), max(y.newest, seq)
	y.lost++
	if end := len(y.losses.slots) - 1; end >= 0 && y.losses.slots[end].v == l {
		y.losses.slots[end].at = y.lost
	} else {
		if l.lossAt != 0 {
			y.losses.remove(l.lossAt)
		}
		y.losses.add(y.lost, l)
	}
	l.lossAt = y.lost
}

// holds reports whether the history keeps the message of a place: then who refers to it costs nothing.
func (y *history) holds(seq uint64) bool {
	i := y.all.search(seq)
	return i < len(y.all.slots) && y.all.slots[i].at == seq && y.all.slots[i].v != nil
}

// dropOldest removes the oldest event of all.
func (y *history) dropOldest() { y.drop(y.all.slots[0].v.log) }

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
	return y.all.len() > 0
}
