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
