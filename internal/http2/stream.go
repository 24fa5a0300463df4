package http2

import (
	"sync"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
)

// A stream is one exchange. It implements exchange.Session. All of it, except for what the
// handler uses of x, is guarded by the session's mu.
type stream struct {
	x     exchange.Exchange
	text  []byte    // the head
	queue buf.Queue // parts of the body for which there was no room
	state
}

// state is what a stream forgets when it is reused.
type state struct {
	s  *Session
	id uint32

	inline  bool // its handler runs within a feed
	kept    bool // in s.streams
	handled bool // its handler has returned, and nothing is held
	reset   bool // by either side: frames that still come are ignored
	lost    bool // the client has left

	// Receiving.
	released  bool   // text is no longer needed
	holds     int64  // bytes of the share that the head takes
	remoteEnd bool   // all of the content has come
	unwanted  bool   // nobody will read it
	tooLong   bool   // it exceeds the limit
	asked     bool   // 100 (Continue) was sent
	content   []byte // not yet read
	read      int    // bytes of content that were read
	announced int64  // Content-Length, or UnknownLength
	ended     *trailer
	received  int64
	room      int64 // what is left of our window
	window    int64 // its size
	passed    int64 // bytes consumed since it last grew
	ahead     bool  // since then the handler has read all that had come
	awaited   bool  // the handler has waited for content
	owed      int64 // consumed, and not yet returned to the client's window

	// Sending.
	priority
	link
	send    int64 // the client's window
	ending  bool  // queue is all that is left
	sentEnd bool
	failed  error // why nothing more can be sent
	wasted  bool  // not all that was queued could be sent
	held    *held
	pushed  *pushed
	paces   int // the session's when its time was last excused

	shared     sync.Locker
	moved      *condition // something has changed for a goroutine that waits; nil until one does
	readLimit  limit
	writeLimit limit
	gone       func() // all functions registered with OnGone
	began      int64  // of the current stretch
	stretch    time.Duration
}

var streams = sync.Pool{New: func() any { return new(stream) }}

func newStream(s *Session, id uint32) *stream {
	st := streams.Get().(*stream)
	st.s, st.id = s, id
	st.room, st.window, st.send = streamWindow, streamWindow, s.peer.window
	st.announced = exchange.UnknownLength
	st.priority = unsignalled
	st.paces = s.paces
	if d := s.cfg.ReadTimeout; d > 0 {
		st.readLimit.by = clock.After(d)
	}
	if d := s.cfg.WriteTimeout; d > 0 {
		st.writeLimit.by = clock.After(d)
		if !s.due.covers(st.writeLimit.by) { // so that a request needs no memory for it
			s.due.set(st.writeLimit.by, s.expire)
		}
	}
	return st
}

// keptText is the largest head for which memory is kept.
const keptText = 4 << 10

// release returns a stream that nobody uses any more.
func (st *stream) release() {
	st.unhold()
	st.queue.Release()
	if st.moved != nil {
		st.moved.stop()
	}
	if cap(st.text) > keptText {
		st.text = nil
	}
	st.state = state{}
	streams.Put(st)
}

// begin counts a new stream.
func (s *Session) begin(st *stream) {
	s.counted++
	if s.open++; s.open == 1 {
		s.serving.Store(true)
		s.state(exchange.StateActive)
	}
}

// keep makes frames find a stream that outlives the feed in which it came.
func (s *Session) keep(st *stream) {
	if st.kept {
		return
	}
	if s.streams == nil {
		s.streams = map[uint32]*stream{}
	}
	st.kept = true
	s.streams[st.id] = st
}

// finish ends a stream if neither its handler nor the client need it any more.
func (s *Session) finish(st *stream) {
	if !st.handled || !st.sentEnd && !st.reset {
		return
	}
	if !st.remoteEnd && !st.reset {
		st.reset = true // the client need not send the rest (RFC 9113, 8.1)
		st.writeReset(NoError)
	}
	if st.sentEnd && !st.lost {
		s.gain(gainExchange)
	}
	st.dropContent()
	s.grown -= st.window - streamWindow
	s.repay(st.window - streamWindow)
	s.unlist(st)
	if st.kept {
		delete(s.streams, st.id)
	}
	if s.open--; s.open == 0 {
		s.unpromise()
		s.serving.Store(false)
		s.idleSince = clock.Nano()
		if !s.gone { // no state follows StateClosed
			s.state(exchange.StateIdle)
		}
		s.wake() // the connection may be about to end
	}
	st.release()
}

// resetStream ends a stream because of an error. It counts as an expense, even if the error
// is ours: a client may provoke it at will.
func (s *Session) resetStream(st *stream, code Code) error {
	if !st.reset {
		s.counters.Reset.Add(1)
		st.writeReset(code)
		st.lose()
	}
	return s.spend(costReset)
}

// discard resets a stream whose handler has not been called.
func (s *Session) discard(st *stream, code Code) error {
	err := s.resetStream(st, code)
	st.handled = true
	s.finish(st)
	return err
}

// lose tells everybody that the client is no longer there for this stream.
func (st *stream) lose() {
	st.reset, st.lost = true, true
	if st.failed == nil {
		st.failed = exchange.ErrGone
	}
	st.drop()
	if f := st.gone; f != nil {
		st.gone = nil
		go f() // it may take locks that are held by callers of OnGone
	}
	st.notify()
	if st.held != nil {
		st.held.lost()
	}
	if st.pushed != nil && st.pushed.open {
		st.pushed.list() // the turn finds it
	}
}

// drop discards output that was not sent.
func (st *stream) drop() {
	st.wasted = st.wasted || st.queue.Len() > 0
	st.queue.Reset()
	st.s.unlist(st)
}

// loseAll is lose for every stream, when the connection ends.
func (s *Session) loseAll() {
	for _, st := range s.streams {
		if !st.reset {
			st.lose()
		}
	}
	if st := s.inline; st != nil && !st.reset {
		st.lose()
	}
	for _, st := range s.deferred {
		st.handled = true // nobody is going to serve it
	}
	s.deferred = nil
	s.losePushed()
	for _, st := range s.streams {
		s.finish(st) // those whose handlers have returned
	}
}

// notify wakes the goroutines that wait.
func (st *stream) notify() {
	if st.moved != nil {
		st.moved.Broadcast()
	}
}

// OnGone implements exchange.Session.
func (st *stream) OnGone(f func()) (gone bool) {
	st.s.mu.Lock()
	defer st.s.unlock()
	if st.lost {
		return true
	}
	if before := st.gone; before != nil {
		st.gone = func() { before(); f() }
	} else {
		st.gone = f
	}
	return false
}
