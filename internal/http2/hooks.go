package http2

import "github.com/redline-go/redline/internal/exchange"

// Hooks are foreign code, and may take locks that handlers hold when they call the session.
// So they run without mu, one at a time and in order: those that become due are kept in
// Session.hooks, and the goroutine that releases mu next runs them.

// unlock releases mu, after all hooks that are due have run. While one goroutine runs them,
// others leave theirs to it.
func (s *Session) unlock() {
	for len(s.hooks) > 0 && !s.hooking {
		f := s.hooks[0]
		s.hooks = s.hooks[1:]
		s.hooking = true
		s.mu.Unlock()
		f()
		s.mu.Lock()
		s.hooking = false
	}
	if len(s.hooks) == 0 {
		s.hooks = nil
	}
	s.mu.Unlock()
}

// state reports the connection's state when mu is released. If the hook wants the connection
// to end, it ends after the exchanges in progress.
func (s *Session) state(state exchange.State) {
	if s.cfg.State == nil {
		return
	}
	s.hooks = append(s.hooks, func() {
		if !s.cfg.State(s, state) {
			s.CloseConn()
		}
	})
}

// refused reports a request that was answered without its handler, or a connection that broke
// the protocol, when mu is released.
func (s *Session) refused(status int, reason string) {
	if s.cfg.Refused == nil {
		return
	}
	s.hooks = append(s.hooks, func() { s.cfg.Refused(s.conn.RemoteAddr(), status, reason) })
}
