package http2

import "github.com/redline-go/redline/internal/buf"

// Memory that clients can make the server hold comes from one share for all of its connections,
// beyond what is each connection's own: streams with heads of keptText, and a window of
// connWindow.
const (
	maxShare = 256 << 20

	// Windows with content that nobody reads, and heads, may take only their part of the share:
	// what is left is for windows of handlers that read.
	shareUnread = maxShare / 4
	shareHeads  = maxShare / 2

	// maxHeads is what the heads of one connection may take of it, unless MaxHeadBytes is more.
	maxHeads = 2 << 20

	queueLeast = 4 << 10 // what a stream may queue, however many there are
)

// borrow takes n bytes from the share, if no more than most of it are taken then. It returns what
// it took: n or 0.
func (s *Session) borrow(n, most int64) int64 {
	if n <= 0 {
		return 0
	}
	if s.counters.Borrowed.Add(n) > most {
		s.repay(n)
		return 0
	}
	return n
}

func (s *Session) repay(n int64) { s.counters.Borrowed.Add(-n) }

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
	if s.heads+n > int64(max(maxHeads, s.limits().MaxHeadBytes)) || s.borrow(n, shareHeads) == 0 {
		return false
	}
	s.heads += n
	st.holds = n
	return true
}

func (st *stream) unhold() {
	if st.holds == 0 {
		return
	}
	st.s.heads -= st.holds
	st.s.repay(st.holds)
	st.holds = 0
}

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
