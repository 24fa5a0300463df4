package tlsio

import (
	"errors"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// A Feed of the inner session may leave its connection: see [transport.Leaver]. Everything of
// the session is at rest while it runs, so another goroutine can end the call in its place:
//
//  1. feed stores its work in s.within, and runs the inner session's Feed.
//  2. Leave, on the same goroutine, or Left, on another one, takes it from there, and ends the
//     call: the output is encrypted, and what was not consumed is kept.
//  3. When the inner Feed has returned, feed finds that its work has left, and touches
//     nothing any more.

// errLeft ends a Feed that has left its connection.
var errLeft = errors.New("tlsio: feed has left")

// enter marks the beginning of an inner Feed.
func (s *Session) enter(w *work) {
	if s.leaver == nil {
		return
	}
	s.mu.Lock()
	s.within, w.left = w, false
	s.mu.Unlock()
}

// returned marks its end, and reports whether it has left the connection.
func (s *Session) returned(w *work, leaves bool) bool {
	if !leaves {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !w.left {
		s.within = nil
	}
	return w.left
}

// Left implements [transport.Leaver].
func (s *Session) Left(out *buf.Queue) (n int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.within
	if w == nil {
		return 0, false
	}
	if n, ok = s.leaver.Left(&w.out); !ok {
		return 0, false
	}
	s.wire.out = out
	return s.part(w, n), true
}

// Leave implements [transport.Conn].
func (c *Conn) Leave(n int) {
	s := (*Session)(c)
	s.mu.Lock()
	n = s.part(s.within, n)
	s.mu.Unlock()
	s.conn.Leave(n)
}

// part ends the call of w, whose inner session has consumed n bytes of plaintext, and returns
// how much of the ciphertext is consumed. s.mu is held.
func (s *Session) part(w *work, n int) int {
	w.left = true
	s.within = nil
	s.kept(n)
	_ = s.result(nil) // an error is found again
	n = s.taken()
	w.out.Reset()
	s.wire.out, s.w = nil, nil
	return n
}

// leaverOf returns the inner session as a leaver, nil if it is none.
func leaverOf(inner transport.Session) transport.Leaver {
	l, _ := inner.(transport.Leaver)
	return l
}
