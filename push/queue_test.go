package push

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// plainQueue is what a queue does, without any of its means to do it quickly.
type plainQueue struct {
	items []item
	lost  int
}

func (q *plainQueue) remove(i int, lost int) {
	lost += q.items[i].lost
	if q.items = slices.Delete(q.items, i, i+1); i < len(q.items) {
		q.items[i].lost += lost
	} else {
		q.lost += lost
	}
}

// room reports whether there is room for a message, beside those that count.
func room(items []item, m *message, counts func(*message) bool, events, bytes int) bool {
	n, size := 0, 0
	for _, it := range items {
		if counts(it.m) {
			n++
			size += it.m.weight()
		}
	}
	return n < events && (n == 0 || size+m.weight() <= bytes)
}

func (q *plainQueue) offer(m *message, o *Options) {
	rule := m.log.rule
	if rule.Policy == Conflate && m.key != "" {
		if i := slices.IndexFunc(q.items, func(it item) bool { return it.m.key == m.key && it.m.log == m.log }); i >= 0 {
			q.remove(i, 0)
		}
	}
	own := func(n *message) bool { return n.log.rule == rule }
	every := func(*message) bool { return true }
	for {
		counts := every
		switch {
		case rule.own > 0 && !room(q.items, m, own, rule.QueueEvents, rule.QueueBytes):
			counts = own
		case room(q.items, m, every, o.QueueEvents, o.QueueBytes):
			q.items = append(q.items, item{m, q.lost})
			q.lost = 0
			return
		}
		i := slices.IndexFunc(q.items, func(it item) bool {
			return counts(it.m) && (it.m.log.rule.Policy == DropOldest || it.m.log.rule.Policy == Conflate)
		})
		if i < 0 || rule.Policy == DropNewest {
			q.lost++
			return
		}
		q.remove(i, 1)
	}
}

// TestQueue compares queues with plain ones: what waits, in which order, and what was lost where.
func TestQueue(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		size := 1 + r.IntN(100)
		h := newHub(t, Options{QueueEvents: size, QueueBytes: 1024 + r.IntN(100*size), Rules: []Rule{
			{Pattern: "new/*", Policy: DropNewest},
			{Pattern: "key/*", Policy: Conflate},
			{Pattern: "few/*", Policy: Conflate, QueueEvents: 1 + r.IntN(size)},
			{Pattern: "small/*", Policy: DropNewest, QueueBytes: 100 + r.IntN(900)},
			{Pattern: "old/*", QueueEvents: 1 + r.IntN(size), QueueBytes: 1 + r.IntN(1024)},
		}})
		q, want := h.plain[0].spare.get(h.plain[0]), new(plainQueue)
		check := func(it item) {
			t.Helper()
			if first := want.items[0]; it != first {
				t.Fatalf("seed %d: got %v, %d lost before; want %v, %d", seed, it.m.event, it.lost, first.m.event, first.lost)
			}
			want.items = want.items[1:]
			it.m.release()
		}
		for i := range 1000 {
			if r.IntN(10) == 0 {
				for n := r.IntN(q.len() + 1); n > 0; n-- {
					check(q.pop())
				}
			}
			kind := []string{"new/", "key/", "few/", "small/", "old/", "other/"}[r.IntN(6)]
			e := Event{Topic: kind + fmt.Sprint(r.IntN(2)), Key: []string{"", fmt.Sprint(r.IntN(40))}[r.IntN(2)], Data: make([]byte, r.IntN(90))}
			m := h.newMessage(&e)
			m.seq, m.log = uint64(i), h.history.log(e.Topic)
			q.offer(m, &h.o)
			want.offer(m, &h.o)
			m.release()
			if q.len() != len(want.items) || q.lost != want.lost {
				t.Fatalf("seed %d, event %d: %d wait and %d are lost, want %d and %d", seed, i, q.len(), q.lost, len(want.items), want.lost)
			}
		}
		if sh := h.plain[0]; sh.waiting != q.len() || sh.waitingBytes != int64(q.bytes) {
			t.Errorf("seed %d: %d wait with %d bytes, counted are %d with %d", seed, q.len(), q.bytes, sh.waiting, sh.waitingBytes)
		}
		for q.len() > 0 {
			check(q.pop())
		}
		if sh := h.plain[0]; sh.waiting != 0 || sh.waitingBytes != 0 || q.bytes != 0 {
			t.Errorf("seed %d: %d wait in an empty queue, with %d bytes", seed, sh.waiting, sh.waitingBytes)
		}
		q.clear()
	}
}

// TestLongQueueLooks: whatever a long queue holds, an event looks at a few of its items: to replace the one
// with its key, and to find the oldest that may be dropped.
func TestLongQueueLooks(t *testing.T) {
	const n, events = 4096, 40_000
	for name, c := range map[string]struct {
		rules []Rule
		fill  string // topic of what waits at first
		topic string
		keys  int
	}{
		"keys that wait":      {[]Rule{{Pattern: "t", Policy: Conflate}}, "t", "t", n},
		"keys, and too many":  {[]Rule{{Pattern: "t", Policy: Conflate}}, "t", "t", 3 * n},
		"none may be dropped": {[]Rule{{Pattern: "fixed", Policy: DropNewest}}, "fixed", "t", 1},
		"a rule with its own": {[]Rule{{Pattern: "t", QueueEvents: 10}}, "other", "t", 1},
		"its own, and keys":   {[]Rule{{Pattern: "t", Policy: Conflate, QueueEvents: n / 2}}, "other", "t", n},
	} {
		h := newHub(t, Options{QueueEvents: n, QueueBytes: 1 << 30, Rules: c.rules})
		q := h.plain[0].spare.get(h.plain[0])
		offer := func(topic string, key int) {
			m := h.newMessage(&Event{Topic: topic, Key: fmt.Sprint(key)})
			m.log = h.history.log(topic)
			q.offer(m, &h.o)
			m.release()
		}
		for i := range n - 20 {
			offer(c.fill, i)
		}
		q.looks = 0
		r := rand.New(rand.NewPCG(1, 1))
		for range events {
			offer(c.topic, r.IntN(c.keys))
		}
		if q.looks > 4*events {
			t.Errorf("%s: looked at %d items for %d events", name, q.looks, events)
		}
		q.clear()
		if got := h.bytes.Load(); q.extra != 0 || got < 0 {
			t.Errorf("%s: %d bytes are counted for an empty queue", name, q.extra)
		}
	}
}
