package lead

// A Signal ends a wait. Most hands never wait: it is made when it is needed. The
// zero value is ready.
type Signal struct{ c chan error }

// Prepare is called by who is going to wait, before anybody can know of it.
func (s *Signal) Prepare() {
	if s.c == nil {
		s.c = make(chan error, 1)
	}
}

// Wait blocks until Send, and returns its error.
func (s *Signal) Wait() error { return <-s.c }

// Send ends one Wait, at once or when it comes. There must be one Send for a
// Prepare, no more. It does not block.
func (s *Signal) Send(err error) { s.c <- err }
