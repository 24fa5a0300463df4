package push

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redline-go/redline"
)

// looped is a subscriber served by the loop of its connection: it has neither goroutine nor
// timer nor buffer.
type looped struct {
	subscriber
	on   *redline.Subscription
	owed *owed // nil for most
}

// owed is what a connection has not sent. It belongs to the turn, which holds the shard's lock to
// change it.
type owed struct {
	rest []*frame // that were refused
	sent *frame   // a long one that the connection may still have, or nil
}

// refused reports whether the subscriber gets a turn when what it was sent before has gone. The
// shard's lock is held.
func (l *looped) refused() bool { return l.owed != nil && len(l.owed.rest) > 0 }

// owes returns what is owed, to add to it. The shard's lock is held.
func (l *looped) owes() *owed {
	if l.owed == nil {
		l.owed = new(owed)
	}
	return l.owed
}

// settle releases what the connection has sent by now.
func (l *looped) settle(out output) {
	o := l.owed
	if o == nil || out.pending() > 0 {
		return
	}
	l.shard.mu.Lock()
	defer l.shard.mu.Unlock()
	o.release()
	if len(o.rest) == 0 {
		l.owed = nil
	}
}

// release gives up the frame that the connection has.
func (o *owed) release() {
	if o.sent != nil {
		o.sent.of.release()
		o.sent = nil
	}
}

// unsent implements sink.
func (l *looped) unsent(yield func(*frame)) {
	if l.owed == nil {
		return
	}
	if l.owed.sent != nil {
		yield(l.owed.sent)
	}
	for _, f := range l.owed.rest {
		yield(f)
	}
}

// discard implements sink.
func (l *looped) discard() {
	o := l.owed
	if o == nil {
		return
	}
	for _, f := range o.rest {
		f.of.release()
	}
	if o.rest = nil; o.sent == nil {
		l.owed = nil
	}
}

// Whether a looped subscriber has joined or is gone, whichever came first.
const (
	hasJoined int32 = iota + 1
	isGone
)

// serveLooped answers a request on a redline.Server. It reports false if subscribe cannot
// be done, because the server is another one.
func (h *Hub) serveLooped(j *joining, header fields, subscribe func(*looped) (*redline.Subscription, error)) (ok bool, err error) {
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
	if h.o.AckTimeout != never {
		l.on.SetAckTimeout(h.o.AckTimeout)
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
func (l *looped) Gone(err error) {
	if l.fate.Swap(isGone) == hasJoined {
		if errors.Is(err, redline.ErrTimeout) {
			l.stalled()
		}
		l.forget()
		l.shard.hub.leave(&l.subscriber)
	}
}

// turns are the turns of subscribers that are not visited by a walk for its batch alone.
var turns = sync.Pool{New: func() any { return new(turn) }}

// Turn implements redline.Subscriber.
func (l *looped) Turn(t *redline.Turn) { l.turn(nativeTurn{t}) }

func (l *looped) turn(out output) {
	l.settle(out)
	if f := l.shard.loop.direct(l); f != nil {
		if !l.write(out, f, false) {
			f.of.hold()
			l.keep([]*frame{f})
		}
		return
	}
	if !l.writeRest(out) {
		return
	}
	t := turns.Get().(*turn)
	defer func() {
		t.release()
		turns.Put(t)
	}()
	l.shard.hub.turn(&l.subscriber, t)
	for i, f := range t.frames {
		if !l.write(out, f, false) {
			l.keep(slices.Clone(t.frames[i:]))
			t.keep(i)
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

// write passes a frame on, and reports whether the connection has taken it. locked: the shard's lock
// is held.
func (l *looped) write(out output, f *frame, locked bool) bool {
	if !out.write(f) {
		return false
	}
	if !f.long() || f.of == nil {
		return true
	}
	if !locked {
		l.shard.mu.Lock()
		defer l.shard.mu.Unlock()
	}
	f.of.hold()
	o := l.owes()
	o.release()
	o.sent = f
	return true
}

// keep stores what was refused, with the references to it: there will be a turn when
// everything before it has gone.
func (l *looped) keep(frames []*frame) {
	l.shard.mu.Lock()
	defer l.shard.mu.Unlock()
	l.owes().rest = frames
	l.lag()
}

// writeRest writes what was refused before, and reports whether nothing of it remains.
func (l *looped) writeRest(out output) bool {
	l.shard.mu.Lock()
	defer l.shard.mu.Unlock()
	if !l.refused() {
		return true
	}
	o := l.owed
	for i, f := range o.rest {
		if !l.write(out, f, true) {
			o.rest = o.rest[i:]
			return false
		}
		f.of.release()
		o.rest[i] = nil
	}
	if o.rest = nil; o.sent == nil {
		l.owed = nil
	}
	return true
}

// forget releases what the connection has not taken, or not sent.
func (l *looped) forget() {
	l.shard.mu.Lock()
	defer l.shard.mu.Unlock()
	if l.discard(); l.owed != nil {
		l.owed.release()
		l.owed = nil
	}
}

// A loop is a [redline.Loop], except in tests.
type loop interface {
	Walk(next func() *redline.Subscription) bool
	Later(d time.Duration, f func()) bool
}

// output is what a turn writes to: nativeTurn, except in tests.
type output interface {
	write(f *frame) bool
	pending() int // bytes that it has not sent
	end()
}

type nativeTurn struct{ t *redline.Turn }

func (n nativeTurn) write(f *frame) bool { return n.t.WriteFrame(f.native) }
func (n nativeTurn) pending() int        { return n.t.Pending() }
func (n nativeTurn) end()                { n.t.Close() }
