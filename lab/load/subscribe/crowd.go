package subscribe

import (
	"math"
	"time"

	"github.com/redline-go/redline/lab/load/run"
	"github.com/redline-go/redline/lab/load/spec"
)

// A crowd is what subscribers do besides listening: they have topics, leave and join, and some
// read slowly.
type crowd struct {
	published  []uint64 // number of the last event sent, by topic; nil: something else publishes
	churnEvery int64    // nanoseconds between two that leave; 0: none leaves
	nextLeave  int64
	cursor     int // subscriber that is looked at next
}

// topic returns the number of a subscriber's topic.
func (b *book) topic(i int32) int {
	return (b.config.First + int(i)) % max(b.config.Topics, 1)
}

// isSlow reports whether a subscriber is one of the slow ones, which are spread evenly.
func (b *book) isSlow(i int) bool {
	if b.config.Slow == nil {
		return false
	}
	n := float64(b.config.First + i)
	return math.Floor((n+1)*b.config.Slow.Share) > math.Floor(n*b.config.Slow.Share)
}

// slowHeard returns the figures of the slow subscribers; nil: all are quick.
func (b *book) slowHeard(c *SlowCounts) *spec.SlowHeard {
	if b.config.Slow == nil {
		return nil
	}
	h := &spec.SlowHeard{Events: c.Events, Missed: c.Missed, Duplicated: c.Duplicated, Ended: c.Ended}
	for i := range b.subs {
		if b.subs[i].slow {
			h.Subscribers++
		}
	}
	return h
}

// sipEvery is the time between two reads of a slow subscriber.
const sipEvery = 100 * time.Millisecond

// slowBuffer is the receive buffer of slow subscribers in bytes, so that a server notices soon
// that they do not read. The kernel doubles it.
const slowBuffer = 4 << 10

// bufferSize is how many bytes are read at a time.
const bufferSize = 64 << 10

// room returns how many bytes a slow subscriber reads at a time; 0: none, ever.
func (b *book) room() int {
	rate := b.config.Slow.Rate
	if rate == 0 {
		return 0
	}
	return int(min(max(rate*int64(sipEvery)/int64(time.Second), 1), bufferSize))
}

// rest lets a slow subscriber wait before it reads again.
func (b *book) rest(i int32, s *subscriber, now int64) {
	s.asleep = true
	b.timers.Add(run.Timer{Due: now + int64(sipEvery), ID: i, Generation: s.gen, What: sip})
}

// startChurn lets subscribers leave and join from now on, and stopChurn ends that.
func (b *book) startChurn(now int64) {
	if b.config.Churn > 0 {
		b.churnEvery = max(int64(float64(time.Second)/b.config.Churn), 1)
		b.nextLeave = now + b.churnEvery
	}
}

func (b *book) stopChurn() { b.churnEvery = 0 }

// churn lets the subscribers leave that are due.
func (b *book) churn(now int64) {
	for b.churnEvery > 0 && now >= b.nextLeave {
		b.nextLeave = max(b.nextLeave, now-arrears) + b.churnEvery
		for range b.subs {
			i := int32(b.cursor)
			b.cursor = (b.cursor + 1) % len(b.subs)
			if s := &b.subs[i]; s.phase == standing && !s.slow {
				b.part(i, s)
				break
			}
		}
	}
}

// part lets a subscriber leave, and join as a new one.
func (b *book) part(i int32, s *subscriber) {
	s.sse.Init(b.stream) // what it leaves behind is not cut off
	b.leave(i)
	s.anew = true
	b.Left++
	b.queue = append(b.queue, i)
}

// behind returns how many published events the standing subscribers have not received yet.
func (b *book) behind() (n uint64) {
	for i := range b.subs {
		if s := &b.subs[i]; s.phase == standing && !s.slow {
			n += s.sse.Behind(b.published[b.topic(int32(i))])
		}
	}
	return n
}
