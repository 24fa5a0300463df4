package tlsio

import (
	"crypto/tls"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

const (
	// most plaintext of one record (RFC 8446, 5.1)
	maxPlain = 16 << 10
	// minPlain is the least room for plaintext.
	minPlain = 512
	// rounds is how often the inner session is fed in one Feed, if it has read ahead.
	rounds = 4
	// closeTime is the time for the remaining output of a connection to be closed if its
	// session has set none: that of the transports.
	closeTime = 30 * time.Second
)

// A Session is the TLS side of one connection. It implements [transport.Session].
type Session struct {
	conn   transport.Conn
	cfg    *Config
	tls    *tls.Conn         // nil before the handshake has succeeded
	inner  transport.Session // the same
	leaver transport.Leaver  // inner, if it is one
	hs     *handshake        // nil before it has begun, and when it has succeeded
	w      *work             // nil outside of calls
	state  *tls.ConnectionState

	rest    []byte // plaintext that the inner session has not consumed
	fed     []byte // plaintext that is being fed
	unread  []byte // passed to Unread
	backlog *buf.Queue
	closing error // the inner session has returned it
	failed  error // of crypto/tls: nothing more can be received or sent
	wire    wire

	settled  bool // the handshake has succeeded, or was reported
	token    bool // one byte of ciphertext that was processed is with the transport
	more     bool // crypto/tls may have plaintext
	ended    bool // the client has sent close_notify
	toldEOF  bool
	paused   bool // by the inner session
	held     bool // by us: too much output is not encrypted
	timed    bool // a timeout is set
	pumping  bool // a pump is pending
	released bool // all input is consumed, and its memory returned
	hijacked bool

	size    int           // length of the input of the current Feed
	over    atomic.Uint32 // number of Feeds that have left
	leaving sync.Mutex    // held while a Feed may be leaving

	mu   sync.Mutex // guards inner and hs against Lost
	lost error      // what Lost was told
}

// A work is the memory for one call.
type work struct {
	out buf.Queue // output of the inner session
}

var works = sync.Pool{New: func() any { return new(work) }}

// tokenByte is the token of sessions that have released their input.
var tokenByte = []byte{0}

// NewSession returns the session of a newly accepted connection.
func NewSession(c transport.Conn, cfg *Config) *Session {
	s := &Session{conn: c, cfg: cfg}
	s.wire.s = s
	if cfg.Timeout > 0 {
		c.SetTimeout(cfg.Timeout)
	}
	return s
}

// begin is called at the beginning of every call that may leave records in out.
func (s *Session) begin(out *buf.Queue) {
	s.wire.out = out
	s.w = works.Get().(*work)
}

// end is called at its end.
func (s *Session) end() {
	w := s.w
	s.wire.out, s.w = nil, nil
	w.out.Reset()
	w.out.Trim()
	works.Put(w)
}

// Feed implements the transport's contract.
func (s *Session) Feed(in []byte, out *buf.Queue) (int, error) {
	if s.inner == nil {
		return s.receive(in, out)
	}
	if s.closing != nil || s.behind() > 0 && s.behind()+s.conn.Pending() > s.cfg.waiting() {
		s.hold()
		return 0, nil
	}
	s.size = len(in)
	if s.token {
		s.token = false
		in = in[1:]
	}
	s.begin(out)
	s.wire.give(in)
	s.released = false
	err := s.advance()
	if err == errLeft {
		return 0, nil
	}
	if err = s.result(err); s.hijacked {
		return s.size, nil
	}
	s.end()
	return s.leaveToken(), err
}

// leaveToken leaves the token with the transport if the inner session is to be fed again. It
// returns how much of the ciphertext counts as consumed.
func (s *Session) leaveToken() int {
	if !s.unfinished() {
		return s.size
	}
	if s.token = true; s.released {
		s.conn.Unread(tokenByte)
		return s.size
	}
	return s.size - 1
}

// unfinished reports whether the inner session is to be fed again without new ciphertext.
func (s *Session) unfinished() bool {
	return len(s.rest) > 0 || s.more || len(s.wire.in) > 0 || s.ended && !s.toldEOF
}

// give passes input to the wire, for the time of a Feed.
func (w *wire) give(in []byte) {
	if len(w.in) == 0 {
		w.in = in
		return
	}
	k := copy(w.own[:cap(w.own)], w.in)
	w.own = append(buf.Grow(w.own[:k], len(in)), in...)
	w.in = w.own
}

// advance decrypts what has arrived, and feeds it.
func (s *Session) advance() error {
	for range rounds {
		s.decrypt()
		if s.failed != nil {
			return s.failed
		}
		if len(s.rest) > 0 {
			again, err := s.feed()
			if err != nil || s.hijacked {
				return err
			}
			if s.paused {
				return nil
			}
			if again && !s.crowded() {
				continue
			}
		}
		if s.ended && !s.toldEOF {
			return s.tellEOF()
		}
		return nil
	}
	return nil
}

// decrypt appends the plaintext of all complete records to rest.
func (s *Session) decrypt() {
	for len(s.wire.in) > 0 || s.more {
		room := max(minPlain, min(len(s.wire.in), maxPlain))
		s.rest = buf.Grow(s.rest, room)
		n, err := s.read(s.rest[len(s.rest):cap(s.rest)])
		s.rest = s.rest[:len(s.rest)+n]
		if err != nil {
			break
		}
	}
	if len(s.rest) == 0 {
		buf.Put(s.rest)
		s.rest = nil
	}
}

// read reads plaintext, and returns errDry if there is none.
func (s *Session) read(p []byte) (int, error) {
	n, err := s.tls.Read(p)
	s.more = n == len(p) && err == nil
	switch {
	case err == nil || err == errDry:
	case errors.Is(err, io.EOF):
		s.ended = true
		s.wire.free() // nothing follows close_notify
	default:
		s.failed = err
		s.wire.free()
	}
	return n, err
}

// feed runs the inner session's Feed. It reports whether to feed again at once: there may be
// more plaintext.
func (s *Session) feed() (again bool, err error) {
	s.fed, s.rest = s.rest, nil
	call := s.over.Load()
	n, err := s.inner.Feed(s.fed, &s.w.out)
	if s.hasLeft(call) {
		return false, errLeft
	}
	if s.hijacked {
		return false, err
	}
	again = len(s.unread) > 0 || s.more || len(s.wire.in) > 0
	s.keep(n)
	if s.failed != nil && err == nil {
		err = s.failed
	}
	return again, err
}

// keep stores what the inner session has not consumed after n bytes, and what it has given
// back.
func (s *Session) keep(n int) {
	if fed := s.fed; fed != nil {
		if s.fed = nil; n == len(fed) {
			buf.Put(fed)
		} else {
			s.rest = fed[:copy(fed, fed[n:])]
		}
	}
	if len(s.unread) > 0 {
		s.rest = append(buf.Grow(s.rest, len(s.unread)), s.unread...)
		s.unread = nil
	}
}

// crowded sends the output so far, and reports whether the inner session may not be fed now
// because too much waits.
func (s *Session) crowded() bool {
	s.encrypt(&s.w.out)
	return s.behind()+s.conn.Pending()+s.wire.out.Len() > s.cfg.waiting()
}

// tellEOF tells the inner session that the client has sent its last byte.
func (s *Session) tellEOF() error {
	s.toldEOF = true
	rest := s.rest
	s.rest = nil
	err := s.inner.EOF(rest, &s.w.out)
	buf.Put(rest)
	return err
}
