package redline

// RanQuickly notes for every route that blocks that it ran n times off the loop
// and was quick. It is for tests: how long a run really takes is the machine's
// affair.
func (s *Server) RanQuickly(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.routes {
		for range n {
			if r.habit.Blocks() {
				r.habit.Ran(1)
			}
		}
	}
}
