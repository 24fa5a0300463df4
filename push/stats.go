package push

import "github.com/redline-go/redline/push/topic"

// Stats are the totals of a hub since its start, and its present state.
type Stats struct {
	Subscribers int    // now
	Topics      int    // whose history is known now
	Events      int    // in the history now
	Bytes       int64  // as bounded by Options.MaxBytes, now
	Published   uint64 // events, those of other nodes included
	Duplicates  uint64 // events that were not published because their ID was known
	Delivered   uint64 // events given to connections, each for each subscriber
	Queued      uint64 // of these, events that had to wait for their subscriber
	Dropped     uint64 // events that a subscriber did not get
	Conflated   uint64 // events that were replaced by a newer one with the same key
	Gaps        uint64 // gaps that were announced
	Heartbeats  uint64 // signs of life that were sent

	Linked       bool   // the broker is in reach now, or there is none
	HistoryBytes int64  // of events in the history, with what each costs, now
	Waiting      int    // events in queues of subscribers, now
	WaitingBytes int64  // and their bytes: an event counts for each queue that refers to it
	Revoked      int    // users and tokens that may not listen, now
	Resumed      uint64 // subscribers that asked to resume
	// Endings are the subscribers that have left or were ended: "client" (it left by itself), "stalled"
	// (it did not accept a write in time), and by the hub "shutdown", "lifetime", "slow" (Disconnect),
	// "memory" (MaxBytes), "ended" and "revoked" (End).
	Endings map[string]uint64
	// Refusals are the requests that were refused, by the limit: "subscribers", "memory", "address", "user", "connects",
	// "resumptions", or "shutdown", "broker", "revoked".
	Refusals map[string]uint64
}

// Stats returns the hub's figures. It takes every lock once; call it a few times a second
// at most.
func (h *Hub) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.limits.mu.Lock()
	st := Stats{Subscribers: h.limits.count, Revoked: h.limits.revoked.len(), Endings: map[string]uint64{}, Refusals: map[string]uint64{}}
	for i, n := range h.limits.refused {
		st.Refusals[refusals[i].name] = n
	}
	h.limits.mu.Unlock()
	st.HistoryBytes, st.Resumed, st.Linked = h.history.bytes, h.resumed, h.broker == nil || h.cluster.linked
	st.Topics, st.Events = len(h.history.logs), h.history.all.len()
	st.Bytes, st.Published, st.Duplicates = h.bytes.Load(), h.published.Load(), h.repeated.Load()
	for _, sh := range h.shards {
		sh.mu.Lock()
		c := sh.counts
		st.Waiting, st.WaitingBytes = st.Waiting+sh.waiting, st.WaitingBytes+sh.waitingBytes
		sh.mu.Unlock()
		st.add(&c)
	}
	st.add(&h.cluster.former)
	return st
}

func (st *Stats) add(c *counts) {
	st.Delivered += c.delivered
	st.Queued += c.queued
	st.Dropped += c.dropped
	st.Conflated += c.conflated
	st.Gaps += c.gaps
	st.Heartbeats += c.beats
	for why, n := range c.ended {
		st.Endings[reason(why).String()] += n
	}
}

// Subscribers returns how many subscribers of this node have exactly this topic or pattern, and no
// other one that covers it. A [Registry] counts those too.
func (h *Hub) Subscribers(filter string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, sh := range h.shards {
		sh.mu.Lock()
		if l := sh.index.Get(filter); l != nil {
			n += len(l.subs)
		}
		sh.mu.Unlock()
	}
	return n
}

// Topics returns the topics whose history is known and that a pattern selects, in no order.
func (h *Hub) Topics(pattern string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !topic.IsPattern(pattern) {
		if h.history.tree.Get(pattern) == nil {
			return nil
		}
		return []string{pattern}
	}
	var names []string
	for _, l := range h.history.tree.Select(nil, pattern) {
		names = append(names, l.name)
	}
	return names
}
