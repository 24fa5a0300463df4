package push

import (
	"context"
	"time"

	"github.com/redline-go/redline/push/format"
)

// replays is how many subscribers read from the broker at a time.
const replays = 32

// fetch reads the events in (s.seen, until] from the broker, as many as a turn of catching
// up may have. It tries until the broker answers: those that are live wait for it too. The
// locks of hub and shard are held.
func (h *Hub) fetch(s *subscriber, until uint64) {
	s.catching.fetching = true
	seen, filters, epoch := s.seen, *s.filters, h.era()
	h.cluster.work.Go(func() {
		for {
			got, first, err := h.replay(seen, until, filters)
			h.mu.Lock()
			if epoch != h.era() || s.seen != seen {
				got, first, err = nil, 0, nil // it goes on elsewhere, which was announced
			}
			ended := h.fetched(s, until, got, first, err)
			h.mu.Unlock()
			if ended {
				return
			}
			select {
			case <-time.After(pause):
			case <-h.cluster.ctx.Done():
			}
		}
	})
}

// fetchEvents and fetchBytes bound what one replay brings.
const (
	fetchEvents = 256
	fetchBytes  = 256 << 10
)

func (h *Hub) replay(after, until uint64, filters []string) (got []Record, first uint64, err error) {
	c := &h.cluster
	select {
	case c.asking <- struct{}{}:
		defer func() { <-c.asking }()
	case <-c.ctx.Done():
		return nil, 0, c.ctx.Err()
	}
	ctx, cancel := context.WithTimeout(c.ctx, h.o.WriteTimeout)
	defer cancel()
	room := fetchBytes
	first, err = h.broker.Replay(ctx, after, until, filters, func(r Record) bool {
		got = append(got, r)
		room -= len(r.Event.Data)
		return len(got) < fetchEvents && room > 0
	})
	if err != nil {
		return nil, 0, err // what is missing before the events is unknown
	}
	return got, first, nil
}

// fetched queues what the broker had, or reports false if it is to be asked again. The lock
// is held.
func (h *Hub) fetched(s *subscriber, until uint64, got []Record, first uint64, err error) bool {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	c := s.catching
	switch {
	case s.at < 0 || !s.catches():
		c.fetching = false
		return true
	case err != nil && h.cluster.ctx.Err() == nil && (h.o.Isolated == Refuse || h.cluster.linked):
		return false
	case err != nil:
		c.whole = 0
		h.lose(s, until, "broker")
	case first > s.seen+1 && c.told < first-1:
		h.lose(s, first-1, "history")
	}
	c.fetching, c.whole = false, 0
	for _, r := range got {
		m := h.newMessage(&r.Event)
		m.seq, m.event.ID = r.Seq, h.id(r.Seq)
		m.log = h.history.log(m.event.Topic)
		s.append(m)
		m.release()
	}
	if len(got) == 0 {
		s.seen = max(s.seen, min(until, h.seq))
	}
	s.sink.wake()
	return true
}

// lose notes that a subscriber will not get some of the events up to a place.
func (h *Hub) lose(s *subscriber, until uint64, reason string) {
	c := s.catching
	c.told = max(c.told, until)
	if c.gap == nil && until > c.whole {
		c.gap = &format.Gap{From: s.lastID, Reason: reason}
	}
}
