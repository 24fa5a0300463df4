package http1

import (
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
)

// Conn is what a session asks of its connection. A transport's connections are
// of this form; the meaning of each method is told there.
type Conn interface {
	Wake(f func(out *buf.Queue) error) bool
	Detach()
	Detached() bool
	Read(p []byte) (n int, err error)
	Unread(p []byte)
	Flush(out *buf.Queue, most int) error
	SetDeadline(t time.Time)
	Pause()
	Resume()
	Pending() int
	Hijack(unread []byte, out *buf.Queue) (net.Conn, error)
	Close(now bool)
	LocalAddr() net.Addr
	RemoteAddr() net.Addr
}

// Config is what the sessions of a server share.
type Config struct {
	Handler exchange.Handler
	Limits  exchange.Limits
	// Closed is the error with which a session asks its transport to close the
	// connection in good order.
	Closed error
	// Server is the value of the Server field; empty sends none.
	Server string
	// The deadlines; 0 means none. HeaderTimeout is for a head, from its first
	// byte or from accept; ReadTimeout for each wait for content; WriteTimeout
	// for each wait for the peer to take output; IdleTimeout between requests.
	HeaderTimeout, ReadTimeout, WriteTimeout, IdleTimeout time.Duration
	// HighWater is how many unsent bytes of an answer make its writer wait.
	HighWater int
	// Stopping reports that the server shuts down: answers close their
	// connections.
	Stopping func() bool
	// Refused is told of requests that were answered without the handler.
	Refused func(remote net.Addr, status int, reason string)
	// State, if not nil, is told of the connection's states.
	State func(remote net.Addr, s State)
	// Secure says that the connections are encrypted.
	Secure bool
}

// A State is what a connection is doing, for those who count.
type State int

// The states, in the order of net/http's.
const (
	StateNew State = iota
	StateActive
	StateIdle
	StateHijacked
	StateClosed
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
	conn  Conn
	cfg   *Config
	w     *work
	in    []byte     // what is being fed; nil outside of Feed
	off   int        // how much of in is consumed
	out   *buf.Queue // of the feed
	phase uint8

	yielded bool // the loop was given up on purpose in this feed

	mu   sync.Mutex // guards what follows: Lost comes from another goroutine
	lost bool
	gone func()
}

// A work is what one request needs. It returns to the pool when the connection
// is idle.
type work struct {
	x        exchange.Exchange
	parser   Parser
	body     Body
	rest     []byte // content read ahead from the connection, not yet decoded
	chunk    []byte // what rest is in
	asked    bool   // 100 (Continue) was sent, or is not wanted
	broken   error  // why the content cannot be read on
	skipped  int64  // bytes of unwanted content
	headFrom bool   // the deadline for the head runs
	held     *held
}

var works = sync.Pool{New: func() any { return new(work) }}

// NewSession returns the session of a connection that was just accepted.
func NewSession(c Conn, cfg *Config) *Session {
	s := &Session{conn: c, cfg: cfg}
	s.deadline(cfg.HeaderTimeout)
	s.state(StateNew)
	return s
}

func (s *Session) state(state State) {
	if s.cfg.State != nil {
		s.cfg.State(s.conn.RemoteAddr(), state)
	}
}

// Idle reports whether the connection is between requests.
func (s *Session) Idle() bool { return s.phase == inHead && s.w == nil }

func (s *Session) deadline(d time.Duration) {
	if d <= 0 {
		s.conn.SetDeadline(time.Time{})
		return
	}
	s.conn.SetDeadline(clock.Now().Add(d))
}

// Feed implements the transport's contract.
func (s *Session) Feed(in []byte, out *buf.Queue) (int, error) {
	s.in, s.off, s.out, s.yielded = in, 0, out, false
	err := s.advance()
	n := s.off
	s.in, s.out = nil, nil
	return n, err
}

// advance does what can be done with the bytes at hand.
func (s *Session) advance() error {
	for s.off < len(s.in) {
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
			s.off = len(s.in)
			return s.cfg.Closed
		}
		if err != nil {
			return err
		}
	}
	if s.phase == inHead && s.w != nil && !s.w.parser.Started() {
		s.rest()
	}
	return nil
}

// rest lets go of everything: the connection is idle.
func (s *Session) rest() {
	w := s.w
	s.w = nil
	works.Put(w)
	s.deadline(s.cfg.IdleTimeout)
	s.state(StateIdle)
}

// head parses on, and answers the request when its head is complete. more means
// that it is not.
func (s *Session) head() (more bool, err error) {
	if s.w == nil {
		s.w = works.Get().(*work)
		s.w.parser.Init(s.cfg.Limits)
		s.w.headFrom = false
	}
	w := s.w
	n, code := w.parser.Parse(&w.x.Request, s.in[s.off:])
	switch {
	case code == Complete:
		s.off += n
		w.headFrom = false
		s.state(StateActive)
		return false, s.serve()
	case code.Refused():
		return false, s.refuse(code)
	}
	if !w.headFrom {
		w.headFrom = true
		s.deadline(s.cfg.HeaderTimeout)
	}
	return true, nil
}

// serve runs the handler and completes its answer.
func (s *Session) serve() error {
	w := s.w
	x := &w.x
	x.Host = s
	x.ResetResponse()
	w.asked, w.broken, w.skipped, w.rest = false, nil, 0, nil
	w.body.Init(&x.Request, w.parser.Limits())
	if x.HasBody() {
		if code := s.admit(); code.Refused() {
			return s.refuse(code)
		}
		s.deadline(s.cfg.ReadTimeout)
	}
	s.cfg.Handler.ServeExchange(x)
	switch {
	case x.Aborted:
		s.conn.Close(true)
		return s.close()
	case x.Hijacked:
		s.state(StateHijacked)
		s.phase, s.off = inClose, len(s.in)
		s.w = nil
		return nil
	case w.held != nil:
		s.phase = inHeld
		s.conn.Pause()
		w.held.opened()
		return nil
	}
	return s.complete()
}

// admit refuses content that is too long before anybody reads it.
func (s *Session) admit() Code {
	x := &s.w.x
	if x.ContentLength > s.w.parser.Limits().MaxBodyBytes {
		return ErrBodyLarge
	}
	return Complete
}

// complete ends the exchange: sends what is left of the answer and sees to
// content that the handler did not read.
func (s *Session) complete() error {
	w := s.w
	x := &w.x
	leftover := !w.body.Done()
	if leftover && (x.ExpectContinue && !w.asked || w.broken != nil) {
		// The client may or may not send the content now (RFC 9110, 10.1.1).
		x.Response.Close = true
	}
	if err := s.finish(x); err != nil {
		return err
	}
	s.release()
	if x.Request.Close || x.Response.Close {
		return s.close()
	}
	if s.out.Len() > s.cfg.HighWater {
		if err := s.conn.Flush(s.out, s.cfg.HighWater); err != nil {
			return err
		}
	}
	if leftover {
		s.phase = inSkip
		s.deadline(s.cfg.ReadTimeout)
		return s.skipRest()
	}
	if len(w.rest) > 0 {
		s.unread(w)
	}
	return nil
}

// release takes back what a handler may have left with the session.
func (s *Session) release() {
	s.mu.Lock()
	s.gone = nil
	s.mu.Unlock()
}

// unread gives bytes that belong to the next request back to the transport.
func (s *Session) unread(w *work) {
	s.conn.Unread(w.rest)
	s.freeChunk(w)
}

func (s *Session) freeChunk(w *work) {
	if w.chunk != nil {
		buf.Put(w.chunk)
		w.chunk = nil
	}
	w.rest = nil
}

// close makes the session deaf: what was read behind this request is never
// parsed.
func (s *Session) close() error {
	s.phase, s.off = inClose, len(s.in)
	if s.w != nil {
		s.freeChunk(s.w)
	}
	return s.cfg.Closed
}

// refuse answers a request that never reaches the handler, and closes.
func (s *Session) refuse(code Code) error {
	s.answerError(s.out, code.Status(), code.String())
	if s.cfg.Refused != nil {
		s.cfg.Refused(s.conn.RemoteAddr(), code.Status(), code.String())
	}
	return s.close()
}

// EOF implements the transport's contract: the peer has sent its last byte.
func (s *Session) EOF(unread []byte, out *buf.Queue) error {
	s.lose()
	if s.phase == inHead && len(unread) > 0 {
		s.answerError(out, 400, "connection ended within a request")
	}
	if s.phase == inHeld {
		return nil // the answer may still be read: the client closed one half
	}
	return s.close()
}

// Expired implements the transport's contract: the deadline has passed.
func (s *Session) Expired(out *buf.Queue) error {
	switch {
	case s.phase == inHead && s.w != nil && s.w.parser.Started():
		s.answerError(out, 408, "request head not complete in time")
	case s.phase == inHeld:
		s.lose()
	}
	return s.close()
}

// Lost implements the transport's contract: the peer has gone.
func (s *Session) Lost(error) { s.lose() }

// lose tells the exchange in progress that its client has gone.
func (s *Session) lose() {
	s.mu.Lock()
	f := s.gone
	s.gone, s.lost = nil, true
	s.mu.Unlock()
	if f != nil {
		f()
	}
}

// Closed implements the transport's contract: the connection is no more.
func (s *Session) Closed(error) {
	s.lose()
	s.phase = inClose
	s.state(StateClosed)
	if w := s.w; w != nil {
		if w.held != nil {
			w.held.lost()
		}
		s.freeChunk(w)
		s.w = nil // not to the pool: a held exchange may still be in use
	}
}

// ErrTruncated ends a connection whose answer is shorter than announced: there
// is no other way to tell the client.
var ErrTruncated = errors.New("redline: answer shorter than its announced length")
