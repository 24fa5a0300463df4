package push

import "container/heap"

// maxAhead is by how many events a node may be behind another, and how many subscribers may
// wait for it: half of them of one origin.
const maxAhead = 10_000

// ahead are the subscribers that have seen more on another node than this one has received. The first
// is the one that waits for the earliest place, so that an event costs nothing for those who wait for
// others. The hub's lock guards it.
type ahead struct {
	waits []*subscriber
	each  map[string]int // how many there are of an origin
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (a *ahead) Len() int { return len(a.waits) }

func (a *ahead) Less(i, k int) bool { return a.waits[i].catching.awaited < a.waits[k].catching.awaited }

func (a *ahead) Swap(i, k int) {
	w := a.waits
	w[i], w[k] = w[k], w[i]
	w[i].catching.ahead, w[k].catching.ahead = i+1, k+1
}

func (a *ahead) Push(s any) {
	a.waits = append(a.waits, s.(*subscriber))
	c := a.waits[len(a.waits)-1].catching
	c.ahead = len(a.waits)
	a.each[c.origin]++
}

func (a *ahead) Pop() any {
	end := len(a.waits) - 1
	s := a.waits[end]
	a.waits[end] = nil
	a.waits = a.waits[:end]
	c := s.catching
	c.ahead = 0
	if a.each[c.origin]--; a.each[c.origin] == 0 {
		delete(a.each, c.origin)
	}
	return s
}

// awaits reports whether a subscriber that has seen a place that this hub has yet to receive
// waits for it, because another node was faster. The lock is held.
func (h *Hub) awaits(seq uint64, from string) bool {
	c := &h.cluster
	return h.broker != nil && c.known && seq-h.seq <= maxAhead && c.ahead.Len() < maxAhead && c.ahead.each[from] < maxAhead/2
}

// overtake lets those continue that were ahead and are not any more. The lock is held.
func (h *Hub) overtake() {
	a := &h.cluster.ahead
	for a.Len() > 0 && a.waits[0].catching.awaited <= h.seq {
		h.proceed(heap.Pop(a).(*subscriber))
	}
}

// overtakeAll lets all continue: what they wait for will not come. The lock is held.
func (h *Hub) overtakeAll() {
	for a := &h.cluster.ahead; a.Len() > 0; {
		h.proceed(heap.Pop(a).(*subscriber))
	}
}

func (h *Hub) proceed(s *subscriber) {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	if s.at >= 0 {
		s.catching.fetching = false
		s.sink.wake()
	}
}

// stopWaiting has those who are ahead wait for nothing any more: the hub is closed, and receives
// nothing. The lock is held.
func (h *Hub) stopWaiting() {
	a := &h.cluster.ahead
	for a.Len() > 0 {
		s := heap.Pop(a).(*subscriber)
		s.shard.mu.Lock()
		if s.at >= 0 {
			s.catching.stopWaiting()
			s.sink.wake()
		}
		s.shard.mu.Unlock()
	}
}

// stopWaiting has one that is ahead wait for nothing any more.
func (c *catchUp) stopWaiting() {
	if c != nil && c.fetching {
		c.fetching, c.present = false, true
	}
}
