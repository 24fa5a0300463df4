package push

import (
	"iter"
	"math"
	"slices"
	"strings"
	"sync/atomic"
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
	place    place        // in the index, while live
	lastID   string       // asked for, or last delivered
	rare     *rare        // nil for most
	number   uint64       // see Hub.numbered
	seen     uint64       // events up to here were delivered, are queued, or are not for it
	wrote    uint32       // tick of the last output
	until    uint32       // tick at which its lifetime ends
	since    uint32       // cluster.locals when it became live
	at       int32        // in shard.all; -1: gone
	fate     atomic.Int32 // of a looped one: hasJoined, isGone
	encoding uint8
	level    uint8  // as counted by its lists
	bye      reason // it is ended, and why
	state    state
}

// rare is what only some subscribers have.
type rare struct {
	user, token, address *tally
	userAt, tokenAt      int32   // where it is among the others of user and token
	member               *Member // nil if nobody asks who is here
	watch                *watch  // nil if it does not ask who joins and leaves
	beside               int     // see Hub.beside; 0 if it makes no difference
	others               []place // of a subscriber with several filters, while live
	why                  string  // see Ending.Reason
	from                 string  // see Handler.Address
}

func (s *subscriber) needs() *rare {
	if s.rare == nil {
		s.rare = new(rare)
	}
	return s.rare
}

type state uint8

const (
	fresh    state = 1 << iota // it did not ask to resume
	greeted                    // the start of the stream was sent
	busy                       // output is on its way to the client (net/http)
	due                        // it is in the walk's list
	beat                       // it has to get a sign of life
	finished                   // the bye was sent
	severed                    // it is cut, because of what its connection keeps
)

// A sink is how the output of a subscriber leaves. It calls [Hub.turn] after wake.
type sink interface {
	wake()  // any goroutine, any locks
	abort() // likewise
	// unsent calls yield for what its connection keeps in memory, discard gives up what the
	// connection has not taken. The shard's lock is held.
	unsent(yield func(*frame))
	discard()
}

// turnBytes is about how much a subscriber sends at a time.
const turnBytes = 16 << 10

// A turn is what a subscriber is to send now.
type turn struct {
	frames []*frame // with a reference to each
	more   bool     // another turn is needed, without waiting for anything
	done   bool     // the stream ends after the frames
}

// release forgets the frames, which were sent or are not wanted.
func (t *turn) release() {
	for i, f := range t.frames {
		f.of.release()
		t.frames[i] = nil
	}
	t.frames = t.frames[:0]
}

// keep leaves the frames from i on to the caller, with their references.
func (t *turn) keep(i int) {
	clear(t.frames[i:])
	t.frames = t.frames[:i]
}

// turn collects what is due, in place of what the last turn collected. One goroutine at a
// time calls it for a subscriber.
func (h *Hub) turn(s *subscriber, t *turn) {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	t.release()
	if s.catching != nil {
		s.shard.mu.Unlock() // the hub's lock comes first
		h.feed(s)
		s.shard.mu.Lock()
	}
	t.more, t.done = false, false
	s.state &^= busy
	if s.at < 0 || s.state&finished != 0 {
		t.done = true
		return
	}
	s.greet(t)
	s.announce(t)
	s.drain(t)
	t.more = s.queue != nil || s.catching != nil && !(s.catching.fetching && s.catches())
	if s.queue == nil && s.inform(t) {
		t.more = true
	}
	if s.queue == nil {
		s.setLevel(0)
	}
	switch {
	case s.queue == nil && s.bye != 0 && !s.catches():
		t.frames = append(t.frames, s.encode(func(f format.Format) []byte {
			return f.AppendBye(nil, &format.Bye{Reason: s.farewell(), Retry: h.retryAfter(s.bye)})
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
	start := s.encode(func(f format.Format) []byte {
		return f.AppendStart(make([]byte, 0, 64), vary(h.o.Retry, 0.5), position)
	})
	if len(start.bytes()) > 0 {
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
		var next string
		if g.ID, next = s.placed(); g.To == "" {
			g.To = next
		}
	case !s.catches():
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

// placed returns the position before the first message in the queue that has a place in the
// present order, and the ID of that message. If none has one, both are the position of what
// was delivered.
func (s *subscriber) placed() (before, next string) {
	h := s.shard.hub
	for _, it := range s.queue.items[s.queue.head:] {
		if it.m == nil {
			continue // a hole
		}
		if _, ours := h.position(it.m.event.ID); it.m.seq != unplaced && (ours || h.broker == nil) {
			return h.id(it.m.seq - 1), it.m.event.ID
		}
	}
	return h.id(s.seen), h.id(s.seen)
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
			to := it.m.event.ID
			if to == "" {
				_, to = s.placed()
			}
			s.gap(t, &format.Gap{From: s.lastID, To: to, Dropped: it.lost, Reason: "slow"})
		}
		if it.m.event.ID != "" {
			s.lastID = it.m.event.ID
		}
		room -= t.add(it.m, s.encoding) // with the reference of the queue
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

// settle ends the state of catching up when the subscriber has reached the present, and has no
// gap to announce.
func (s *subscriber) settle() {
	if c := s.catching; c != nil && c.gap == nil && (c.present || s.place.list != nil) {
		s.catching = nil
	}
}

// catches reports whether the subscriber has to read more of the history: it is not live, and
// was not ended either, unless by a shutdown, which gives it what it is owed.
func (s *subscriber) catches() bool {
	c := s.catching
	return c != nil && !c.present && s.place.list == nil && (s.bye == 0 || s.bye == byeShutdown)
}

func (s *subscriber) gap(t *turn, g *format.Gap) {
	t.frames = append(t.frames, s.encode(func(f format.Format) []byte { return f.AppendGap(nil, g) }))
	s.shard.counts.gaps++
}

// encode makes a frame for this subscriber alone.
func (s *subscriber) encode(f func(format.Format) []byte) *frame {
	return newFrame(f(s.shard.hub.encodings[s.encoding]), nil)
}

// append queues a message of the history.
func (s *subscriber) append(m *message) {
	if s.queue == nil {
		s.queue = s.shard.spare.get(s.shard)
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
		s.queue = s.shard.spare.get(s.shard)
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
		if s.place.list == nil || !yield(&s.place) || s.rare == nil {
			return
		}
		for i := range s.rare.others {
			if !yield(&s.rare.others[i]) {
				return
			}
		}
	}
}

// placeIn returns the place in a list of one that is in it. The filters are sorted, and so are the places.
func (s *subscriber) placeIn(l *list) *place {
	if s.place.list == l {
		return &s.place
	}
	i, _ := slices.BinarySearchFunc(s.rare.others, l.filters[0], func(p place, name string) int { return strings.Compare(p.list.filters[0], name) })
	return &s.rare.others[i]
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
