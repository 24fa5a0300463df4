package tlsio

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// A handshake is a handshake in progress.
//
//	loop                                  goroutine
//	first record is complete: begin ────▶ reads it, computes, writes
//	paused                                no more input: Wake ─┐
//	sends, reads on       ◀───────────────────────────────────┘ waits, and does not count
//	received: paused again ─────────────▶ waits for its turn, continues
//	established, or failed ◀───────────── Wake, and ends
//
// Until the first record is complete there is no goroutine.
type handshake struct {
	s      *Session
	ctx    context.Context // of functions in tls.Config
	cancel context.CancelFunc
	signal chan struct{} // input has arrived, or err is set
	turn   chan struct{} // Handshakes lets it continue
	since  time.Time     // Handshakes has let it run; guarded by Handshakes

	mu  sync.Mutex
	in  []byte    // received and not read
	own []byte    // the memory of in
	out buf.Queue // to be sent
	err error     // it is to end
}

// errNotTLS says what crypto/tls says.
const errNotTLS = "first record does not look like a TLS handshake"

const (
	typeAlert     = 21
	typeHandshake = 22
	typeSSLv2     = 0x80           // crypto/tls answers it
	maxCiphertext = 16<<10 + 2<<10 // in a record of TLS 1.2 (RFC 5246, 6.2.3)
	plainAnswer   = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
)

// errPlainHTTP is the reason for answering a plain request with plainAnswer.
var errPlainHTTP = errors.New("client sent an HTTP request to an HTTPS server")

// errRefused is the reason for closing a connection without a handshake.
var errRefused = errors.New("too many handshakes wait to begin")

// begins reports whether in holds the first record, or what cannot become one.
func begins(in []byte) bool {
	if len(in) < recordHeader {
		return false
	}
	n := int(in[3])<<8 | int(in[4])
	return len(in) >= recordHeader+n || n > maxCiphertext || in[0] == typeSSLv2 || in[1] >= 0x10
}

// looksLikeHTTP reports whether a record header is the beginning of an HTTP request. The
// methods are those of net/http.
func looksLikeHTTP(header []byte) bool {
	switch string(header) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO":
		return true
	}
	return false
}

// receive handles input before the end of the handshake. It consumes nothing before the
// first record is complete, and later everything but the token.
func (s *Session) receive(in []byte, out *buf.Queue) (int, error) {
	h, fed := s.hs, len(in)
	if s.settled {
		return fed, transport.ErrClosed
	}
	if s.token {
		in = in[1:]
	}
	if len(in) == 0 {
		return 0, nil // the token, fed again
	}
	if h == nil {
		if len(in) >= recordHeader {
			switch in[0] {
			case typeHandshake, typeAlert, typeSSLv2:
			default:
				return fed, s.notTLS(in[:recordHeader], out)
			}
		}
		if !begins(in) {
			return 0, nil
		}
		h = newHandshake(s)
	}
	h.put(in)
	s.conn.Pause(true) // until it wants more
	if s.hs == nil {
		s.mu.Lock()
		s.hs = h
		s.wire.hs = h
		s.mu.Unlock()
		if !s.cfg.Handshakes.begin(h) {
			h.abort(errRefused)
			s.report(Refused, errRefused)
			s.conn.Close(transport.Abrupt)
			return fed, nil
		}
	}
	s.token = true
	return fed - 1, nil
}

// notTLS answers a client that does not speak TLS.
func (s *Session) notTLS(header []byte, out *buf.Queue) error {
	if looksLikeHTTP(header) {
		out.WriteString(plainAnswer)
		s.report(PlainHTTP, errPlainHTTP)
		return errPlainHTTP
	}
	err := tls.RecordHeaderError{Msg: errNotTLS}
	copy(err.RecordHeader[:], header)
	s.report(Other, err)
	return err
}

func newHandshake(s *Session) *handshake {
	h := &handshake{s: s, signal: make(chan struct{}, 1), turn: make(chan struct{}, 1)}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// put stores input for the goroutine.
func (h *handshake) put(p []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.in) == 0 {
		h.own = append(buf.Grow(h.own[:0], len(p)), p...)
	} else {
		k := copy(h.own[:cap(h.own)], h.in)
		h.own = append(buf.Grow(h.own[:k], len(p)), p...)
	}
	h.in = h.own
	h.tell()
}

// tell makes the goroutine check for changes.
func (h *handshake) tell() {
	select {
	case h.signal <- struct{}{}:
	default:
	}
}

// abort makes the goroutine end with an error.
func (h *handshake) abort(err error) {
	h.mu.Lock()
	if h.err == nil {
		h.err = err
	}
	h.tell()
	h.mu.Unlock()
	h.cancel()
}

func (h *handshake) aborted() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err != nil
}

// run is the goroutine. Handshakes counts it as running.
func (h *handshake) run() {
	var conn *tls.Conn
	err := errors.New("goroutine ended within a function of the tls.Config")
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			if f := h.s.cfg.Panicked; f != nil {
				f(h.s.conn.RemoteAddr(), p, debug.Stack())
			}
		}
		h.s.cfg.Handshakes.done(h)
		h.cancel()
		h.s.conn.Wake(func(out *buf.Queue) error { return h.s.shaken(h, conn, err, out) })
	}()
	conn = tls.Server(&h.s.wire, h.s.cfg.TLS)
	if err = conn.HandshakeContext(h.ctx); err != nil && h.aborted() {
		err = h.err // which crypto/tls may replace with that of the context
	}
}

// read implements the wire's Read for the goroutine: it waits.
func (h *handshake) read(p []byte) (int, error) {
	for {
		h.mu.Lock()
		if err := h.err; err != nil {
			h.mu.Unlock()
			return 0, err
		}
		if len(h.in) > 0 {
			n := h.s.wire.next(p, h.in)
			h.in = h.in[n:]
			h.mu.Unlock()
			return n, nil
		}
		select {
		case <-h.signal: // for input that has been read
		default:
		}
		h.mu.Unlock()
		h.s.cfg.Handshakes.done(h)
		h.s.conn.Wake(h.proceed) // if it reports false, abort was called, or will be
		<-h.signal
		h.s.cfg.Handshakes.again(h)
	}
}

// proceed runs on the loop when the goroutine wants more input.
func (h *handshake) proceed(out *buf.Queue) error {
	h.send(out)
	if !h.aborted() {
		h.s.conn.Pause(false)
	}
	return nil
}

// send passes output to the transport.
func (h *handshake) send(out *buf.Queue) {
	h.mu.Lock()
	defer h.mu.Unlock()
	out.Take(&h.out)
	h.out.Release()
}

// write implements the wire's Write for the goroutine.
func (h *handshake) write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.out.Write(p)
}

// free releases the memory of a handshake that has ended, or whose connection has.
func (h *handshake) free() {
	h.mu.Lock()
	defer h.mu.Unlock()
	buf.Put(h.own)
	h.in, h.own = nil, nil
	h.out.Release()
}

// shaken runs on the loop when the goroutine has ended.
func (s *Session) shaken(h *handshake, conn *tls.Conn, err error, out *buf.Queue) error {
	if s.settled {
		return nil // the connection has ended for another reason
	}
	h.send(out)
	if err != nil {
		h.free()
		return s.failedShake(h, err)
	}
	s.settled = true
	st := conn.ConnectionState()
	if st.DidResume {
		s.cfg.Handshakes.resumed.Add(1)
	} else {
		s.cfg.Handshakes.full.Add(1)
	}
	s.tls = conn
	s.wire.hs = nil
	s.wire.in, s.wire.own = h.in, h.own
	if h.in, h.own = nil, nil; len(s.wire.in) == 0 {
		s.wire.free()
	}
	s.begin(out)
	inner := s.cfg.NewSession((*Conn)(s), &st)
	s.mu.Lock()
	s.inner, s.hs = inner, nil
	s.leaver, _ = inner.(transport.Leaver)
	lost := s.lost
	s.mu.Unlock()
	if lost != nil {
		inner.Lost(lost)
	}
	s.end()
	s.conn.Pause(s.paused)
	return nil
}

// failedShake closes the connection of a handshake that has failed. The client gets the
// alert.
func (s *Session) failedShake(h *handshake, err error) error {
	cause := Gone
	if !h.aborted() {
		cause = causeOf(err)
	}
	s.report(cause, err)
	return err
}

// causeOf classifies an error of crypto/tls.
func causeOf(err error) Cause {
	var remote *net.OpError
	if errors.As(err, &remote) && remote.Op == "remote error" {
		return Alert
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return Gone
	}
	var local tls.AlertError
	if errors.As(err, &local) && local == alertVersion || isVersion(err) {
		return Version
	}
	return Other
}

// alertVersion is protocol_version (RFC 8446, 6).
const alertVersion = 70

// isVersion reports whether the versions of client and server do not overlap. crypto/tls
// has no error value for that.
func isVersion(err error) bool {
	const text = "tls: client offered only unsupported versions"
	return len(err.Error()) >= len(text) && err.Error()[:len(text)] == text
}

// report counts and logs a handshake that has failed. The connection has settled.
func (s *Session) report(cause Cause, err error) {
	s.settled = true
	s.cfg.Handshakes.failed[cause].Add(1)
	if s.cfg.Failed != nil {
		s.cfg.Failed(s.conn.RemoteAddr(), cause, err)
	}
}
