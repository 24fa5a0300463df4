package push

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// A gated broker holds the events 1 to last of the topic "t". A replay for the topic "held" takes until
// nobody wants it; one for another topic until the gate is opened, if there is one.
type gated struct {
	last uint64
	ends uint64        // the place of the last event that it still has
	gate chan struct{} // nil: open
	open chan struct{} // closed when it may be reached

	mu      sync.Mutex
	replays int
}

func (b *gated) Open(ctx context.Context) (Span, error) {
	select {
	case <-b.open:
		return Span{Epoch: "gated", First: 1, Last: b.last}, nil
	case <-ctx.Done():
		return Span{}, ctx.Err()
	}
}

func (b *gated) Publish(context.Context, Event) (uint64, bool, error) { return 0, false, nil }

func (b *gated) Follow(ctx context.Context, after uint64, f func(Record)) error {
	for seq := after + 1; seq <= b.ends; seq++ {
		f(Record{seq, Event{Topic: "t", Data: []byte(fmt.Sprint(seq))}})
	}
	<-ctx.Done()
	return ctx.Err()
}

func (b *gated) Replay(ctx context.Context, after, until uint64, filters []string, f func(Record) bool) (uint64, error) {
	b.mu.Lock()
	b.replays++
	b.mu.Unlock()
	gate := b.gate
	if filters[0] == "held" {
		gate = make(chan struct{})
	}
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	for seq := after + 1; seq <= min(until, b.ends) && f(Record{seq, Event{Topic: "t"}}); seq++ {
	}
	return 1, nil
}

// newGated returns a hub that has reached a gated broker, and holds nothing of it unless it is told to.
func newGated(t *testing.T, b *gated, o Options) *Hub {
	t.Helper()
	if b.ends == 0 {
		b.ends = b.last
	}
	if o.Broker, o.Heartbeat = b, -1; o.Fill == 0 {
		o.Fill = -1
	}
	b.open = make(chan struct{})
	h := newHub(t, o)
	h.mu.Lock()
	h.cluster.quiet = time.Hour
	h.mu.Unlock()
	close(b.open)
	if o.Fill > 0 && b.ends < b.last {
		until(t, "the hub has what there is", func() bool { return h.at() == b.ends })
		if h.Ready() {
			t.Error("the hub is ready, and does not know that nothing more will come")
		}
		h.mu.Lock()
		h.cluster.quiet = time.Millisecond
		h.cluster.filled.Reset(h.cluster.quiet)
		h.mu.Unlock()
	}
	until(t, "the hub is ready", h.Ready)
	return h
}

// at returns the last place that a hub has received.
func (h *Hub) at() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seq
}

func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited too long: %s", what)
		}
	}
}

// resumer joins a client of an address after a place, whose queue shows what has come.
func resumer(t *testing.T, h *Hub, address, topic string, after uint64) *idle {
	t.Helper()
	s := new(idle)
	s.sink = s
	j := &joining{filters: []string{topic}, address: address, lastID: h.id(after)}
	if err := h.admit(&s.subscriber, j); err != nil {
		t.Fatal(err)
	}
	h.join(&s.subscriber, nil, j)
	h.turn(&s.subscriber, new(turn))
	return s
}

func (s *idle) queued() int {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	if s.queue == nil {
		return 0
	}
	return s.queue.len()
}

// has reports whether the events up to a place were queued; its turn may have sent some of them.
func (s *idle) has(seq uint64) bool {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	return s.seen == seq
}

// TestReadsInTurn: however many clients of one address wait for the broker, others are served, and when
// they have left nothing is done for them any more.
func TestReadsInTurn(t *testing.T) {
	b := &gated{last: 1000}
	h := newGated(t, b, Options{})
	var all []*idle
	for i := range uint64(200) {
		all = append(all, resumer(t, h, "192.0.2.1", "held", i))
	}
	honest := resumer(t, h, "192.0.2.2", "t", 990)
	until(t, "a client of another address is served", func() bool { return honest.has(1000) })
	b.mu.Lock() // as they leave, others take their places
	if b.replays > readsEach+1 {
		t.Errorf("%d replays, and only %d clients of an address may be served at a time", b.replays, readsEach)
	}
	b.mu.Unlock()
	for _, s := range append(all, honest) {
		h.leave(&s.subscriber)
	}
	until(t, "nothing is read for those who have left", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		q := &h.cluster.reads
		return q.running == 0 && len(q.by) == 0 && len(q.origins) == 0
	})
}

// TestReadsTurns: origins whose clients come and leave while all places are taken have one turn each, and
// none has more reads than it may.
func TestReadsTurns(t *testing.T) {
	h := newGated(t, &gated{last: 10_000}, Options{})
	come := func(address string, n int) (all []*idle) {
		for i := range n {
			all = append(all, resumer(t, h, address, "held", uint64(i)+100*uint64(len(address))))
		}
		return all
	}
	leave := func(all []*idle) {
		for _, s := range all {
			h.leave(&s.subscriber)
		}
	}
	check := func() {
		t.Helper()
		h.mu.Lock()
		defer h.mu.Unlock()
		q := &h.cluster.reads
		running, turns := 0, map[string]int{}
		for _, o := range q.origins {
			running += o.running
		}
		for _, o := range q.turns {
			if turns[o.name]++; turns[o.name] > 1 {
				t.Errorf("%s has more than one turn", o.name)
			}
		}
		if running != q.running {
			t.Errorf("%d reads run, and those of the origins that are known are %d", q.running, running)
		}
	}
	first, second := come("192.0.2.1", readsEach), come("192.0.2.22", readsEach)
	leave(come("192.0.2.111", 34)) // so many that their queue is emptied before its turn
	third := come("192.0.2.2222", 1)
	leave(come("192.0.2.111", 34))
	check()
	leave(first[:1])
	until(t, "the one that waits has the place", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		o := h.cluster.reads.origins["192.0.2.2222"]
		return o != nil && o.running == 1
	})
	again := come("192.0.2.111", 2*readsEach)
	leave(append(first[1:], second...))
	until(t, "all have the places that they may have", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.cluster.reads.running >= readsEach+1
	})
	check()
	leave(append(again, third...))
	until(t, "nothing is left", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		q := &h.cluster.reads
		return q.running == 0 && len(q.by) == 0 && len(q.origins) == 0 && len(q.turns) == 0
	})
}

// TestReadsShared: those who want the same range share one replay, and the memory of its events.
func TestReadsShared(t *testing.T) {
	b := &gated{last: 100, gate: make(chan struct{})}
	h := newGated(t, b, Options{})
	var all []*idle
	for i := range 50 {
		all = append(all, resumer(t, h, fmt.Sprint("192.0.2.", i), "t", 0))
	}
	close(b.gate)
	for _, s := range all {
		until(t, "all have the events", func() bool { return s.queued() == 100 })
	}
	first := all[0].queue.items[0].m
	for _, s := range all {
		if s.queue.items[0].m != first {
			t.Error("the events are in memory more than once")
		}
		defer h.leave(&s.subscriber)
	}
	if b.replays != 1 {
		t.Errorf("%d replays of one range", b.replays)
	}
}

// TestReadsInPortions: however many wait for the same events, the hub's lock is held for no more of them at
// a time than for one who reads the history. Who leaves meanwhile gets nothing.
func TestReadsInPortions(t *testing.T) {
	h := newGated(t, &gated{last: 1000}, Options{})
	var all []*idle
	for range 100 {
		all = append(all, resumer(t, h, "192.0.2.1", "held", 0))
	}
	h.mu.Lock()
	var b haul
	for _, b.r = range h.cluster.reads.by { // there is one
		h.cluster.reads.end(b.r)
	}
	for i := range uint64(fetchEvents) {
		m := h.newMessage(&Event{Topic: "held"})
		m.seq, m.log = i+1, h.history.log("held")
		b.all = append(b.all, m)
	}
	h.mu.Unlock()
	served := func() (n int) {
		for _, s := range all {
			n += s.queued()
		}
		return n
	}
	before := 0
	for more := true; more; {
		h.mu.Lock()
		more = h.share(&b)
		h.mu.Unlock()
		n := served()
		if n-before > feedSlots || more && n == before {
			t.Fatalf("%d events were given at a time", n-before)
		}
		if before == 0 {
			i := slices.IndexFunc(all, func(s *idle) bool { return s.queued() == 0 })
			h.leave(&all[i].subscriber)
		}
		before = n
	}
	if before != 99*fetchEvents {
		t.Errorf("%d events were given to 99", before)
	}
	for _, m := range b.all {
		m.release()
	}
	for _, s := range all {
		if s.at >= 0 {
			h.leave(&s.subscriber)
		}
	}
	b.r.cancel()
}

// TestFill: a new hub has the broker's last events before it takes subscribers, so that those who
// resume do not read them from the broker. An order may end with places that have no event any more.
func TestFill(t *testing.T) {
	for _, c := range []struct {
		ends, from uint64
		fill, held int
		replays    int
	}{
		{ends: 100, fill: 1000, held: 100},
		{ends: 100, fill: 40, held: 40, from: 60},
		{ends: 97, fill: 1000, held: 97},
		{ends: 100, fill: -1, held: 0, replays: 1},
	} {
		b := &gated{last: 100, ends: c.ends}
		h := newGated(t, b, Options{Fill: c.fill, History: History{Events: 1000}})
		if st := h.Stats(); st.Events != c.held || st.Published != 0 {
			t.Errorf("%+v: got %+v", c, st)
		}
		s := resumer(t, h, "192.0.2.1", "t", c.from)
		until(t, "it has its events", func() bool { return s.has(c.ends) })
		h.leave(&s.subscriber)
		if b.replays != c.replays {
			t.Errorf("%+v: %d replays", c, b.replays)
		}
	}
}

// TestFillAgain: an order that begins anew while the last one is read is read instead, and nothing that
// waited for the last one ends that.
func TestFillAgain(t *testing.T) {
	h := newHub(t, Options{Broker: &gated{}}) // which is never reached
	h.mu.Lock()
	h.cluster.quiet = time.Hour
	h.mu.Unlock()
	h.linked(Span{Epoch: "one", First: 1, Last: 100})
	first := h.cluster.filled
	h.linked(Span{Epoch: "two", First: 1, Last: 100})
	second := h.cluster.filled
	h.mu.Lock()
	h.hurry(first, h.seq)
	h.mu.Unlock()
	if h.Ready() || h.cluster.filled != second {
		t.Error("the timer of the first order has ended the reading of the second")
	}
	h.mu.Lock()
	h.hurry(second, h.seq)
	h.mu.Unlock()
	if !h.Ready() {
		t.Error("the reading has not ended")
	}
	for _, timer := range []*time.Timer{first, second} {
		timer.Stop()
	}
}

// TestForgedAhead: clients that claim places yet to come take at most half of the room for those who
// wait, give it back when they leave, and are looked at when their place is reached, not for each event.
func TestForgedAhead(t *testing.T) {
	h := newGated(t, &gated{last: 100}, Options{})
	var all []*idle
	for i := range uint64(maxAhead/2 + 10) {
		all = append(all, resumer(t, h, "192.0.2.1", "t", 200+i%7))
	}
	next, last := resumer(t, h, "192.0.2.2", "t", 101), resumer(t, h, "192.0.2.2", "t", 300)
	a := &h.cluster.ahead
	if n := a.Len(); n != maxAhead/2+2 {
		t.Errorf("%d wait", n)
	}
	h.receive(Record{101, Event{Topic: "t"}})
	if n := a.Len(); n != maxAhead/2+1 || next.catching.fetching || a.waits[0].catching.awaited != 200 {
		t.Errorf("%d wait after an event", n)
	}
	for _, s := range slices.Backward(all) {
		h.leave(&s.subscriber)
	}
	if n := a.Len(); n != 1 || a.waits[0] != &last.subscriber || len(a.each) != 1 {
		t.Errorf("%d wait after they have left", n)
	}
	h.leave(&next.subscriber)
	h.leave(&last.subscriber)
}
