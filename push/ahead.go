package push

// maxAhead is by how many events a node may be behind another, and how many subscribers may
// wait for it.
const maxAhead = 10_000

// awaits reports whether a subscriber that has seen a place that this hub has yet to receive
// waits for it, because another node was faster. The lock is held.
func (h *Hub) awaits(s *subscriber, seq uint64) bool {
	c := &h.cluster
	if len(c.ahead) >= maxAhead {
		h.overtake()
	}
	if h.broker == nil || !c.known || seq-h.seq > maxAhead || len(c.ahead) >= maxAhead {
		return false
	}
	s.seen = seq
	c.ahead = append(c.ahead, s)
	return true
}

// overtake lets those continue that were ahead and are not any more. The lock is held.
func (h *Hub) overtake() {
	c := &h.cluster
	kept := c.ahead[:0]
	for _, s := range c.ahead {
		s.shard.mu.Lock()
		switch {
		case s.at < 0: // gone
		case s.seen > h.seq:
			kept = append(kept, s)
		default:
			s.catching.fetching = false
			s.sink.wake()
		}
		s.shard.mu.Unlock()
	}
	clear(c.ahead[len(kept):])
	c.ahead = kept
}

// stopWaiting has those who are ahead wait for nothing any more: the hub is closed, and receives
// nothing. The lock is held.
func (h *Hub) stopWaiting() {
	for _, s := range h.cluster.ahead {
		s.shard.mu.Lock()
		if s.at >= 0 {
			s.catching.stopWaiting()
			s.sink.wake()
		}
		s.shard.mu.Unlock()
	}
	h.cluster.ahead = nil
}

// stopWaiting has one that is ahead wait for nothing any more.
func (c *catchUp) stopWaiting() {
	if c != nil && c.fetching {
		c.fetching, c.present = false, true
	}
}
