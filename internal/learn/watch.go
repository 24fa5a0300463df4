package learn

// A Watch is part of what has to know when a call of its holds an event loop for too long, in
// time for the next call: the one that does may never return.
type Watch struct {
	// Overran is called with the Watch when the loop was taken over from the call, by another
	// goroutine than that of the call, which may be returning. It must not block, except
	// briefly for a lock.
	Overran func(*Watch)
}
