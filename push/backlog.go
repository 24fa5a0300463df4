package push

import "time"

// A backlog is what the broker gives at once when it was lost and is back. It is taken in pieces
// that fit the queues, so that nobody misses an event who reads all the time:
//
//	broker ──▶ a piece ──▶ inboxes ──▶ queues ──▶ clients
//	             ▲                                   │
//	             └── the next, when all have it ◀────┘
//
// Those who do not take a piece in time are slow, and not waited for again.
type backlog struct {
	hub           *Hub
	until         uint64 // it is not over before
	over          bool
	events, bytes int // of this piece
	asked         time.Time
	slow          map[*subscriber]bool
}

const (
	// pieceWait is how long clients may take for a piece. It halves whenever some have not taken theirs: else one
	// slow client after another could hold up everybody.
	pieceWait = 2 * time.Second
	// atOnce is the time after which an event was not there yet when the broker was asked.
	atOnce = 10 * time.Millisecond
)

// receive takes the next event from the broker.
func (b *backlog) receive(r Record) {
	h := b.hub
	if b.over = b.over || r.Seq > b.until && time.Since(b.asked) > atOnce; b.over {
		h.receive(r)
		return
	}
	if b.events > 0 && (b.events >= h.o.QueueEvents/2 || b.bytes+len(r.Event.Data) > h.o.QueueBytes/2) {
		b.wait()
		b.events, b.bytes = 0, 0
	}
	h.receive(r)
	b.events++
	b.bytes += len(r.Event.Data)
	b.asked = time.Now()
}

// wait returns when those who are not slow have taken the piece.
func (b *backlog) wait() {
	b.hub.mu.Lock()
	end := time.Now().Add(b.hub.cluster.patience)
	b.hub.mu.Unlock()
	for every := time.Millisecond; b.waits(false); every = min(2*every, 20*time.Millisecond) {
		if time.Now().After(end) {
			b.waits(true)
			return
		}
		select {
		case <-time.After(every):
		case <-b.hub.cluster.ctx.Done():
			return
		}
	}
}

// waits reports whether something of the piece is on its way to a client that is not slow. giveUp:
// they are slow now; if it has not even reached the queues, the backlog is not waited for.
func (b *backlog) waits(giveUp bool) (waits bool) {
	h := b.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if giveUp {
		h.cluster.patience /= 2
	}
	for _, sh := range h.shards {
		sh.mu.Lock()
		if len(sh.inbox) > 0 || sh.loop != nil && sh.loop.walks() {
			waits = true
			b.over = b.over || giveUp
		}
		for _, s := range sh.all {
			if s.place.list == nil || !s.waits() && s.queue == nil || b.slow[s] {
				continue
			}
			if waits = true; !giveUp {
				break
			}
			b.slow[s] = true
		}
		sh.mu.Unlock()
	}
	return waits
}
