package push

import "testing"

// TestBacklogPatience: clients that stall one after another hold the others up for no longer than two that stall
// once.
func TestBacklogPatience(t *testing.T) {
	h := newGated(t, &gated{last: 1}, Options{QueueEvents: 2})
	h.mu.Lock()
	h.cluster.patience = pieceWait >> 8
	h.mu.Unlock()
	b := &backlog{hub: h, until: 1000, slow: map[*subscriber]bool{}}
	for i := range uint64(40) {
		s, err := join(t, h, "t")
		if err != nil {
			t.Fatal(err)
		}
		s.shard.mu.Lock()
		s.state |= busy
		s.shard.mu.Unlock()
		b.receive(Record{i + 2, Event{Topic: "t"}})
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if left := h.cluster.patience; left > 0 || len(b.slow) < 30 {
		t.Errorf("%d clients were given up, and the next may take %v", len(b.slow), left)
	}
}
