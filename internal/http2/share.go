package http2

import (
	"sync/atomic"

	"github.com/redline-go/redline/internal/buf"
)

// Memory that clients can make the server hold comes from two shares for all of its connections,
// beyond what is each connection's own. Windows do not take from heads: most of a window that was
// promised takes no memory.
const (
	// maxShare is for windows beyond connWindow, and shareUnread the part of it that windows with
	// content which nobody reads may take: what is left is for handlers that read.
	maxShare    = 256 << 20
	shareUnread = maxShare / 4

	// shareHeads is for the heads of a connection beyond ownHeads, which it has in any case: one of
	// the usual limit. Heads of keptText do not count.
	shareHeads = 128 << 20
	ownHeads   = 64 << 10

	// maxHeads is what the heads of one connection may take, unless MaxHeadBytes is more.
	maxHeads = 2 << 20

	queueLeast = 4 << 10 // what a stream may queue, however many there are
)

// borrow takes n bytes from the share of windows, if no more than most of it are taken then. It
// returns what it took: n or 0.
func (s *Session) borrow(n, most int64) int64 { return take(&s.counters.Windows, n, most) }

func (s *Session) repay(n int64) { s.counters.Windows.Add(-n) }

// take takes n bytes from a share, if no more than most of it are taken then. It returns n or 0.
func take(share *atomic.Int64, n, most int64) int64 {
	if n <= 0 {
		return 0
	}
	if share.Add(n) > most {
		share.Add(-n)
		return 0
	}
	return n
}

// promise counts the window of a connection whose client is about to send content; unpromise
// does the opposite when its last stream ends. The client keeps a large window meanwhile, as windows
// cannot be taken back, but it takes no memory. promise reports false if there is none left.
func (s *Session) promise() bool {
	more := s.window - connWindow
	if s.promised || more > 0 && s.borrow(more, maxShare) == 0 {
		return s.promised
	}
	s.promised = true
	return true
}

func (s *Session) unpromise() {
	if s.promised {
		s.promised = false
		s.repay(s.window - connWindow)
	}
}

// crowd refuses a request for which the server has no memory. Its client may send it again, and
// needs another connection if the window of this one is too large.
func (s *Session) crowd(st *stream) error {
	s.counters.Refused.Add(1)
	if !s.promised && s.window > connWindow {
		s.goAway(s.lastID, NoError)
	}
	return s.discard(st, RefusedStream)
}

// hold counts the memory of a head, and reports false if there is none left.
func (st *stream) hold() bool {
	s, n := st.s, int64(len(st.text)-keptText)
	if n <= 0 {
		return true
	}
	more := shared(s.heads+n) - shared(s.heads)
	if s.heads+n > int64(max(maxHeads, s.limits().MaxHeadBytes)) || more > 0 && take(&s.counters.Heads, more, shareHeads) == 0 {
		return false
	}
	s.heads += n
	st.holds = n
	return true
}

func (st *stream) unhold() {
	s := st.s
	s.counters.Heads.Add(shared(s.heads-st.holds) - shared(s.heads))
	s.heads -= st.holds
	st.holds = 0
}

// shared is how much of the heads of a connection comes from the share.
func shared(heads int64) int64 { return max(heads-ownHeads, 0) }

// forget releases what only the handler needed, which has returned: the response may last for
// days.
func (st *stream) forget() {
	st.unhold()
	st.text, st.x.Local, st.ended = nil, nil, nil
	st.x.Request.Forget()
	st.dropContent()
}

// queueMost is how much a handler may write that the windows do not let through before it waits:
// what all streams of a connection queue is about as much as the connection has of output.
func (st *stream) queueMost() int {
	return max(st.s.cfg.HighWater/max(len(st.s.streams), 1), queueLeast)
}

// dropContent releases content that nobody is going to read.
func (st *stream) dropContent() {
	if st.content != nil {
		st.s.giveBack(int64(len(st.content) - st.read))
		buf.Put(st.content)
		st.content, st.read = nil, 0
	}
}
