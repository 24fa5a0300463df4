package lead

// A Signal ends a wait. Most hands never wait, so it is created on demand. The zero value
// is ready.
type Signal struct{ c chan error }

// Prepare is called before the wait, and before another goroutine can learn of it.
func (s *Signal) Prepare() {
	if s.c == nil {
		s.c = make(chan error, 1)
	}
}

// Wait blocks until Send, and returns its error.
func (s *Signal) Wait() error { return <-s.c }

// Send ends one Wait, at once or when it is called. There must be exactly one Send for each
// Prepare. It does not block.
func (s *Signal) Send(err error) { s.c <- err }
