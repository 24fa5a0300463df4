package redline

import (
	"cmp"
	"crypto/tls"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/http1"
	"github.com/redline-go/redline/internal/http2"
	"github.com/redline-go/redline/internal/transport"
)

// The names of the protocols in ALPN (RFC 7301, RFC 9113).
const (
	protocolHTTP10 = "http/1.0"
	protocolHTTP1  = "http/1.1"
	protocolHTTP2  = "h2"
)

// errProtocols is the error for a server that speaks no protocol.
var errProtocols = errors.New("redline: Server.Protocols contains no protocol: call SetHTTP1(true) or SetHTTP2(true), or leave Protocols nil")

// protocols are those that the server speaks. As in net/http, the default is HTTP/1, and
// HTTP/2 over TLS.
func (s *Server) protocols() (p http.Protocols) {
	if s.Protocols != nil {
		return *s.Protocols
	}
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	return p
}

// nextProtos is the list of protocols to offer in ALPN, in the server's order of preference.
func (s *Server) nextProtos(given []string) []string {
	offered := s.protocols()
	list := slices.DeleteFunc(slices.Clone(given), func(name string) bool {
		return name == protocolHTTP1 && !offered.HTTP1() || name == protocolHTTP2 && !offered.HTTP2()
	})
	if offered.HTTP2() && !slices.Contains(list, protocolHTTP2) {
		list = append(list, protocolHTTP2)
	}
	if offered.HTTP1() && !slices.Contains(list, protocolHTTP1) {
		list = append(list, protocolHTTP1)
	}
	return list
}

// negotiated returns the constructor of the sessions of connections with TLS. ALPN has chosen the
// protocol from names that the user may have configured; it is empty if the client does not know
// ALPN. As in net/http, one that the server does not speak closes the connection.
func (s *Server) negotiated() func(transport.Conn, *tls.ConnectionState) transport.Session {
	cfg, p := s.sessions, s.protocols()
	return func(c transport.Conn, state *tls.ConnectionState) transport.Session {
		switch state.NegotiatedProtocol {
		case protocolHTTP2:
			if p.HTTP2() && adequate(state) {
				return http2.NewSession(c, cfg)
			} else if p.HTTP2() {
				return http2.NewInadequate(c, cfg)
			}
		case "", protocolHTTP10, protocolHTTP1:
			if p.HTTP1() {
				return http1.NewSession(c, cfg)
			}
		}
		return newMute(c)
	}
}

// inClear returns the constructor of the sessions of connections without TLS.
func (s *Server) inClear() func(transport.Conn) transport.Session {
	cfg, p := s.sessions, s.protocols()
	switch {
	case p.UnencryptedHTTP2() && p.HTTP1():
		return func(c transport.Conn) transport.Session { return newEither(c, cfg) }
	case p.UnencryptedHTTP2():
		return func(c transport.Conn) transport.Session { return http2.NewSession(c, cfg) }
	case p.HTTP1():
		return func(c transport.Conn) transport.Session { return http1.NewSession(c, cfg) }
	}
	return newMute
}

// A session is what the server asks of the sessions of its protocols.
type session interface {
	transport.Session
	// Quit asks the session to end: at once if it is idle, but if it has not had a request
	// yet, only if fresh is set.
	Quit(fresh bool, out *buf.Queue) error
}

// A mute is the session of a connection whose protocol the server does not speak: it is closed.
type mute struct{}

func newMute(c transport.Conn) transport.Session {
	c.Close(transport.Orderly)
	return mute{}
}

// Feed implements transport.Session.
func (mute) Feed(in []byte, _ *buf.Queue) (int, error) { return len(in), transport.ErrClosed }

// EOF implements transport.Session.
func (mute) EOF([]byte, *buf.Queue) error { return transport.ErrClosed }

// Expired implements transport.Session.
func (mute) Expired(*buf.Queue) error { return transport.ErrClosed }

// Quit implements session.
func (mute) Quit(bool, *buf.Queue) error { return transport.ErrClosed }

// Drained implements transport.Session.
func (mute) Drained() {}

// Lost implements transport.Session.
func (mute) Lost(error) {}

// Closed implements transport.Session.
func (mute) Closed(error) {}

// An either is the session of a connection whose first bytes choose the protocol: HTTP/2
// begins with a preface that is no request of HTTP/1 (RFC 9113, 3.3).
type either struct {
	conn   transport.Conn
	cfg    *exchange.Config
	by     int64                   // until when the first head has to be complete, on the clock's scale
	chosen atomic.Pointer[session] // nil until then; Lost and Left read it while Feed chooses
}

func newEither(c transport.Conn, cfg *exchange.Config) *either {
	d := max(cfg.HeadTimeout(), 0)
	c.SetTimeout(d)
	return &either{conn: c, cfg: cfg, by: clock.After(d)}
}

// session returns the chosen session, or nil.
func (e *either) session() session {
	if s := e.chosen.Load(); s != nil {
		return *s
	}
	return nil
}

// Feed implements transport.Session.
func (e *either) Feed(in []byte, out *buf.Queue) (int, error) {
	s := e.session()
	if s == nil {
		n := min(len(in), len(http2.Preface))
		switch {
		case string(in[:n]) != http2.Preface[:n]:
			s = http1.NewSession(e.conn, e.cfg)
		case n < len(http2.Preface):
			return 0, nil
		default:
			s = http2.NewSession(e.conn, e.cfg)
		}
		if left := time.Duration(e.by - clock.Nano()); e.cfg.HeadTimeout() > 0 {
			e.conn.SetTimeout(cmp.Or(left, -1)) // for the first head, which began before the session
		}
		chosen := s // of its own, so that s stays on the stack
		e.chosen.Store(&chosen)
	}
	return s.Feed(in, out)
}

// Left implements transport.Leaver.
func (e *either) Left(out *buf.Queue) (n int, ok bool) {
	if l, leaves := e.session().(transport.Leaver); leaves {
		return l.Left(out)
	}
	return 0, false
}

// Lend implements transport.Lender.
func (e *either) Lend(send func()) {
	if l, lends := e.session().(transport.Lender); lends {
		l.Lend(send)
	}
}

// Quit implements session.
func (e *either) Quit(fresh bool, out *buf.Queue) error {
	if s := e.session(); s != nil {
		return s.Quit(fresh, out)
	}
	if fresh {
		return transport.ErrClosed
	}
	return nil
}

// Turn implements transport.Turner.
func (e *either) Turn(out *buf.Queue) error {
	if t, ok := e.session().(transport.Turner); ok {
		return t.Turn(out)
	}
	return nil
}

// EOF implements transport.Session.
func (e *either) EOF(unread []byte, out *buf.Queue) error {
	if s := e.session(); s != nil {
		return s.EOF(unread, out)
	}
	return transport.ErrClosed
}

// Expired implements transport.Session.
func (e *either) Expired(out *buf.Queue) error {
	if s := e.session(); s != nil {
		return s.Expired(out)
	}
	return transport.ErrClosed
}

// Drained implements transport.Session.
func (e *either) Drained() {
	if s := e.session(); s != nil {
		s.Drained()
	}
}

// Lost implements transport.Session.
func (e *either) Lost(err error) {
	if s := e.session(); s != nil {
		s.Lost(err)
	}
}

// Closed implements transport.Session.
func (e *either) Closed(err error) {
	if s := e.session(); s != nil {
		s.Closed(err)
	}
}
