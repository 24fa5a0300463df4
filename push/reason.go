package push

// A reason is why a subscriber has left, or was ended.
type reason uint8

const (
	byeClient reason = iota // it left by itself: there is no bye
	byeShutdown
	byeLifetime
	byeStalled // its client did not accept a write in time: it got no bye
	byeSlow    // from here on it gets nothing else any more
	byeMemory
	byeEnded
	byeRevoked
	reasons int = iota
)

func (r reason) String() string {
	return [reasons]string{"client", "shutdown", "lifetime", "stalled", "slow", "memory", "ended", "revoked"}[r]
}

// end asks a subscriber to leave, with a bye after what it is owed. One that is too slow for
// that, or may not listen any more, gets nothing else.
func (s *subscriber) end(why reason) {
	if s.bye != 0 || s.at < 0 {
		return
	}
	s.bye = why
	s.shard.counts.ended[why]++
	if s.catching != nil && s.place.list != nil {
		s.catching.present = true // it has a gap to announce, and was live
	}
	s.shard.delist(s)
	if why >= byeSlow {
		s.empty()
	}
	s.sink.wake()
}

// empty drops what waits for a subscriber that was ended.
func (s *subscriber) empty() {
	if s.queue != nil {
		s.shard.counts.dropped += uint64(s.queue.clear())
		s.queue = nil
	}
	s.dropNews()
}

// stalled notes that the client of a subscriber did not accept a write in time. It takes the lock.
func (s *subscriber) stalled() {
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	if s.bye == byeClient && s.at >= 0 {
		s.bye = byeStalled
		s.shard.counts.ended[byeStalled]++
	}
}

// farewell is the reason that a bye names.
func (s *subscriber) farewell() string {
	if s.rare != nil && s.rare.why != "" {
		return s.rare.why
	}
	return s.bye.String()
}
