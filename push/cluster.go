package push

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redline-go/redline/push/format"
)

// A Broker puts the events of several hubs into one order, and keeps them for longer than a
// hub does. Its methods may be called by any number of goroutines.
type Broker interface {
	// Open reaches the broker and returns the state of its order.
	Open(ctx context.Context) (Span, error)
	// Publish appends an event to the order, and returns its place when the event is as
	// safe as the broker makes it. If an event with the same ID, which is not empty, was
	// published not long before, it returns the place of that one, and repeated. After an
	// error the event may have been appended nevertheless. What others can
	// write to a broker it brings only if the type is not reserved ("hub:..."), or [IsNotice] reports true.
	Publish(ctx context.Context, e Event) (seq uint64, repeated bool, err error)
	// Follow calls f for each event after a place, in order, one at a time, until ctx is
	// done or the broker is lost, and returns why. It need not notice a loss that it can
	// repair itself without leaving out events. The first place is as far behind the last as
	// Options.Fill says, and should be reached quickly.
	Follow(ctx context.Context, after uint64, f func(Record)) error
	// Replay calls f for the events in (after, until] whose topics one of the filters
	// selects, in order, until f returns false. It returns the place of the oldest event
	// that the broker holds, of whatever topic: events before it are lost.
	Replay(ctx context.Context, after, until uint64, filters []string, f func(Record) bool) (first uint64, err error)
}

// A Record is an event with its place in a broker's order, from 1. Places ascend, and may
// leave out numbers.
type Record struct {
	Seq   uint64
	Event Event
}

// A Span is the state of a broker's order.
type Span struct {
	Epoch       string // names the order; another one begins if the broker loses its data
	First, Last uint64 // the places held; if there is none, First is Last+1
}

// cluster is what a hub does with broker and registry. The hub's lock guards the fields
// without one of their own.
type cluster struct {
	stop   context.CancelFunc
	ctx    context.Context
	work   sync.WaitGroup
	known  bool              // the broker was reached, and the history has been filled from it
	linked bool              // it is now, as far as we know
	warned bool              // the log says that it is not
	local  map[string]uint32 // events that were delivered without the broker, by ID
	locals uint32            // how many such events there were
	former counts            // of shards that are gone
	reads  reads
	ahead  ahead
	opened bool   // the order is known
	target uint64 // the hub takes subscribers when it has received this place
	filled *time.Timer
	quiet  time.Duration // fillPause, except in tests
	// patience is for how long a piece of a backlog is waited for, see pieceWait.
	patience time.Duration

	mu      sync.Mutex // guards the changes
	whole   bool
	joined  map[*Member]bool
	left    []Member
	changed chan struct{}
}

const (
	// pause is how long to wait before the broker or registry is tried again.
	pause = 250 * time.Millisecond
	// maxChanges is how many changes wait for the registry before all members are sent.
	maxChanges = 10_000
	// maxLocal is how many IDs of events that were delivered without the broker are kept.
	maxLocal = 10_000
)

func (h *Hub) startCluster() {
	c := &h.cluster
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.reads.by, c.reads.origins, c.ahead.each = map[string]*read{}, map[string]*origin{}, map[string]int{}
	c.changed, c.quiet, c.patience = make(chan struct{}, 1), fillPause, pieceWait
	c.joined, c.local, c.whole = map[*Member]bool{}, map[string]uint32{}, true
	if h.broker != nil {
		c.work.Go(h.follow)
	}
	if h.o.Registry != nil {
		c.work.Go(h.register)
		h.startPresence()
	}
}

// stopCluster ends the work for broker and registry, and waits for it until ctx is done.
func (h *Hub) stopCluster(ctx context.Context) error {
	h.cluster.stop()
	ended := make(chan struct{})
	go func() {
		h.cluster.work.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// follow receives the broker's events, again and again.
func (h *Hub) follow() {
	ctx := h.cluster.ctx
	for ctx.Err() == nil {
		span, err := h.broker.Open(ctx)
		if err == nil {
			late := &backlog{hub: h, until: span.Last, slow: map[*subscriber]bool{}}
			err = h.broker.Follow(ctx, h.linked(span), late.receive)
		}
		if ctx.Err() != nil {
			return
		}
		h.unlinked(err)
		sleep(ctx, pause)
	}
}

// sleep returns after a time, or when ctx is done.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// Ready reports whether the hub takes subscribers: it is not shut down, has reached its broker once,
// and has read what Options.Fill says, or what the broker gave before it paused for a second.
func (h *Hub) Ready() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.closed && (h.broker == nil || h.cluster.known)
}

// linked notes that the broker was reached, and returns where to follow from.
func (h *Hub) linked(span Span) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := &h.cluster
	again := c.known
	c.linked = true
	if c.opened && span.Epoch == h.era() && span.First <= h.seq+1 {
		return h.seq
	}
	// What was published meanwhile was never seen here, or the order has begun anew.
	reason := "broker"
	if span.Epoch != h.era() {
		reason = "epoch"
	}
	h.history.clear()
	c.opened = true
	h.epoch.Store(&span.Epoch)
	h.seq, h.history.forgotten, h.history.newest = span.Last, span.Last, span.Last
	if again {
		h.tell(reason, true)
		h.overtakeAll()
		return h.seq
	}
	h.fill(span)
	return h.seq
}

// fill begins to read the last events of the broker into the history, of a hub that has none: else each
// client that comes after a restart would read them from the broker. The lock is held.
func (h *Hub) fill(span Span) {
	c := &h.cluster
	start := span.Last - min(span.Last, uint64(h.o.Fill))
	if span.First > 0 {
		start = max(start, span.First-1)
	}
	h.seq, h.history.forgotten, h.history.newest = start, start, start
	if c.target = span.Last; h.filling() {
		h.watch()
	}
}

// fillPause is for how long a hub that fills its history waits for the next event. The order may end
// with places that have no event any more.
const fillPause = time.Second

// filling reports whether the history is not filled yet, and notes when it is. The lock is held.
func (h *Hub) filling() bool {
	c := &h.cluster
	if c.known = h.seq >= c.target; c.known && c.filled != nil {
		c.filled.Stop()
	}
	return !c.known
}

// watch looks after a pause whether something has come. The lock is held.
func (h *Hub) watch() {
	at := h.seq
	var timer *time.Timer
	timer = time.AfterFunc(h.cluster.quiet, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.hurry(timer, at)
	})
	h.cluster.filled = timer
}

// hurry ends the filling if nothing has come since the hub was at a place. A timer of a filling that
// another one has followed does nothing. The lock is held.
func (h *Hub) hurry(timer *time.Timer, at uint64) {
	c := &h.cluster
	switch {
	case c.known || h.closed || c.filled != timer:
	case h.seq == at && c.linked:
		c.target = h.seq
		h.filling()
	default:
		h.watch()
	}
}

// unlinked notes that the broker was lost.
func (h *Hub) unlinked(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := &h.cluster
	if c.linked || !c.warned {
		c.warned = true
		h.o.Logger.Warn("push: the broker is out of reach, and tried again", "error", err)
	}
	if c.linked && h.o.Isolated == DeliverLocally {
		h.tell("broker", false)
	}
	c.linked, c.patience = false, pieceWait
}

// tell announces a gap to all subscribers. If they skip, they continue at the present. The
// lock is held.
func (h *Hub) tell(reason string, skip bool) {
	for _, sh := range h.shards {
		sh.mu.Lock()
		for _, s := range sh.all {
			if s.catching == nil {
				s.catching = new(catchUp)
			}
			if s.catching.gap == nil {
				s.catching.gap = &format.Gap{From: s.lastID, Reason: reason}
			}
			if skip {
				s.seen, s.catching.told, s.catching.lost = h.seq, h.seq, 0
			}
			s.sink.wake()
		}
		sh.mu.Unlock()
	}
}

// receive takes the next event from the broker.
func (h *Hub) receive(r Record) {
	if reserved(&r.Event) {
		h.notice(r)
		return
	}
	m := h.newMessage(&r.Event)
	defer m.release()
	h.mu.Lock()
	if r.Seq <= h.seq || h.closed {
		h.mu.Unlock()
		return
	}
	if c := &h.cluster; m.own != "" && c.local[m.own] > 0 {
		m.local = c.local[m.own] // those who were here then have it
		delete(c.local, m.own)
	}
	rec, posted := h.sequence(m, r.Seq)
	if !h.cluster.known {
		h.published.Add(^uint64(0)) // it was, before this hub was there
		h.filling()
	}
	h.overtake()
	h.mu.Unlock()
	h.deliver(m, &rec, posted)
}

// publishThrough publishes by the broker. The subscribers here get the event when it comes
// back, in its place.
func (h *Hub) publishThrough(ctx context.Context, e Event) (Receipt, error) {
	h.mu.Lock()
	closed, epoch := h.closed, h.era()
	h.mu.Unlock()
	if closed {
		return Receipt{}, ErrClosed
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	seq, repeated, err := h.broker.Publish(ctx, e)
	switch {
	case err == nil:
		r := Receipt{ID: epoch + "-" + strconv.FormatUint(seq, 10), Duplicate: repeated}
		if repeated {
			h.repeated.Add(1)
		}
		return r, nil
	case h.o.Isolated != DeliverLocally || ctx.Err() != nil:
		return Receipt{}, fmt.Errorf("push: publish: %w", err)
	}
	return h.publishLocally(&e), nil
}

// publishLocally gives an event to the subscribers here, without a place in the order.
func (h *Hub) publishLocally(e *Event) Receipt {
	m := h.newMessage(e)
	defer m.release()
	m.event.ID = "" // a client must not resume from it
	h.mu.Lock()
	c := &h.cluster
	if e.ID != "" {
		// It may have come back before its acknowledgement was given up.
		if c.local[e.ID] > 0 || h.history.ids[e.ID] != nil {
			h.mu.Unlock()
			return Receipt{ID: e.ID, Duplicate: true}
		}
		if len(c.local) >= maxLocal {
			clear(c.local)
		}
		c.local[e.ID] = c.locals + 1
	}
	c.locals++
	m.local = c.locals
	m.log = h.history.log(e.Topic)
	m.seq = unplaced
	r := Receipt{ID: e.ID}
	posted := h.post(m, &r)
	h.published.Add(1)
	h.mu.Unlock()
	h.deliver(m, &r, posted)
	return r
}

// unplaced is the place of a message that has none.
const unplaced = ^uint64(0)
