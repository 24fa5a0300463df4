package http1

import (
	"sync"

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
	owing   bool // idle, but for output that the client has not taken
	parsed  bool // the last request had no content, and its head lies in in

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
	stuck   bool // the client does not take the answer
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
	s.in, s.out, s.yielded, s.parsed, s.released = in, out, false, false, false
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

// rest lets go of everything: the connection is idle, or has output to take that
// waits for the client since before this feed.
func (s *Session) rest() error {
	w := s.w
	s.w = nil
	works.Put(w)
	if s.owing = s.conn.Pending() > 0; s.owing {
		s.deadline(s.cfg.StallTimeout)
	} else {
		s.deadline(s.cfg.IdleTimeout)
	}
	if !s.state(StateIdle) {
		return s.close()
	}
	return nil
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
		s.parsed = false
	}
	w := s.w
	if s.repeated() {
		return false, s.activate()
	}
	n, code := w.parser.Parse(&w.x.Request, s.in)
	switch {
	case code == Complete:
		s.in = s.in[n:]
		s.parsed = !w.x.HasBody()
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

// repeated takes a head that is byte for byte the one before it in the same feed,
// as pipelining clients send them. Equal bytes make an equal request, whose spans
// count from the begin of its head: the record only moves on to the new bytes.
func (s *Session) repeated() bool {
	if !s.parsed {
		return false
	}
	r := &s.w.x.Request
	n := len(r.Head)
	if len(s.in) < n || string(s.in[:n]) != string(r.Head) {
		return false
	}
	r.Head, s.in = s.in[:n:n], s.in[n:]
	return true
}

// serve runs the handler and completes its answer.
func (s *Session) serve() error {
	w := s.w
	x := &w.x
	x.Session = s
	x.ResetResponse()
	w.asked, w.broken, w.skipped, w.rest, w.shared, w.stuck = false, nil, 0, nil, nil, false
	s.limit(w)
	if x.HasBody() {
		w.body.Init(&x.Request, w.parser.Limits())
	} else {
		w.body.state = bodyDone
	}
	s.cfg.Handler.ServeExchange(x)
	w.shared = nil
	switch {
	case x.Hijacked:
		s.state(StateHijacked)
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

// complete ends the exchange, and sees to content that the handler did not read.
func (s *Session) complete() error {
	w := s.w
	leftover := !w.body.Done()
	if leftover {
		if status, reason := s.blame(); status != 0 {
			return s.refuse(s.out, status, reason)
		}
		w.x.Response.Close = w.x.Response.Close || !s.skippable()
	}
	if closed, err := s.end(); closed {
		return err
	}
	if s.out.Len() > s.cfg.HighWater {
		if err := s.flush(s.cfg.HighWater); err != nil {
			return s.cut()
		}
	}
	if leftover {
		s.phase = inSkip
		s.conn.SetTimeout(s.patience(&w.read))
		return s.skipRest()
	}
	if len(w.rest) > 0 {
		s.unread(w)
	}
	return nil
}

// end sends what is left of the answer, and closes the connection if that is what
// follows.
func (s *Session) end() (closed bool, err error) {
	x := &s.w.x
	if s.finish(x) != nil {
		return true, s.abort()
	}
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
// parsed. The client has StallTimeout to take what is left.
func (s *Session) close() error {
	err := transport.ErrClosed
	if len(s.in) > 0 || s.w != nil && !s.w.body.Done() {
		err = ErrRefused
	}
	s.phase, s.in = inClose, nil
	s.deadline(s.cfg.StallTimeout)
	return err
}

// abort ends the connection within an answer. The client has what was sent, and
// sees by its framing that it is not all, where that can be seen.
func (s *Session) abort() error {
	r := &s.w.x.Response
	unframed := r.HeadSent && !r.Bodiless && !r.TakesTrailers && r.Length == exchange.UnknownLength
	if unframed || s.w.stuck {
		return s.cut()
	}
	return s.close()
}

// cut ends the connection so that the client cannot take what it got for the
// whole answer. It is the transport that closes: there is no good order to it.
func (s *Session) cut() error {
	if s.out != nil && s.out.Len()+s.conn.Pending() > 0 {
		_ = s.flush(0) // what was before it, or as much of that as the client takes
	}
	s.phase, s.in = inClose, nil
	s.conn.Close(transport.Reset)
	return nil
}
