package sockets

import (
	"math"
	"sync/atomic"

	"github.com/redline-go/redline/internal/sys"
)

// A socket is a connection's descriptor, whose number is not used again by this
// connection once it is closed, when it may be somebody else's.
//
// The leader uses it as it likes: it closes it itself, and only when nobody feeds. So
// does the code around a call of the session's, for the same reason. Everybody else
// (calls of [transport.Conn], which come from any goroutine, and from those that a
// session has shared the connection with, and that outlive it) holds it meanwhile, and
// gets nothing to hold when it is closed. It is closed by who is last.
type socket struct {
	fd    int32        // -1 when it is closed
	users atomic.Int32 // who hold it; shut is added when it is to be closed
}

const shut = math.MinInt32

// hold returns the descriptor for use until letGo, if it is not to be closed.
func (s *socket) hold() (fd int, ok bool) {
	for {
		n := s.users.Load()
		if n < 0 {
			return -1, false
		}
		if s.users.CompareAndSwap(n, n+1) {
			return int(s.fd), true
		}
	}
}

// letGo ends a hold.
func (s *socket) letGo(fd int) {
	if s.users.Add(-1) == shut {
		sys.Close(fd)
	}
}

// close closes the descriptor as soon as no goroutine holds it. It is called once.
func (s *socket) close() {
	if s.users.Add(shut) != shut {
		return
	}
	fd := int(s.fd)
	s.fd = -1
	sys.Close(fd)
}
