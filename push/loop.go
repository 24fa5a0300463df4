package push

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline"
)

type nativeFrame = redline.Frame

// onLoop returns the frame as loops send it, prepared once for all of them.
func (f *frame) onLoop() *redline.Frame {
	if n := f.native.Load(); n != nil {
		return n
	}
	f.native.CompareAndSwap(nil, redline.NewFrame(f.bytes))
	return f.native.Load()
}

// looped is a subscriber served by the loop of its connection: it has neither goroutine nor
// timer nor buffer.
type looped struct {
	subscriber
	on   *redline.Subscription
	rest *[]*frame    // that were refused, or nil
	fate atomic.Int32 // see settled
}

// Whether a looped subscriber has joined or is gone, whichever came first.
const (
	hasJoined int32 = iota + 1
	isGone
)

// serveLooped answers a request on a redline.Server. It reports false if subscribe cannot
// be done, because the server is another one.
func (h *Hub) serveLooped(j *joining, header http.Header, subscribe func(*looped) (*redline.Subscription, error)) (ok bool, err error) {
	l := new(looped)
	l.sink = l
	if err := h.admit(&l.subscriber, j); err != nil {
		return true, err
	}
	h.head(header, j)
	if l.on, err = subscribe(l); err != nil {
		h.dismissed(&l.subscriber)
		return false, nil
	}
	h.join(&l.subscriber, l.on.Loop(), j)
	if !l.fate.CompareAndSwap(0, hasJoined) {
		h.leave(&l.subscriber)
	}
	return true, nil
}

func newLoopShard(h *Hub, on loop) *shard {
	sh := &shard{hub: h}
	sh.loop = &walk{sh: sh, on: on, frames: make([]*frame, len(h.encodings))}
	sh.loop.next = sh.loop.step
	return sh
}

// wake asks for a turn. The shard's lock is held, so that many are told in one walk.
func (l *looped) wake() {
	if l.state&due == 0 {
		l.state |= due
		l.shard.loop.due = append(l.shard.loop.due, l)
		l.shard.loop.start()
	}
}

func (l *looped) abort() { l.on.Abort() }

// Gone implements redline.Subscriber.
func (l *looped) Gone(error) {
	if l.fate.Swap(isGone) == hasJoined {
		l.shard.hub.leave(&l.subscriber)
	}
}

// turns are the turns of subscribers that are not visited by a walk for its batch alone.
var turns = sync.Pool{New: func() any { return new(turn) }}

// Turn implements redline.Subscriber.
func (l *looped) Turn(t *redline.Turn) { l.turn(nativeTurn{t}) }

func (l *looped) turn(out output) {
	if f := l.shard.loop.direct(l); f != nil {
		if !out.write(f) {
			l.keep([]*frame{f})
		}
		return
	}
	if !l.writeRest(out) {
		return
	}
	t := turns.Get().(*turn)
	defer func() {
		clear(t.frames)
		turns.Put(t)
	}()
	l.shard.hub.turn(&l.subscriber, t)
	for i, f := range t.frames {
		if !out.write(f) {
			l.keep(slices.Clone(t.frames[i:]))
			return
		}
	}
	switch {
	case t.done:
		out.end()
	case t.more:
		l.on.Wake()
	}
}

// keep stores what was refused: there will be a turn when everything before it has gone.
func (l *looped) keep(frames []*frame) {
	l.shard.mu.Lock()
	defer l.shard.mu.Unlock()
	l.rest = &frames
	l.lag()
}

// writeRest writes what was refused before, and reports whether nothing of it remains.
func (l *looped) writeRest(out output) bool {
	l.shard.mu.Lock()
	defer l.shard.mu.Unlock()
	if l.rest == nil {
		return true
	}
	for i, f := range *l.rest {
		if !out.write(f) {
			*l.rest = (*l.rest)[i:]
			return false
		}
	}
	l.rest = nil
	return true
}

// A loop is a [redline.Loop], except in tests.
type loop interface {
	Walk(next func() *redline.Subscription) bool
	Later(d time.Duration, f func()) bool
}

// output is what a turn writes to: nativeTurn, except in tests.
type output interface {
	write(f *frame) bool
	end()
}

type nativeTurn struct{ t *redline.Turn }

func (n nativeTurn) write(f *frame) bool { return n.t.WriteFrame(f.onLoop()) }
func (n nativeTurn) end()                { n.t.Close() }

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
	for len(w.lists) > 0 {
		subs := w.lists[0].subs
		if w.at = min(w.at, len(subs)); w.at == 0 {
			w.lists = w.lists[1:]
			if len(w.lists) > 0 {
				w.at = len(w.lists[0].subs)
			}
			continue
		}
		w.at--
		l := subs[w.at].sink.(*looped)
		first, last := w.batch[0].seq, w.batch[len(w.batch)-1].seq
		switch {
		case l.seen >= last:
			continue
		case l.seen >= first || l.rest != nil:
			w.queue(l, l.seen)
			if l.seen = last; l.rest != nil {
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
// want a turn.
func (w *walk) spread() {
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
}

// taken removes messages from the inbox.
func (w *walk) taken(n int) {
	in := w.sh.inbox
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
	clear(w.frames)
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
	if l.queue != nil || l.catching != nil || l.bye != 0 || l.rest != nil || l.state&(greeted|beat) != greeted {
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
			all = append(all, m.frame(encoding).bytes...)
		}
		f = newFrame(all)
	}
	w.frames[encoding] = f
	return f
}
