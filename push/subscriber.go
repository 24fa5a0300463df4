package push

import (
	"iter"
	"math"
	"time"

	"github.com/redline-go/redline/push/format"
)

// A subscriber is one client that listens. Its shard's lock guards it, except where another
// rule is given.
//
//	joined ──▶ catching up ──▶ live ──▶ ended ──▶ gone
//	           reads the       is in    owes      left
//	           history         the      a bye
//	                           index
type subscriber struct {
	shard    *shard
	sink     sink
	queue    *queue   // nil while nothing waits
	catching *catchUp // nil when live
	filters  *[]string
	place    place    // in the index, while live
	others   *[]place // further ones, of a subscriber with several filters
	lastID   string   // asked for, or last delivered
	address  *tally
	user     *tally
	member   *Member // nil if nobody asks who is here
	seen     uint64  // events up to here were delivered, are queued, or are not for it
	wrote    uint32  // tick of the last output
	until    uint32  // tick at which its lifetime ends
	since    uint32  // cluster.locals when it became live
	charged  uint32  // bytes that it counts for in Options.MaxBytes
	at       int32   // in shard.all; -1: gone
	encoding uint8
	level    uint8  // as counted by its lists
	bye      reason // it is ended, and why
	state    state
}

type state uint8

const (
	fresh    state = 1 << iota // it did not ask to resume
	greeted                    // the start of the stream was sent
	busy                       // output is on its way to the client (net/http)
	due                        // it is in the walk's list
	beat                       // it has to get a sign of life
	finished                   // the bye was sent
)

// A catchUp is the state of a subscriber that reads the history.
type catchUp struct {
	gap      *format.Gap // to announce before the next event
	told     uint64      // losses up to here were announced
	fetching bool        // the broker was asked
}

// A sink is how the output of a subscriber leaves. It calls [Hub.turn] after wake.
type sink interface {
	wake()  // any goroutine, any locks
	abort() // likewise
}

// A reason is why a subscriber was ended.
type reason uint8

const (
	byeShutdown reason = iota + 1
	byeLifetime
	byeSlow
	byeMemory
)

func (r reason) String() string {
	return [...]string{"", "shutdown", "lifetime", "slow", "memory"}[r]
}

// turnBytes is about how much a subscriber sends at a time.
const turnBytes = 16 << 10

// A turn is what a subscriber is to send now.
type turn struct {
	frames []*frame
	more   bool // another turn is needed, without waiting for anything
	done   bool // the stream ends after the frames
}

// turn collects what is due, in place of what the last turn collected. One goroutine at a
// time calls it for a subscriber.
func (h *Hub) turn(s *subscriber, t *turn) {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	if s.catching != nil {
		s.shard.mu.Unlock() // the hub's lock comes first
		h.feed(s)
		s.shard.mu.Lock()
	}
	t.frames, t.more, t.done = t.frames[:0], false, false
	s.state &^= busy
	if s.at < 0 || s.state&finished != 0 {
		t.done = true
		return
	}
	s.greet(t)
	s.announce(t)
	s.drain(t)
	t.more = s.queue != nil || s.catching != nil && !s.catching.fetching
	if s.queue == nil {
		s.setLevel(0)
	}
	switch {
	case s.queue == nil && s.bye != 0:
		t.frames = append(t.frames, s.encode(func(f format.Format) []byte {
			return f.AppendBye(nil, &format.Bye{Reason: s.bye.String(), Retry: h.retryAfter(s.bye)})
		}))
		s.state |= finished
		t.done = true
	case s.state&beat != 0 && len(t.frames) == 0:
		t.frames = append(t.frames, h.beats[s.encoding])
		s.shard.counts.beats++
	}
	s.state &^= beat
	if len(t.frames) > 0 {
		s.wrote = h.ticks.Load()
		if s.shard.loop == nil {
			s.state |= busy
		}
	}
}

// greet begins the stream. A client that did not ask to resume learns where it is, so that
// it can resume before its first event.
func (s *subscriber) greet(t *turn) {
	if s.state&greeted != 0 {
		return
	}
	s.state |= greeted
	h := s.shard.hub
	position := ""
	if s.state&fresh != 0 {
		position = s.lastID
	}
	start := s.encode(func(f format.Format) []byte { return f.AppendStart(nil, vary(h.o.Retry, 0.5), position) })
	if len(start.bytes) > 0 {
		t.frames = append(t.frames, start)
	}
}

// announce adds the gap that a resumption found, once it is known what follows it.
func (s *subscriber) announce(t *turn) {
	c := s.catching
	if c == nil || c.gap == nil {
		return
	}
	g := c.gap
	h := s.shard.hub
	switch {
	case s.queue != nil:
		next := s.queue.items[s.queue.head].m
		g.ID = h.id(next.seq - 1)
		if g.To == "" {
			g.To = next.event.ID
		}
	case s.place.list != nil || s.bye != 0:
		g.ID = h.id(s.seen)
		if g.To == "" {
			g.To = g.ID
		}
	default:
		return
	}
	c.gap = nil
	s.gap(t, g)
	s.lastID = g.ID
}

// drain moves messages from the queue to the turn, and announces what was dropped.
func (s *subscriber) drain(t *turn) {
	q := s.queue
	if q == nil {
		s.settle()
		return
	}
	for room := turnBytes; q.len() > 0 && room > 0; {
		it := q.pop()
		if it.lost > 0 {
			s.gap(t, &format.Gap{From: s.lastID, To: it.m.event.ID, Dropped: it.lost, Reason: "slow"})
		}
		f := it.m.frame(s.encoding)
		t.frames = append(t.frames, f)
		room -= len(f.bytes)
		if it.m.event.ID != "" {
			s.lastID = it.m.event.ID
		}
		it.m.release()
		s.shard.counts.delivered++
	}
	if q.len() > 0 {
		return
	}
	if q.lost > 0 {
		s.gap(t, &format.Gap{From: s.lastID, To: s.shard.hub.id(s.seen), Dropped: q.lost, Reason: "slow"})
	}
	s.queue = nil
	s.shard.spare.put(q)
	s.settle()
}

// settle ends the state of catching up when the subscriber is live and has no gap to
// announce.
func (s *subscriber) settle() {
	if c := s.catching; c != nil && c.gap == nil && s.place.list != nil {
		s.catching = nil
	}
}

func (s *subscriber) gap(t *turn, g *format.Gap) {
	t.frames = append(t.frames, s.encode(func(f format.Format) []byte { return f.AppendGap(nil, g) }))
	s.shard.counts.gaps++
}

// encode makes a frame for this subscriber alone.
func (s *subscriber) encode(f func(format.Format) []byte) *frame {
	return newFrame(f(s.shard.hub.encodings[s.encoding]))
}

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
	if c == nil || c.fetching || s.queue != nil || s.at < 0 || s.bye != 0 || s.place.list != nil {
		return
	}
	events, lost, more := h.history.after(h.fed[:0], s.seen, *s.filters, min(h.o.QueueEvents, 256), 256<<10)
	h.fed = events
	if lost > c.told {
		if h.broker != nil {
			h.fetch(s, lost)
			return
		}
		c.told = lost
		if c.gap == nil {
			c.gap = &format.Gap{From: s.lastID, Reason: "history"}
		}
		c.gap.To = h.whole(lost, *s.filters)
	}
	for _, m := range events {
		s.append(m)
	}
	clear(events)
	if !more {
		s.seen = h.seq
		sh.enlist(s)
	}
}

// whole returns the ID of the first event after a loss: from there on nothing is missing.
func (h *Hub) whole(lost uint64, filters []string) string {
	if next, _, _ := h.history.after(nil, lost, filters, 1, 0); len(next) > 0 {
		return next[0].event.ID
	}
	return h.id(lost)
}

// append queues a message of the history.
func (s *subscriber) append(m *message) {
	if s.queue == nil {
		s.queue = s.shard.spare.get()
	}
	s.queue.add(m)
	s.seen = m.seq
}

// waits reports whether what was given to the subscriber before is still on its way.
func (s *subscriber) waits() bool {
	return s.level > 0 || s.state&busy != 0 || s.queue != nil && s.shard.loop == nil
}

// offer gives a live subscriber a message under its topic's policy.
func (s *subscriber) offer(m *message) {
	h := s.shard.hub
	waits := s.waits()
	if s.queue == nil {
		s.queue = s.shard.spare.get()
	}
	r := s.queue.offer(m, &h.o)
	c := &s.shard.counts
	c.dropped += uint64(r.dropped)
	c.conflated += uint64(r.conflated)
	m.cost.dropped.Add(int32(r.dropped))
	switch {
	case r.disconnect:
		m.cost.dropped.Add(1)
		c.dropped++
		s.end(byeSlow)
		return
	case !r.queued:
	case waits:
		m.cost.queued.Add(1)
		c.queued++
	default:
		m.cost.delivered.Add(1)
	}
	if waits {
		s.lag()
	}
}

// lag notes that the subscriber is behind, and whether its queue is full.
func (s *subscriber) lag() {
	level := uint8(1)
	if s.queue != nil && s.queue.full(&s.shard.hub.o) {
		level = 2
	}
	s.setLevel(level)
}

// end asks a subscriber to leave, with a bye after what it is owed. One that is too slow for
// that gets nothing else any more.
func (s *subscriber) end(why reason) {
	if s.bye != 0 || s.at < 0 {
		return
	}
	s.bye = why
	s.shard.counts.ended[why]++
	s.shard.delist(s)
	if (why == byeSlow || why == byeMemory) && s.queue != nil {
		s.shard.counts.dropped += uint64(s.queue.clear())
		s.queue = nil
	}
	s.sink.wake()
}

// setLevel notes how far behind the subscriber is, with the lists that count it: 0 not at
// all, 1 something waits, 2 its queue is full.
func (s *subscriber) setLevel(level uint8) {
	if s.level == level {
		return
	}
	s.count(-1)
	s.level = level
	s.count(1)
}

func (s *subscriber) count(d int) {
	if s.level == 0 {
		return
	}
	for p := range s.places() {
		p.list.behind += d
		if s.level > 1 {
			p.list.full += d
		}
	}
}

// places are those in the index.
func (s *subscriber) places() iter.Seq[*place] {
	return func(yield func(*place) bool) {
		if s.place.list == nil || !yield(&s.place) || s.others == nil {
			return
		}
		for i := range *s.others {
			if !yield(&(*s.others)[i]) {
				return
			}
		}
	}
}

// retryAfter is when a client may connect again.
func (h *Hub) retryAfter(why reason) time.Duration {
	d := vary(h.o.Retry, 0.5)
	if why == byeShutdown {
		d += time.Duration(spread() * float64(h.o.Spread))
	}
	return d
}

// ticksOf converts a time to ticks from now, of which there are 2^32.
func (h *Hub) ticksOf(d time.Duration) uint32 {
	n := min(int64(d/h.tickEvery)+1, math.MaxUint32-int64(h.ticks.Load()))
	return h.ticks.Load() + uint32(n)
}
