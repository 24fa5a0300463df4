package push

import (
	"bytes"
	"container/heap"
	"context"
	"errors"
	"fmt"

	"github.com/redline-go/redline/push/format"
	"github.com/redline-go/redline/push/topic"
)

// A Range is what [Hub.Read] reads.
type Range struct {
	Topics []string // names and patterns, at least one
	// From is where to begin: after the event with this ID, or before it if Backward. A position is
	// as good. Empty: with the oldest event that is held, or the newest.
	From     string
	Limit    int  // of events. Default: 100. At most 1000
	Backward bool // the newest first
}

// A Page is what [Hub.Read] has read.
type Page struct {
	// Events are in the order of the range. Their IDs are what clients see. A page has at most 256 KiB
	// of data, and at least one event of whatever size.
	Events []format.Event
	// Position is that of the hub when the page was read. Nothing is between the events and this
	// position if the page goes forward and has no Next: a stream that resumes there, or a Range
	// from there, continues.
	Position string
	// Next is From of the page that follows. Empty: there is nothing more now. A page may have less
	// events than the limit, even none, and a Next.
	Next string
	// Gap says that events are missing which the page would have, because they are not held any
	// more, or that From is not known. Nil: none. One that goes forward from the oldest event has
	// none for what was dropped before; one that goes backward and reaches the oldest has.
	Gap *format.Gap
}

const (
	readLimit = 100
	mostRead  = 1000 // events of a page
	pageBytes = 256 << 10
	// readTurns is how many turns of feedSlots a page may take that find nothing: then it ends, and
	// the next one goes on.
	readTurns = 32
)

// Read returns events of the history without a stream: what a subscriber that resumes would get, or
// the same backwards. It works in turns like a resumption, so publishers wait for no more than they
// wait for one. With a broker it reads what this node does not hold from there, and waits while a
// subscriber would: until ctx is done.
//
// Errors are those of ctx, [ErrClosed], [ErrBadRange], and one that says that the broker has not been
// reached yet.
func (h *Hub) Read(ctx context.Context, r Range) (Page, error) {
	p, err := h.read(ctx, r, "")
	if err != nil {
		return Page{}, fmt.Errorf("push: read: %w", err)
	}
	return p, nil
}

// ErrBadRange: a Range has no topics, one that is none, or a Limit that cannot be.
var ErrBadRange = errors.New("push: bad range")

// check completes a range.
func (r *Range) check() error {
	if r.Limit == 0 {
		r.Limit = readLimit
	}
	switch {
	case len(r.Topics) == 0:
		return errors.Join(ErrBadRange, errors.New("it has no topics: name one"))
	case r.Limit < 0 || r.Limit > mostRead:
		return errors.Join(ErrBadRange, fmt.Errorf("the limit is %d: use 1 to %d", r.Limit, mostRead))
	}
	for _, f := range r.Topics {
		if err := topic.CheckPattern(f); err != nil {
			return errors.Join(ErrBadRange, err)
		}
	}
	return nil
}

// A reader is a subscriber of a shard of its own, to which nothing is posted: it catches up, and its
// queue is what it has read.
type reader struct {
	subscriber
	ready chan struct{} // of capacity 1: it was woken
	r     *Range
	epoch string // of its places
	room  int    // bytes that the page still has
	last  uint64 // place of the last event of the page
	page  Page
}

// wake implements sink, as do the others: a reader has no connection.
func (r *reader) wake() {
	select {
	case r.ready <- struct{}{}:
	default:
	}
}

func (r *reader) abort()              {}
func (r *reader) unsent(func(*frame)) {}
func (r *reader) discard()            {}

// errBegun: the broker's order has begun anew, so that the places that were read mean nothing.
var errBegun = errors.New("the order of the broker has begun anew: read again")

// read is Read for some origin, see originOf.
func (h *Hub) read(ctx context.Context, r Range, origin string) (Page, error) {
	if err := r.check(); err != nil {
		return Page{}, err
	}
	for again := 0; ; again++ {
		p, err := h.readOnce(ctx, &r, origin)
		if !errors.Is(err, errBegun) || again == 3 {
			return p, err
		}
	}
}

func (h *Hub) readOnce(ctx context.Context, r *Range, origin string) (Page, error) {
	filters := without(r.Topics)
	rd := &reader{ready: make(chan struct{}, 1), r: r, room: pageBytes}
	rd.sink, rd.filters, rd.shard = rd, &filters, &shard{hub: h}
	begin, err := h.begin(rd, origin)
	if err != nil {
		return Page{}, err
	}
	defer rd.end()
	if r.Backward {
		err = rd.backward(ctx, begin)
	} else {
		err = rd.forward(ctx)
	}
	if err != nil {
		return Page{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.era() != rd.epoch {
		return Page{}, errBegun
	}
	if rd.page.Position == "" {
		rd.page.Position = h.present()
	}
	return rd.page, nil
}

// begin finds where a page begins: begin is the place that a page which goes backward ends before.
func (h *Hub) begin(rd *reader, origin string) (begin uint64, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return 0, ErrClosed
	case h.broker != nil && !h.cluster.known:
		return 0, errBroker
	}
	rd.epoch, rd.lastID = h.era(), rd.r.From
	rd.shard.add(&rd.subscriber)
	if rd.r.Backward {
		rd.catching = &catchUp{origin: origin}
		return h.beginBackward(rd), nil
	}
	if rd.lastID == "" {
		rd.lastID = earliest
	}
	c := h.resume(&rd.subscriber, origin)
	c.origin = origin
	if rd.catching = c; c.awaited > 0 {
		heap.Push(&h.cluster.ahead, &rd.subscriber)
	}
	return 0, nil
}

// end forgets what was read, and what is waited for.
func (r *reader) end() {
	r.shard.mu.Lock()
	r.shard.remove(&r.subscriber)
	waits := r.catching.fetching
	r.shard.mu.Unlock()
	if waits {
		r.shard.hub.stray(&r.subscriber, r.catching)
	}
}

// forward reads until the page is full, or the present.
func (r *reader) forward(ctx context.Context) error {
	h := r.shard.hub
	for turns := 0; ; {
		before, had := r.seen, len(r.page.Events)
		h.feed(&r.subscriber)
		r.shard.mu.Lock()
		r.fill()
		left, live := r.queue != nil, r.place.list != nil
		waits, seen, n := r.catching.fetching, r.seen, len(r.page.Events)
		r.shard.mu.Unlock()
		if seen > before && n == had && !waits {
			turns++ // one that only looked for what is missing ends by itself
		}
		switch {
		case left:
			return nil // the page is full, and fill has said where the next begins
		case live:
			r.page.Position = h.id(seen)
			return nil
		case n >= r.r.Limit || r.room <= 0 || turns >= readTurns:
			r.page.Next = h.id(seen)
			return nil
		}
		if err := r.wait(ctx, waits); err != nil {
			return err
		}
	}
}

// wait returns at once, or when the reader is woken. It says why there is nothing more to read.
func (r *reader) wait(ctx context.Context, waits bool) error {
	for waits {
		select {
		case <-r.ready:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		r.shard.mu.Lock()
		waits = r.catching.fetching
		r.shard.mu.Unlock()
	}
	h := r.shard.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return ErrClosed
	case h.era() != r.epoch:
		return errBegun
	}
	return context.Cause(ctx)
}

// fill moves messages from the queue to the page, as far as it has room. The shard's lock is held.
func (r *reader) fill() {
	h := r.shard.hub
	if c := r.catching; c.gap != nil && (r.queue != nil || !r.catches()) {
		g := c.gap
		if c.gap = nil; g.To == "" && r.queue != nil {
			_, g.To = r.placed()
		} else if g.To == "" {
			g.To = h.id(r.seen)
		}
		if p := &r.page; p.Gap == nil {
			p.Gap = g
		} else {
			p.Gap.To = g.To
		}
	}
	q := r.queue
	if q == nil {
		return
	}
	for q.len() > 0 {
		if !r.fits(q.items[q.head].m) {
			r.page.Next = h.id(r.last)
			return
		}
		m := q.pop().m
		r.add(m)
		m.release()
	}
	r.queue = nil
	r.shard.spare.put(q)
}

// fits takes the room for a message out of the page, or reports that it has none.
func (r *reader) fits(m *message) bool {
	n := len(r.page.Events)
	if n >= r.r.Limit || n > 0 && r.room < m.weight() {
		r.room = 0
		return false
	}
	r.room -= m.weight()
	return true
}

// add appends a copy of a message to the page.
func (r *reader) add(m *message) {
	e := m.event
	e.Data = bytes.Clone(e.Data)
	r.page.Events, r.last, r.lastID = append(r.page.Events, e), m.seq, e.ID
}
