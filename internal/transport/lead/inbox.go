package lead

import (
	"sync"
	"sync/atomic"
)

// An Inbox queues messages from other goroutines to a loop, in order.
type Inbox[M any] struct {
	n      atomic.Int32 // len(msgs), readable without the lock
	mu     sync.Mutex
	msgs   []M
	closed bool
}

// Put adds a message, and reports whether the loop still exists to read it. The caller then
// rings the loop's [Bell].
func (b *Inbox[M]) Put(m M) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.msgs = append(b.msgs, m)
	b.n.Store(int32(len(b.msgs)))
	return true
}

// Empty reports whether nothing has been put since the last Take. It costs one load.
func (b *Inbox[M]) Empty() bool { return b.n.Load() == 0 }

// Take returns all messages. The inbox then uses the memory of spare, which the caller no
// longer needs.
func (b *Inbox[M]) Take(spare []M) []M {
	clear(spare)
	b.mu.Lock()
	defer b.mu.Unlock()
	msgs := b.msgs
	b.msgs = spare[:0]
	b.n.Store(0)
	return msgs
}

// Close makes all further Puts fail, and returns the remaining messages.
func (b *Inbox[M]) Close() []M {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	msgs := b.msgs
	b.msgs = nil
	b.n.Store(0)
	return msgs
}
