package http1

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/transport"
)

// What a session does with the next bytes.
const (
	inHead  = iota // the bytes are a request's head
	inSkip         // the bytes are the rest of unwanted content
	inHeld         // nothing: an answer is still being written
	inPush         // the same, by turns
	inClose        // nothing any more
)

// A Session is the server's side of one HTTP/1 connection. Between requests it holds
// nothing else.
type Session struct {
	conn  transport.Conn
	cfg   *exchange.Config
	w     *work
	rare  atomic.Pointer[rare] // nil for most sessions
	in    []byte               // fed and not yet consumed; nil outside of Feed
	out   *buf.Queue           // of the current feed; nil outside of it
	phase uint8

	waits   uint8 // what the deadline is for: see awaits
	early   bool  // it is the time to look whether output was accepted: see retime
	used    bool  // a request has arrived
	yielded bool  // the loop was given up on purpose in this feed
	watched bool  // OnGone was called in this exchange
	first   bool  // nothing has been served in this feed

	apart uint8 // number of calls that are still to be timed separately

	serving atomic.Bool // an exchange is in progress; maintained only with Config.Watched

	released bool // in was returned: all fed input is consumed

	chunked bool                // the answer written by push is
	last    bool                // the connection ends with it
	calling bool                // a turn has been requested in this turn
	push    exchange.Subscriber // writes the answer by turns; nil if none does

	open atomic.Uint32 // for other goroutines: see lend
	lost atomic.Uint32 // why: Lost is called by another goroutine
}

// A work is the memory for one request. It returns to the pool when the connection is idle.
type work struct {
	cfg     *exchange.Config // the source of the parser's limits
	x       exchange.Exchange
	parser  Parser
	body    Body
	rest    []byte // content read ahead from the connection, not yet decoded
	chunk   []byte // the memory of rest
	asked   bool   // 100 (Continue) was sent, or is not wanted
	broken  error  // why no more content can be read
	skipped int64  // bytes of unwanted content
	held    *held
	opening opening
	read    limit // for waits for content
	write   limit // for waits for the client to accept output
	shared  sync.Locker
	times
	several bool          // earlier handlers were called in this feed
	touched bool          // the handler has requested content
	came    int           // bytes of content that kept pace recently
	idle    time.Duration // time spent waiting for them
	failed  error         // why nothing more can be sent: exchange.ErrGone or ErrTimeout
}

var works = sync.Pool{New: func() any { return new(work) }}

// NewSession returns the session of a newly accepted connection.
func NewSession(c transport.Conn, cfg *exchange.Config) *Session {
	s := &Session{conn: c, cfg: cfg}
	s.retime(0)
	s.state(exchange.StateNew)
	return s
}

// state reports the connection's state, and returns whether it may continue.
func (s *Session) state(state exchange.State) bool {
	if s.cfg.State == nil || s.cfg.State(s, state) {
		return true
	}
	if state == exchange.StateNew {
		s.phase = inClose
		s.conn.Close(transport.Orderly)
	}
	return false
}

// Feed implements the transport's contract.
func (s *Session) Feed(in []byte, out *buf.Queue) (int, error) {
	s.in, s.out, s.released, s.first = in, out, false, true
	s.yielded = s.conn.Detached() // then it holds no loop
	err := s.advance()
	if err != nil || s.phase != inClose {
		s.retime(out.Len())
	}
	n := len(in)
	if !s.released {
		n -= len(s.in)
	}
	s.in, s.out = nil, nil
	return n, err
}

// advance processes the available bytes as far as possible.
func (s *Session) advance() error {
	for len(s.in) > 0 {
		var err error
		switch s.phase {
		case inHead:
			if !s.hasRoom() {
				s.spareWork() // what is left is fed again when all of that is sent
				return nil
			}
			var more bool
			if more, err = s.head(); more {
				return nil
			}
		case inSkip:
			err = s.skip()
		case inHeld, inPush:
			return nil
		case inClose:
			s.in = nil
			return transport.ErrClosed
		}
		if err != nil {
			return err
		}
	}
	if s.phase == inHead && s.w != nil && !s.w.parser.Started() {
		s.spareWork()
	}
	return nil
}

// hasRoom reports whether another request may be answered. First it sends the answers to earlier
// ones, as far as the socket accepts them, if they are much, or if nobody would while the handler
// runs: see lend. If it does not, as much output waits for the client as may.
func (s *Session) hasRoom() bool {
	n, most := s.out.Len(), s.cfg.HighWater
	switch {
	case n == 0:
		return true
	case s.cfg.Watched || s.conn.Detached(): // Conn may cut what is queued
	case n <= most/2 || n+s.conn.Pending() <= most: // little is not worth the query
		return true
	}
	return s.send() != nil || s.conn.Pending() <= most // the next one finds an error again
}

// send sends the queued output, as far as the socket accepts it.
func (s *Session) send() error {
	s.count(s.out.Len())
	return s.conn.Flush(s.out, math.MaxInt, nil)
}

// spareWork returns the memory for requests: the connection is idle, or has output that waits for
// the client.
func (s *Session) spareWork() {
	if w := s.w; w != nil {
		s.w = nil
		works.Put(w)
	}
}

// idle reports that the exchange is over.
func (s *Session) idle() error {
	if s.cfg.State == nil || s.state(exchange.StateIdle) {
		return nil
	}
	return s.close()
}

// head continues parsing, and answers the request when its head is complete. more means
// that it is not.
func (s *Session) head() (more bool, err error) {
	if s.w == nil {
		s.w = works.Get().(*work)
		// Between requests a parser holds nothing but its limits.
		if s.w.cfg != s.cfg || s.w.parser.Started() {
			s.w.cfg = s.cfg
			s.w.parser.Init(s.cfg.Limits)
		}
	}
	w := s.w
	n, code := w.parser.Parse(&w.x.Request, s.in)
	switch {
	case code == Complete:
		s.in = s.in[n:]
		if s.used = true; s.waits != forClient {
			s.waits = forExchange
		}
		return false, s.activate()
	case code.Refused():
		if !s.state(exchange.StateActive) {
			return false, s.close()
		}
		return false, s.refuse(s.out, code.Status(), code.String())
	}
	return true, nil
}

// activate serves the request whose head is complete.
func (s *Session) activate() error {
	if s.out.Len() > 0 {
		s.lend() // before any foreign code
	}
	if !s.state(exchange.StateActive) {
		s.claim()
		return s.close()
	}
	return s.serve()
}

// serve runs the handler and completes its answer.
func (s *Session) serve() error {
	w := s.w
	x := &w.x
	x.Session = s
	x.ResetResponse()
	w.asked, w.broken, w.skipped, w.rest, w.shared = false, nil, 0, nil, nil
	w.touched, w.failed, w.came, w.idle = false, nil, 0, 0
	s.called()
	s.limit(w)
	if x.HasBody() {
		w.body.Init(&x.Request, w.parser.Limits())
	} else {
		w.body.state = bodyDone
	}
	if s.cfg.Watched {
		s.serving.Store(true)
	}
	s.cfg.Handler.ServeExchange(x)
	s.claim()
	w.shared = nil
	switch {
	case x.Hijacked:
		s.unsubscribe(exchange.ErrHijacked)
		s.phase, s.in = inClose, nil
		s.drop()
		return nil
	case x.Aborted:
		s.unsubscribe(exchange.ErrAborted)
		return s.abort()
	case x.Subscribed:
		return s.subscribe()
	case w.held != nil:
		return s.hold()
	case w.write.over():
		return s.cut() // as a write would have found
	}
	return s.complete()
}

// served marks the point after which nothing waits for the client, and the answer is
// complete: a close after that lets it arrive. Before that, even if the handler has
// returned, a close ends the wait.
func (s *Session) served() {
	if s.cfg.Watched {
		s.serving.Store(false)
	}
}

// complete ends the exchange, and handles content that the handler did not read.
func (s *Session) complete() error {
	w := s.w
	if !w.body.Done() {
		if status, reason := s.blame(); status != 0 {
			s.served()
			return s.refuse(s.out, status, reason)
		}
		s.leave()
	}
	if closed, err := s.end(); closed {
		return err
	}
	switch {
	case !w.body.Done():
		s.phase = inSkip
		return s.skipRest()
	case len(w.rest) > 0:
		s.unread(w)
	}
	return s.idle()
}

// end sends the rest of the answer, and closes the connection if required.
func (s *Session) end() (closed bool, err error) {
	x := &s.w.x
	if s.finish(x) != nil {
		return true, s.abort()
	}
	s.served()
	s.release()
	s.outlive(&s.w.write)
	if x.Request.Close || x.Response.Close || len(s.in) == 0 && len(s.w.rest) == 0 && s.stopping() {
		return true, s.close()
	}
	return false, nil
}

// stopping reports whether the server shuts down.
func (s *Session) stopping() bool { return s.cfg.Stopping != nil && s.cfg.Stopping() }

// release takes back what a handler may have left with the session.
func (s *Session) release() {
	if !s.watched {
		return
	}
	s.watched = false
	r := s.rare.Load()
	r.mu.Lock()
	r.gone = nil
	r.mu.Unlock()
}

// drop releases the exchange.
func (s *Session) drop() {
	w := s.w
	if w == nil {
		return
	}
	s.w = nil
	s.freeChunk(w)
	if h := w.held; h != nil {
		w.held = nil
		h.lost() // from here on no other goroutine uses the exchange
	}
	works.Put(w)
}

// close makes the session ignore further input: input after this request is never parsed.
// The client has StallTimeout to accept the remaining output, or as much of it as keeps
// pace.
func (s *Session) close() error {
	err := transport.ErrClosed
	if len(s.in) > 0 || s.w != nil && !s.w.body.Done() {
		err = ErrRefused
	}
	s.phase, s.in = inClose, nil
	return err
}

// abort ends the connection within an answer. The client gets what was sent, and can tell
// that the answer is incomplete if the framing shows it.
func (s *Session) abort() error {
	if unframed(&s.w.x.Response) || s.w.failed != nil {
		return s.cut()
	}
	return s.close()
}

// unframed reports whether the end of the connection is the end of the answer.
func unframed(r *exchange.Response) bool {
	return r.HeadSent && !r.Bodiless && !r.TakesTrailers && r.Length == exchange.UnknownLength
}

// cut ends the connection in such a way that the client cannot mistake what it has received
// for the whole answer. The transport closes it, not in order.
func (s *Session) cut() error {
	if s.out != nil && s.w != nil && s.out.Len()+s.conn.Pending() > 0 {
		_ = s.flush(0) // earlier output, or as much of it as the client accepts
	}
	s.phase, s.in = inClose, nil
	s.conn.Close(transport.Reset)
	return nil
}
