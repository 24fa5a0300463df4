package http2

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/http2/hpack"
	"github.com/redline-go/redline/internal/transport"
)

// DefaultMaxStreams is the limit of concurrent streams if Config.MaxStreams is 0.
const DefaultMaxStreams = 250

// A Session is the server's side of one HTTP/2 connection.
type Session struct {
	conn     transport.Conn
	cfg      *exchange.Config
	counters *exchange.StreamCounters

	mu sync.Mutex // guards everything below

	out      *buf.Queue // of the session's method that is running; nil outside of them
	in       int        // bytes of the current feed that were consumed
	inline   *stream    // its handler runs within the current feed
	late     buf.Queue  // frames for which there was no out
	waking   bool       // Turn is about to be called
	unsent   int        // bytes that the connection had not sent when last seen
	deferred []*stream  // heads whose content may be in the rest of the current feed

	greeted bool // the preface has come
	settled bool // the client's first SETTINGS have come
	closed  bool // nothing more is read or sent
	gone    bool // the connection no longer exists
	going   bool // GOAWAY with the last stream, final, was sent
	warned  bool // GOAWAY that announces it was sent
	used    bool // a stream was opened

	inadequate bool // TLS is not fit for HTTP/2

	lastID  uint32             // greatest identifier of a client's stream
	final   uint32             // the last one that is processed, once going is set
	streams map[uint32]*stream // open, and not just inline
	open    int                // exchanges in progress, including those that the client has reset
	ready   [urgencies]list    // streams with output, by urgency
	waiting int                // streams in ready

	endings endings // the streams that we have ended last, before their client has

	decoder hpack.Decoder
	encoder hpack.Encoder
	fields  []hpack.Field
	block   block // a header block that has not ended yet

	peer     settings
	send     int64 // the client's window for the connection
	room     int64 // what is left of our window for the connection
	window   int64 // its size
	promised bool  // what it exceeds connWindow by is counted
	heads    int64 // bytes of the share that heads take
	owed     int64 // consumed, and not yet returned to the client's window
	grown    int64 // by how much the windows of streams have grown
	usual    int64 // what the last of them has grown to
	credit   abuse

	hooks   []func() // that are due
	hooking bool     // a goroutine runs them
	crowds  int      // handlers that wait for room in the output

	serving atomic.Bool // an exchange is in progress
	counted uint64      // streams that Config.Streams does not contain yet
	slot    atomic.Value
	times   times
	stall   stall
	due     alarm // for the write deadlines of streams

	written   int       // bytes of output so far
	paces     int       // paceBytes of content that were sent so far
	paced     int       // bytes beyond them
	idleSince int64     // when the last exchange ended, on the clock's scale
	work      int       // frames, streams and lines of heads that the client's input has made the session look at
	helds     int       // streams that are held, and pushed ones that wait for room
	turns     []*pushed // that are to take a turn
}

// settings are those of the client.
type settings struct {
	window   int64 // initial window of streams
	maxFrame int
}

// NewSession returns the session of a new connection, which speaks HTTP/2 from its first
// byte (RFC 9113, 3.3 and 3.4).
func NewSession(c transport.Conn, cfg *exchange.Config) *Session {
	s := &Session{conn: c, cfg: cfg, send: defaultWindow, room: connWindow, window: connWindow}
	if s.counters = cfg.Streams; s.counters == nil {
		s.counters = new(exchange.StreamCounters)
	}
	s.counters.Open.Add(1)
	s.peer = settings{window: defaultWindow, maxFrame: defaultMaxFrame}
	s.decoder.Init(defaultPeerTable)
	s.encoder.Init()
	s.conn.SetTimeout(max(cfg.HeadTimeout(), 0))
	if cfg.State != nil && !cfg.State(s, exchange.StateNew) {
		s.closed = true
		s.conn.Close(transport.Orderly)
	}
	return s
}

// NewInadequate returns a session that tells its client that the connection's TLS is not fit for
// HTTP/2, and ends (RFC 9113, 9.2).
func NewInadequate(c transport.Conn, cfg *exchange.Config) *Session {
	s := NewSession(c, cfg)
	s.inadequate = true
	return s
}

// Feed implements the transport's contract.
func (s *Session) Feed(in []byte, out *buf.Queue) (int, error) {
	s.mu.Lock()
	defer s.unlock()
	if s.closed {
		return len(in), transport.ErrClosed
	}
	s.enter(out)
	s.in = 0
	s.times.fed()
	err := s.receive(in)
	if err == nil {
		err = s.serveDeferred()
	}
	if err == errLeft {
		return 0, nil // the session is no longer this goroutine's
	}
	err = s.leave(err)
	return s.in, err
}

// errLeft means that the current feed was left while a handler ran: the session belongs to
// other goroutines.
var errLeft = errors.New("http2: feed was left")

// enter begins a method of the session, which may send to out. s.mu is held.
func (s *Session) enter(out *buf.Queue) {
	s.out = out
	out.Take(&s.late)
	s.unsent = s.conn.Pending()
	s.tellCrowds()
}

// leave ends it. s.mu is held.
func (s *Session) leave(err error) error {
	if err == nil {
		s.pump()
		err = s.rest()
	}
	if e, ok := err.(connError); ok {
		err = s.fail(e)
	}
	if s.counted > 0 {
		s.counters.Streams.Add(s.counted)
		s.counted = 0
	}
	pending, n := s.conn.Pending(), s.out.Len()
	s.unsent, s.out = pending+n, nil
	if len(s.turns) > 0 || s.helds+s.crowds > 0 && pending == 0 && n > 0 {
		s.wake() // all of it may be accepted at once, and then nobody tells us
	}
	return err
}

// rest sets the deadline for what the connection waits for, or ends it.
func (s *Session) rest() error {
	switch {
	case s.closed:
		return transport.ErrClosed
	case s.open == 0 && s.going:
		s.closed = true
		return transport.ErrClosed
	case s.open == 0 && s.cfg.Stopping != nil && s.cfg.Stopping() && s.used:
		s.goAway(s.lastID, NoError)
		s.closed = true
		return transport.ErrClosed
	}
	s.retime()
	return nil
}

// A connError ends the connection with a code.
type connError struct {
	code Code
	why  string
}

func (e connError) Error() string { return "HTTP/2: " + e.code.String() + ": " + e.why }

// fail sends GOAWAY, and ends all streams.
func (s *Session) fail(e connError) error {
	s.counters.Failed.Add(1)
	if e.code == EnhanceYourCalm {
		s.counters.Abusive.Add(1)
	}
	s.goAway(s.lastID, e.code)
	s.closed = true
	s.loseAll()
	s.refused(400, e.Error())
	s.conn.SetTimeout(max(s.cfg.StallTimeout, 0))
	return e
}

// goAway tells the client that streams beyond last are not processed.
func (s *Session) goAway(last uint32, code Code) {
	if s.going && code == NoError {
		return
	}
	if s.going {
		last = s.final // it must not increase
	} else if last == s.lastID {
		s.going, s.final = true, last
	}
	s.write(appendGoAway(s.tail(frameHeader+minGoAwayLength), last, code))
}

// Quit begins a graceful end (RFC 9113, 6.8): first the client is told to open no more
// streams, then, when a second call comes or all streams have ended, which were the last. A
// connection without a stream ends at once: GOAWAY lets its client repeat elsewhere what it has
// just sent. Before the client's SETTINGS, nothing happens unless fresh is set.
func (s *Session) Quit(fresh bool, out *buf.Queue) error {
	s.mu.Lock()
	defer s.unlock()
	switch {
	case s.closed:
		return transport.ErrClosed
	case !fresh && !s.settled:
		return nil
	}
	s.enter(out)
	switch {
	case !s.warned && s.open > 0:
		s.warned = true
		s.goAway(maxWindow, NoError)
	default:
		s.goAway(s.lastID, NoError)
	}
	return s.leave(nil)
}

// tail returns memory to append frames to, which write then sends.
func (s *Session) tail(n int) []byte {
	if s.out != nil {
		return s.out.Tail(n)
	}
	return s.late.Tail(n)
}

// write sends what was appended to a tail. s.mu is held, so the order of frames is that of
// the calls.
func (s *Session) write(b []byte) {
	s.written += len(b)
	if s.out != nil {
		s.out.Commit(b)
		return
	}
	if s.closed {
		return
	}
	s.late.Commit(b)
	s.wake()
}

// wake makes the loop send what other goroutines have left.
func (s *Session) wake() {
	if s.out == nil && !s.closed {
		s.request()
	}
}

// request makes the loop call Turn, once.
func (s *Session) request() {
	if !s.waking {
		s.waking = s.conn.(transport.Looped).Turn()
	}
}

// Turn implements transport.Turner. It is how other goroutines wake the session.
func (s *Session) Turn(out *buf.Queue) error {
	s.mu.Lock()
	defer s.unlock()
	s.waking = false
	if s.closed {
		s.late.Release()
		return nil
	}
	s.enter(out)
	if s.helds > 0 {
		s.tellHelds()
	}
	s.takeTurns()
	return s.leave(nil)
}

// Slot implements exchange.Conn.
func (s *Session) Slot() *atomic.Value { return &s.slot }

// CloseConn implements exchange.Conn. It takes no lock, because hooks may call it.
func (s *Session) CloseConn() {
	how := transport.Orderly
	if s.serving.Load() {
		how = transport.Abrupt
	}
	s.conn.Close(how)
}

// RemoteAddr implements exchange.Conn.
func (s *Session) RemoteAddr() net.Addr { return s.conn.RemoteAddr() }

// LocalAddr implements exchange.Conn.
func (s *Session) LocalAddr() net.Addr { return s.conn.LocalAddr() }

// TLS implements exchange.Conn.
func (s *Session) TLS() *exchange.TLSState {
	s.mu.Lock()
	defer s.unlock()
	return exchange.TLSOf(s.conn)
}
