package memory

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/topic"
)

// A Broker keeps the last events of some hubs in memory. It implements [push.Broker], and can
// be out of reach on request.
type Broker struct {
	keep int

	mu      sync.Mutex
	epoch   string
	records []push.Record
	last    uint64
	ids     map[string]uint64
	moved   chan struct{} // closed when anything changes
	down    bool
}

// NewBroker returns a broker that keeps so many events.
func NewBroker(keep int) *Broker {
	return &Broker{keep: max(keep, 1), epoch: "memory-1", ids: map[string]uint64{}, moved: make(chan struct{})}
}

// ErrDown is returned while a broker is out of reach.
var ErrDown = errors.New("memory: the broker is out of reach: it was told to be")

// SetDown puts the broker out of reach, or back. Nothing is lost.
func (b *Broker) SetDown(down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = down
	b.move()
}

// Reset loses everything: another order begins, under another name.
func (b *Broker) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.epoch += "'"
	b.records, b.last = nil, 0
	clear(b.ids)
	b.move()
}

func (b *Broker) move() {
	close(b.moved)
	b.moved = make(chan struct{})
}

func (b *Broker) first() uint64 {
	if len(b.records) == 0 {
		return b.last + 1
	}
	return b.records[0].Seq
}

// Open implements push.Broker.
func (b *Broker) Open(ctx context.Context) (push.Span, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return push.Span{}, ErrDown
	}
	return push.Span{Epoch: b.epoch, First: b.first(), Last: b.last}, ctx.Err()
}

// Publish implements push.Broker. An ID is known as long as its event is kept.
func (b *Broker) Publish(ctx context.Context, e push.Event) (seq uint64, repeated bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.down:
		return 0, false, ErrDown
	case ctx.Err() != nil:
		return 0, false, ctx.Err()
	case e.ID != "" && b.ids[e.ID] != 0:
		return b.ids[e.ID], true, nil
	}
	b.last++
	if e.ID != "" {
		b.ids[e.ID] = b.last
	}
	e.Data = bytes.Clone(e.Data)
	b.records = append(b.records, push.Record{Seq: b.last, Event: e})
	if len(b.records) > b.keep {
		delete(b.ids, b.records[0].Event.ID)
		b.records[0] = push.Record{}
		b.records = b.records[1:]
	}
	b.move()
	return b.last, false, nil
}

// Follow implements push.Broker.
func (b *Broker) Follow(ctx context.Context, after uint64, f func(push.Record)) error {
	epoch := ""
	for {
		b.mu.Lock()
		if epoch == "" {
			epoch = b.epoch
		}
		moved, down, over := b.moved, b.down, b.epoch != epoch || b.first() > after+1
		var next []push.Record
		if !down && !over {
			next = slices.Clone(b.from(after + 1))
		}
		b.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case down, over:
			return ErrDown
		}
		for _, r := range next {
			f(r)
			after = r.Seq
		}
		if len(next) > 0 {
			continue
		}
		select {
		case <-moved:
		case <-ctx.Done():
		}
	}
}

// from returns the records from seq on.
func (b *Broker) from(seq uint64) []push.Record {
	i, _ := slices.BinarySearchFunc(b.records, seq, func(r push.Record, seq uint64) int {
		switch {
		case r.Seq < seq:
			return -1
		case r.Seq > seq:
			return 1
		}
		return 0
	})
	return b.records[i:]
}

// Replay implements push.Broker.
func (b *Broker) Replay(ctx context.Context, after, until uint64, filters []string, f func(push.Record) bool) (first uint64, err error) {
	b.mu.Lock()
	first, down := b.first(), b.down
	records := slices.Clone(b.from(after + 1))
	b.mu.Unlock()
	if down {
		return first, ErrDown
	}
	for _, r := range records {
		if r.Seq > until || ctx.Err() != nil {
			break
		}
		wanted := slices.ContainsFunc(filters, func(p string) bool { return topic.Match(p, r.Event.Topic) })
		if wanted && !f(r) {
			break
		}
	}
	return first, ctx.Err()
}
