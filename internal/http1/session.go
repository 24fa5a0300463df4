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
	inHead  = iota // they are a request's head
	inSkip         // they are the rest of content that nobody wants
	inHeld         // nothing: an answer is still being written
	inClose        // nothing, ever
)

// A Session is the server's side of one connection that speaks HTTP/1. Between
// requests it holds nothing but itself.
type Session struct {
	conn  transport.Conn
	cfg   *Config
	w     *work
	rare  *rare      // nil for most
	in    []byte     // what is fed and not consumed; nil outside of Feed
	out   *buf.Queue // of the feed; nil outside of it
	phase uint8

	timed   bool // the deadline for a head runs
	used    bool // a request has come
	yielded bool // the loop was given up on purpose in this feed
	watched bool // OnGone was called in this exchange
	owing   bool // the deadline for the client to take output runs
	first   bool // nothing has been served in this feed

	apart uint8 // calls of which each is still to be told apart

	serving atomic.Bool // an exchange is in progress; kept only with Config.Watched

	released bool // in was given back: what was fed is consumed

	lost bool // guarded by mu, like gone: Lost comes from another goroutine
	mu   sync.Mutex
	gone func() // of those who called OnGone, all of them
}

// rare is what a session remembers between requests for few servers only: an idle
// connection is as small as it can be.
type rare struct {
	slot  any   // the handler's
	began int64 // when the head began, on the clock's scale; only with a ReadTimeout
	mark  int   // bytes untaken when the deadline for output began to run
}

func (s *Session) needs() *rare {
	if s.rare == nil {
		s.rare = new(rare)
	}
	return s.rare
}

// A work is what one request needs. It returns to the pool when the connection
// is idle.
type work struct {
	cfg     *Config // that the parser has its limits from
	x       exchange.Exchange
	parser  Parser
	body    Body
	rest    []byte // content read ahead from the connection, not yet decoded
	chunk   []byte // what rest is in
	asked   bool   // 100 (Continue) was sent, or is not wanted
	broken  error  // why the content cannot be read on
	skipped int64  // bytes of unwanted content
	held    *held
	opening opening
	read    limit // of waits for content
	write   limit // of waits for the client to take output
	shared  sync.Locker
	times
	several bool          // others were called before in this feed
	touched bool          // the handler has asked for content
	came    int           // bytes of content that kept pace lately
	idle    time.Duration // that was waited for them
	failed  error         // why nothing more can be sent: exchange.ErrGone or ErrTimeout
}

var works = sync.Pool{New: func() any { return new(work) }}

// NewSession returns the session of a connection that was just accepted.
func NewSession(c transport.Conn, cfg *Config) *Session {
	s := &Session{conn: c, cfg: cfg, timed: true}
	s.expectHead()
	s.state(StateNew)
	return s
}

// state tells of the connection's state, and reports whether it may go on.
func (s *Session) state(state State) bool {
	if s.cfg.State == nil || s.cfg.State(s, state) {
		return true
	}
	if state == StateNew {
		s.phase = inClose
		s.conn.Close(transport.Orderly)
	}
	return false
}

// Idle reports whether the connection is between requests.
func (s *Session) Idle() bool { return s.phase == inHead && s.w == nil }

// Fresh reports whether no request has come yet.
func (s *Session) Fresh() bool { return !s.used }

// Feed implements the transport's contract.
func (s *Session) Feed(in []byte, out *buf.Queue) (int, error) {
	s.in, s.out, s.released, s.first = in, out, false, true
	s.yielded = s.conn.Detached() // then it holds no loop
	err := s.advance()
	n := len(in)
	if !s.released {
		n -= len(s.in)
	}
	s.in, s.out = nil, nil
	return n, err
}

// advance does what can be done with the bytes at hand.
func (s *Session) advance() error {
	for len(s.in) > 0 {
		var err error
		switch s.phase {
		case inHead:
			if s.crowded() && !s.hasRoom() {
				return s.rest() // the rest is fed again when all of that is sent
			}
			var more bool
			if more, err = s.head(); more {
				return nil
			}
		case inSkip:
			err = s.skip()
		case inHeld:
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
		return s.rest()
	}
	return nil
}

// crowded reports whether more output waits than may, with what waited before this
// feed: what is little beside that is not worth asking for it.
func (s *Session) crowded() bool {
	n, most := s.out.Len(), s.cfg.HighWater
	return n > most/2 && n+s.conn.Pending() > most
}

// hasRoom sends what is queued, as far as the socket takes it, and reports whether
// more may follow.
func (s *Session) hasRoom() bool {
	if err := s.conn.Flush(s.out, math.MaxInt, nil); err != nil {
		return true // whoever sends next finds out
	}
	return s.conn.Pending() <= s.cfg.HighWater
}

// rest lets go of everything: the connection is idle, or has output to take that
// waits for the client.
func (s *Session) rest() error {
	if w := s.w; w != nil {
		s.w = nil
		works.Put(w)
	}
	if s.conn.Pending() > 0 {
		s.owe(s.out.Len())
	} else {
		s.owing = false
		s.deadline(s.cfg.IdleTimeout)
	}
	return nil
}

// idle tells that the exchange is over.
func (s *Session) idle() error {
	if s.cfg.State == nil || s.state(StateIdle) {
		return nil
	}
	return s.close()
}

// head parses on, and answers the request when its head is complete. more means
// that it is not.
func (s *Session) head() (more bool, err error) {
	if s.w == nil {
		s.w = works.Get().(*work)
		// Between requests a parser knows nothing but its limits.
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
		s.timed, s.used = false, true
		return false, s.activate()
	case code.Refused():
		if !s.state(StateActive) {
			return false, s.close()
		}
		return false, s.refuse(s.out, code.Status(), code.String())
	}
	if !s.timed {
		s.timed = true
		s.expectHead()
	}
	return true, nil
}

// activate serves the request whose head is complete.
func (s *Session) activate() error {
	if !s.state(StateActive) {
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
	s.owing = false
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
	w.shared = nil
	switch {
	case x.Hijacked:
		s.phase, s.in = inClose, nil
		s.drop()
		return nil
	case x.Aborted:
		return s.abort()
	case w.held != nil:
		return s.hold()
	case w.write.over():
		return s.cut() // as a write would have found
	}
	return s.complete()
}

// served says that from here on nothing waits for the client, and the answer is whole:
// who closes the connection wants it to arrive. Until then, also when the handler has
// returned, closing ends the wait.
func (s *Session) served() {
	if s.cfg.Watched {
		s.serving.Store(false)
	}
}

// complete ends the exchange, and sees to content that the handler did not read.
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
		s.conn.SetTimeout(s.patience(&w.read))
		return s.skipRest()
	case len(w.rest) > 0:
		s.unread(w)
	}
	return s.idle()
}

// end sends what is left of the answer, and closes the connection if that is what
// follows.
func (s *Session) end() (closed bool, err error) {
	x := &s.w.x
	if s.finish(x) != nil {
		return true, s.abort()
	}
	s.served()
	s.release()
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
	s.mu.Lock()
	s.gone = nil
	s.mu.Unlock()
}

// drop lets go of the exchange.
func (s *Session) drop() {
	w := s.w
	if w == nil {
		return
	}
	s.w = nil
	s.freeChunk(w)
	if h := w.held; h != nil {
		w.held = nil
		h.lost() // from here on nobody else uses the exchange
	}
	works.Put(w)
}

// close makes the session deaf: what was read behind this request is never
// parsed. The client has StallTimeout to take what is left, or as much of it as
// keeps pace.
func (s *Session) close() error {
	err := transport.ErrClosed
	if len(s.in) > 0 || s.w != nil && !s.w.body.Done() {
		err = ErrRefused
	}
	s.phase, s.in = inClose, nil
	queued := 0
	if s.out != nil {
		queued = s.out.Len()
	}
	s.owe(queued)
	return err
}

// abort ends the connection within an answer. The client has what was sent, and
// sees by its framing that it is not all, where that can be seen.
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

// cut ends the connection so that the client cannot take what it got for the
// whole answer. It is the transport that closes: there is no good order to it.
func (s *Session) cut() error {
	if s.out != nil && s.w != nil && s.out.Len()+s.conn.Pending() > 0 {
		_ = s.flush(0) // what was before it, or as much of that as the client takes
	}
	s.phase, s.in = inClose, nil
	s.conn.Close(transport.Reset)
	return nil
}
