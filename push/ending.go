package push

// A reason is why a subscriber was ended.
type reason uint8

const (
	byeShutdown reason = iota + 1
	byeLifetime
	byeSlow
	byeMemory
)

func (r reason) String() string {
	return [...]string{"", "shutdown", "lifetime", "slow", "memory"}[r]
}

// end asks a subscriber to leave, with a bye after what it is owed. One that is too slow for
// that gets nothing else any more.
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
	if why == byeSlow || why == byeMemory {
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
