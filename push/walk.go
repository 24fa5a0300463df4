package push

import (
	"time"

	"github.com/redline-go/redline"
)

// A walk hands what is in the inbox of a shard to its subscribers, on their loop. The
// shard's lock guards it.
//
//	inbox ──▶ batch ──▶ next: the subscribers of the batch, one after another
//	                      │
//	                      ├─ Turn follows: the batch is written, encoded once for all
//	                      └─ Turn comes later, or has other work: the batch is queued
//
// A batch is a stretch of the inbox of one topic, all of it ripe. If the events of different topics alternate
// and have few subscribers, they are queued first, so that each subscriber gets one turn.
type walk struct {
	sh      *shard
	on      loop
	next    func() *redline.Subscription // step
	walking bool                         // step is called, or about to be

	due    []*looped  // want a turn
	batch  []*message // one topic, in order
	frames []*frame   // the batch in each encoding, made when needed
	found  []*list    // of the batch
	lists  []*list    // those that are not yet finished
	at     int        // how many of the first list are left
	now    *looped    // returned by step, and its turn has not begun
}

const (
	// batchEvents and batchBytes bound a batch.
	batchEvents = 64
	batchBytes  = 32 << 10
	// queueFirst is how many subscribers events may have that are queued first. It bounds
	// the time that one call of step takes.
	queueFirst = 1024
	// hurried is about how many events are queued at a time because memory is short.
	hurried = 16 * queueFirst
	// mostInbox is how many events may wait for a loop, in a sixteenth of Options.MaxBytes: who publishes
	// more hands over as many.
	mostInbox = 4096
)

// start has the loop walk, unless it does already.
func (w *walk) start() {
	if w.walking {
		return
	}
	w.walking = true
	w.on.Walk(w.next) // false: the loop has ended, and so have its subscribers
}

func (w *walk) walks() bool { return w.walking && len(w.sh.all) > 0 }

func (w *walk) later(d time.Duration, f func()) bool { return w.on.Later(d, f) }

// step returns the next subscriber to visit. The loop calls it.
func (w *walk) step() *redline.Subscription {
	w.sh.mu.Lock()
	defer w.sh.mu.Unlock()
	if l := w.now; l != nil {
		w.now = nil // its turn comes later
		w.queue(l, 0)
	}
	for {
		if l := w.visit(); l != nil {
			return l.on
		}
		if w.load(); len(w.batch) == 0 && len(w.due) == 0 {
			w.walking = false
			return nil
		}
	}
}

// visit returns the next subscriber of the batch, or one that wants a turn.
func (w *walk) visit() *looped {
	for l := w.another(); l != nil; l = w.another() {
		first, last := w.batch[0].seq, w.batch[len(w.batch)-1].seq
		switch {
		case l.seen >= last:
			continue
		case l.seen >= first || l.refused():
			w.queue(l, l.seen)
			if l.seen = last; l.refused() {
				continue // it gets a turn when what it was sent before has gone
			}
		default:
			w.now = l
		}
		l.seen = last
		return l
	}
	w.unload()
	for n := len(w.due); n > 0; n = len(w.due) {
		l := w.due[n-1]
		w.due[n-1] = nil
		w.due = w.due[:n-1]
		l.state &^= due
		if l.at >= 0 {
			return l
		}
	}
	return nil
}

// another returns the next subscriber of the batch, or nil.
func (w *walk) another() *looped {
	for len(w.lists) > 0 {
		subs := w.lists[0].subs
		if w.at = min(w.at, len(subs)); w.at > 0 {
			w.at--
			return subs[w.at].sink.(*looped)
		}
		if w.lists = w.lists[1:]; len(w.lists) > 0 {
			w.at = len(w.lists[0].subs)
		}
	}
	return nil
}

// queue offers a subscriber the messages of the batch after some place.
func (w *walk) queue(l *looped, after uint64) {
	for _, m := range w.batch {
		if m.seq > after && l.place.list != nil {
			l.offer(m)
		}
	}
}

// load makes the next batch of what is in the inbox.
func (w *walk) load() {
	if w.alternates() {
		w.spread()
		return
	}
	size := 0
	for i, m := range w.sh.inbox[:w.sh.ripe] {
		if size += len(m.event.Data); i > 0 && (i == batchEvents || size > batchBytes || m.log != w.batch[0].log || m.local > 0) {
			break
		}
		w.batch = append(w.batch, m)
		if m.local > 0 {
			break
		}
	}
	w.taken(len(w.batch))
	if len(w.batch) == 0 {
		return
	}
	w.found = w.sh.index.Match(w.found[:0], w.batch[0].event.Topic)
	w.lists = w.found
	if len(w.lists) > 0 {
		w.at = len(w.lists[0].subs)
	}
}

// alternates reports whether the inbox begins with events of different topics that have few
// subscribers.
func (w *walk) alternates() bool {
	in := w.sh.inbox[:w.sh.ripe]
	if len(in) > 0 && in[0].local > 0 {
		return true
	}
	return len(in) > 1 && in[0].log != in[1].log && w.audience(in[0]) < queueFirst
}

// audience returns how many subscribers a message may have.
func (w *walk) audience(m *message) (n int) {
	w.sh.lists = w.sh.index.Match(w.sh.lists[:0], m.event.Topic)
	for _, l := range w.sh.lists {
		n += len(l.subs)
	}
	return n
}

// spread queues the events at the beginning of the inbox with their subscribers, which then
// want a turn. It returns how many events it has offered to how many.
func (w *walk) spread() (offers int) {
	done, room := 0, queueFirst
	for _, m := range w.sh.inbox[:w.sh.ripe] {
		if n := w.audience(m); done > 0 && n > room {
			break
		} else {
			room -= n
		}
		done++
		w.sh.deliver(m)
		m.release()
	}
	w.taken(done)
	return queueFirst - room
}

// hurry queues what the loop has not come to with its subscribers: what waits for a loop that is behind is bounded
// by nothing, and a queue has its limits. It makes about so many offers: first of the batch, to those who were
// not visited, and then of what came after it.
func (w *walk) hurry(room int) {
	if l := w.now; l != nil {
		w.now = nil // its turn finds the batch in its queue
		w.queue(l, 0)
		l.wake()
	}
	for ; len(w.batch) > 0; room -= len(w.batch) {
		if room <= 0 {
			return
		}
		l := w.another()
		if l == nil {
			w.unload()
			break
		}
		if last := w.batch[len(w.batch)-1].seq; l.seen < last {
			w.queue(l, l.seen)
			l.seen = last
			l.wake()
		}
	}
	for w.sh.ripe = len(w.sh.inbox); w.sh.ripe > 0 && room > 0; {
		room -= max(w.spread(), 1)
	}
}

// taken removes messages from the inbox.
func (w *walk) taken(n int) {
	in := w.sh.inbox
	for _, m := range in[:n] {
		w.sh.inboxBytes -= int64(m.weight() + overhead)
	}
	copy(in, in[n:])
	clear(in[len(in)-n:])
	w.sh.inbox, w.sh.ripe = in[:len(in)-n], w.sh.ripe-n
	if len(w.sh.inbox) == 0 && cap(in) > 1024 {
		w.sh.inbox = nil
	}
}

// unload ends the batch.
func (w *walk) unload() {
	for i, m := range w.batch {
		m.release()
		w.batch[i] = nil
	}
	w.batch = w.batch[:0]
	for i, f := range w.frames {
		if f != nil {
			f.of.release()
			w.frames[i] = nil
		}
	}
	clear(w.found)
}

// direct returns the batch as one frame, if this is the turn of the subscriber that the
// walk visits for it, and nothing is in its way.
func (w *walk) direct(l *looped) *frame {
	w.sh.mu.Lock()
	defer w.sh.mu.Unlock()
	if w.now != l {
		return nil
	}
	w.now = nil
	if l.queue != nil || l.catching != nil || l.bye != 0 || l.refused() || l.state&(greeted|beat) != greeted {
		w.queue(l, 0)
		return nil
	}
	f := w.frame(l.encoding)
	l.lastID = w.batch[len(w.batch)-1].event.ID
	l.wrote = w.sh.hub.ticks.Load()
	w.sh.counts.delivered += uint64(len(w.batch))
	return f
}

// frame returns the batch in an encoding.
func (w *walk) frame(encoding uint8) *frame {
	if w.frames[encoding] != nil {
		return w.frames[encoding]
	}
	f := w.batch[0].frame(encoding)
	if len(w.batch) > 1 {
		var all []byte
		for _, m := range w.batch {
			all = append(all, m.frame(encoding).bytes()...)
		}
		f = newFrame(all, &held{hub: w.sh.hub})
		f.seq = w.batch[0].seq
		f.of.size.Store(int64(len(all) + frameBytes))
	}
	f.of.hold()
	w.frames[encoding] = f
	return f
}
