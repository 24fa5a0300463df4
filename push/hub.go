package push

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/push/format"
	"github.com/redline-go/redline/push/topic"
)

// A Hub takes events from publishers and gives them to subscribers. Its methods may be
// called by any number of goroutines.
type Hub struct {
	o         Options
	encodings []format.Format // the options' formats, and their variants for several topics
	topical   []uint8         // for each encoding, that for several topics
	beats     []*frame        // a sign of life in each encoding
	born      time.Time
	broker    Broker
	clockSkew atomic.Int64 // of tests
	epoch     atomic.Pointer[string]

	bytes     atomic.Int64 // see Options.MaxBytes
	coming    atomic.Int64 // of these, what the last relief has freed when connections are closed
	ticks     atomic.Uint32
	tickEvery time.Duration
	published atomic.Uint64
	repeated  atomic.Uint64

	mu      sync.Mutex
	seq     uint64 // of the last event
	history history
	shards  []*shard // plain, then those of loops
	plain   []*shard // for net/http
	turns   int      // which of them is next
	number  uint64   // of the last subscriber
	resumed uint64   // subscribers that asked to resume
	fed     []*message
	here    struct { // see present
		id, era string
		seq     uint64
	}
	relieved   uint32 // tick at which relieve could not free enough at once
	relievedAt int64  // and bytes after that
	closed     bool
	drained    chan struct{} // closed when the last subscriber has left a closed hub
	beating    bool          // a timer calls tick
	timer      *time.Timer

	limits   limits
	rates    rates
	pages    pages
	presence presence
	cluster  cluster
}

// New creates a hub. It needs no goroutine while it has neither subscribers nor history.
// Call [Hub.Shutdown] or [Hub.Close] at the end. The error says which options cannot be.
func New(o Options) (*Hub, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	h := &Hub{o: o, born: time.Now(), broker: o.Broker, drained: make(chan struct{}), relieved: math.MaxUint32}
	epoch := newEpoch()
	h.epoch.Store(&epoch)
	h.history = history{hub: h, ids: map[string]*message{}, ghosts: map[string]*topicLog{}, most: feedSlots}
	h.history.former = ids{hub: h, places: map[string]uint64{}, most: o.MaxBytes / 8}
	h.limits.init()
	for _, f := range o.Formats {
		at := uint8(len(h.encodings))
		h.encodings = append(h.encodings, f)
		h.topical = append(h.topical, at)
		if t, ok := f.(format.Topical); ok {
			h.topical[at]++
			h.encodings = append(h.encodings, t.Topical())
			h.topical = append(h.topical, at+1)
		}
	}
	for _, f := range h.encodings {
		h.beats = append(h.beats, newFrame(f.AppendBeat(nil), nil))
	}
	for range min(runtime.GOMAXPROCS(0), maxPlain) {
		h.plain = append(h.plain, &shard{hub: h})
	}
	h.shards = append(h.shards, h.plain...)
	h.tickEvery = min(max(o.Heartbeat/64, 10*time.Millisecond), time.Second)
	if o.Lifetime != never {
		h.tickEvery = min(h.tickEvery, max(o.Lifetime/64, 10*time.Millisecond))
	}
	h.presence.init(h)
	h.startCluster()
	return h, nil
}

// maxPlain is how many shards there are for net/http at most: post has a bit for each.
const maxPlain = 16

// now is the hub's clock: nanoseconds since its start, monotonic.
func (h *Hub) now() int64 { return int64(time.Since(h.born)) + h.clockSkew.Load() }

// Publish gives an event to all subscribers of its topic. It never waits for a subscriber.
// With a broker it waits until the broker has acknowledged the event, or until ctx is done:
// the event may then have been published or not, and publishing it again with the same ID
// is safe.
//
// Errors are [ErrBadEvent], [ErrTooLarge], [ErrClosed] and those of the broker.
func (h *Hub) Publish(ctx context.Context, e Event) (Receipt, error) {
	if err := h.check(&e); err != nil {
		return Receipt{}, fmt.Errorf("push: publish: %w", err)
	}
	if h.broker != nil {
		return h.publishThrough(ctx, e)
	}
	m := h.newMessage(&e)
	defer m.release()
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return Receipt{}, ErrClosed
	}
	if _, known := h.history.placeOf(m.own); known {
		h.mu.Unlock()
		h.repeated.Add(1)
		return Receipt{ID: e.ID, Duplicate: true}, nil
	}
	r, posted := h.sequence(m, h.seq+1)
	h.mu.Unlock()
	h.deliver(m, &r, posted)
	return r, nil
}

// sequence gives a message its place, and posts it. The lock is held.
func (h *Hub) sequence(m *message, seq uint64) (r Receipt, posted uint16) {
	h.seq, m.seq = seq, seq
	if m.own == "" || h.broker != nil {
		// Every node knows what a position means, and how far back it is.
		m.event.ID = h.id(seq)
	}
	m.log = h.history.log(m.event.Topic)
	h.history.add(m)
	h.published.Add(1)
	r.ID = m.event.ID
	return r, h.post(m, &r)
}

// post puts a message into the inboxes of all shards that have subscribers for it. Those of
// loops begin at once; the others are returned as a set, so that they are done without the
// lock.
func (h *Hub) post(m *message, r *Receipt) (posted uint16) {
	for i, sh := range h.shards {
		switch {
		case !sh.post(m, r):
		case i < len(h.plain):
			posted |= 1 << i
		default:
			sh.flush()
		}
	}
	h.live()
	return posted
}

// deliver completes a publish: without the lock.
func (h *Hub) deliver(m *message, r *Receipt, posted uint16) {
	for i, sh := range h.plain {
		if posted&(1<<i) != 0 {
			sh.flush()
		}
	}
	if h.plain[0].exact() {
		r.Delivered += int(m.cost.delivered.Load())
		r.Queued += int(m.cost.queued.Load())
		r.Dropped += int(m.cost.dropped.Load())
	}
	if h.bytes.Load() > h.o.MaxBytes {
		h.relieve(0)
	}
}

// A joining is what a subscriber is made from.
type joining struct {
	filters       []string
	asked         []string // with those that others cover; nil: the same
	lastID        string
	encoding      uint8
	address, user string
	token         string        // see Handler.Token
	named         bool          // Handler.Address gave the address
	wait          time.Duration // see pace
	until         time.Time     // its right to listen ends, unless zero
	presence      bool          // it asks who joins and leaves
}

// Reasons to refuse a subscriber.
var (
	errClosing = errors.New("the server is shutting down: connect to another one")
	errFull    = errors.New("too many subscribers: try again later")
	errMemory  = errors.New("out of memory for subscribers: try again later")
	errBroker  = errors.New("the broker has not been reached yet: try again later")
	errAddress = errors.New("too many subscriptions from this address: close some, or share one")
	errUser    = errors.New("too many subscriptions of this user: close some, or share one")
	errRate    = errors.New("too many connects from here: wait")
	errResumes = errors.New("too many resumptions from here: wait")
	errRevoked = errors.New("the right to listen was withdrawn: log in again")
)

// join adds a subscriber, which was admitted, to the shard of its loop, or to one for
// net/http. Its sink must be set, and can be woken at once.
func (h *Hub) join(s *subscriber, on loop, j *joining) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sh := h.shard(on)
	s.shard, s.lastID, s.encoding, s.number = sh, j.lastID, h.encoding(j), h.numbered()
	if j.named {
		s.needs().from = strings.Clone(j.address)
	}
	s.wrote = h.ticks.Load()
	s.until = h.ticksOf(vary(h.o.Lifetime, 0.2))
	if !j.until.IsZero() {
		// All subscribers are looked at in that many ticks.
		s.until = min(s.until, h.ticksOf(max(time.Until(j.until)-4*shares/3*h.tickEvery, 0)))
	}
	from := ""
	if h.broker != nil {
		from = originOf(j)
	}
	if s.catching = h.resume(s, from); s.catching != nil && h.broker != nil {
		s.catching.origin = from
		if s.catching.awaited > 0 && !h.closed {
			heap.Push(&h.cluster.ahead, s)
		}
	}
	if s.state&fresh == 0 {
		h.resumed++
	}
	h.joined(s, j)
	sh.mu.Lock()
	sh.add(s)
	switch revoked := h.limits.enter(h.now(), s); {
	case h.closed: // since it was admitted
		s.catching.stopWaiting()
		s.end(byeShutdown)
	case revoked: // likewise
		s.end(byeRevoked)
	case s.catching == nil:
		sh.enlist(s)
	}
	sh.mu.Unlock()
	h.live()
}

// Position returns the position of now: a client that resumes from it gets what is published after
// the call, or a gap. Take it before the state that a page is rendered from is read: then the
// page's subscription misses nothing, and what was published in between may be in the state
// already. With a broker it is the position of this node, see [Hub.Ready].
func (h *Hub) Position() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.present()
}

// earliest is what a client resumes from that wants everything that is held.
const earliest = "earliest"

// present is the position of now. Those who join at the same place share its memory. The
// lock is held.
func (h *Hub) present() string {
	if h.here.id == "" || h.here.seq != h.seq || h.here.era != h.era() {
		h.here.id, h.here.seq, h.here.era = h.id(h.seq), h.seq, h.era()
	}
	return h.here.id
}

// shard returns the shard of a loop, or without one those for net/http in turn. The lock is
// held.
func (h *Hub) shard(on loop) *shard {
	if on == nil {
		h.turns++
		return h.plain[h.turns%len(h.plain)]
	}
	for _, sh := range h.shards[len(h.plain):] {
		if sh.loop.on == on {
			return sh
		}
	}
	sh := newLoopShard(h, on)
	h.shards = append(h.shards, sh)
	return sh
}

// encoding returns the encoding of a subscriber: its events name their topics if they can
// have several.
func (h *Hub) encoding(j *joining) uint8 {
	if len(j.filters) > 1 || topic.IsPattern(j.filters[0]) {
		return h.topical[j.encoding]
	}
	return j.encoding
}

// resume finds where the stream of a subscriber begins: it sets seen. The lock is held.
//
// A position of this epoch, or an ID of a publisher that is remembered, is a place in the
// order. A position of another epoch says that whatever is held is new to the client, and so
// may it be to one with any other ID: after the gap it gets everything. Only a position that
// is yet to come says that nothing is.
func (h *Hub) resume(s *subscriber, from string) *catchUp {
	if s.lastID == "" {
		s.seen, s.lastID = h.seq, h.present()
		s.state |= fresh
		return nil
	}
	if s.lastID == earliest {
		s.lastID = h.id(0) // which is where it begins
		s.state |= fresh
		if h.broker != nil {
			return &catchUp{whole: math.MaxUint64} // which may hold more
		}
		return &catchUp{whole: h.history.newest}
	}
	if seq, known := h.history.placeOf(s.lastID); known {
		s.seen = seq
		return &catchUp{}
	}
	seq, ours := h.position(s.lastID)
	switch {
	case ours && seq <= h.seq:
		s.seen = seq
		return &catchUp{}
	case ours && h.awaits(seq, from):
		s.seen = seq
		return &catchUp{fetching: true, awaited: seq}
	case ours:
		s.seen = h.seq
		return &catchUp{gap: &format.Gap{From: s.lastID, Reason: "unknown-id"}, told: h.seq}
	case h.foreign(s.lastID):
		return &catchUp{gap: &format.Gap{From: s.lastID, Reason: "epoch"}}
	}
	return &catchUp{gap: &format.Gap{From: s.lastID, Reason: "unknown-id"}}
}

// leave forgets a subscriber. Its sink calls it once, when nothing can be sent any more.
func (h *Hub) leave(s *subscriber) {
	sh := s.shard
	sh.mu.Lock()
	sh.remove(s)
	c := s.catching
	waits := c != nil && c.fetching
	sh.mu.Unlock()
	if waits {
		h.stray(s, c)
	}
	h.left(s)
	h.dismissed(s)
}

// dismissed takes back what admit has counted. The last of a closed hub ends its shutdown.
func (h *Hub) dismissed(s *subscriber) {
	if h.withdraw(s) == 0 {
		h.mu.Lock()
		h.finish()
		h.mu.Unlock()
	}
}

// finish notes that the last subscriber of a closed hub has left. The lock is held.
func (h *Hub) finish() {
	if !h.closed || h.limits.total() > 0 {
		return
	}
	select {
	case <-h.drained:
	default:
		close(h.drained)
	}
}
