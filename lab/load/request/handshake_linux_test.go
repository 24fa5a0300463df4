package request

import (
	"crypto/tls"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/load/tlsclient"
)

// Failed handshakes are of one kind, and have a clear message.
func TestHandshakesThatFail(t *testing.T) {
	good := serveSecure(t, true, false, nil)
	reader := func(do func(c *net.TCPConn)) string {
		return serve(t, func(_ *scripted, c *net.TCPConn) {
			_, _ = c.Read(make([]byte, 1<<16)) // the client's first message
			do(c)
		}).addr
	}
	for _, tc := range []struct {
		name, addr, want string
		change           func(*spec.Spec)
	}{
		{"unknown authority", good.addr, "certificate is not trusted: x509: certificate signed by unknown authority", func(s *spec.Spec) { s.TLS.Roots = nil }},
		{"another name", good.addr, "certificate is not trusted: x509: certificate is valid for", func(s *spec.Spec) { s.TLS.ServerName = "other.org" }},
		{"no HTTP/2", good.addr, "no application protocol", func(s *spec.Spec) { s.HTTP2, s.Streams = true, 1 }},
		{"reset", reader(func(c *net.TCPConn) { _ = c.SetLinger(0) }), "TLS handshake: connection reset by peer", nil},
		{"closed", reader(func(*net.TCPConn) {}), "TLS handshake: the server closed the connection", nil},
		{"in clear", reader(func(c *net.TCPConn) { say(c, "HTTP/1.1 400 Bad Request\r\n\r\n") }), "the server does not answer in TLS", nil},
		{"silent", reader(func(c *net.TCPConn) { _, _ = c.Read(make([]byte, 1)) }), "TLS handshake: timed out", func(s *spec.Spec) { s.Timeout = 30 * time.Millisecond }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			order := good.spec(false)
			order.Addr, order.Persist = tc.addr, true
			if tc.change != nil {
				tc.change(order)
			}
			l := failing(t, order)
			if e := errorsOf(&l.rec.Counters); len(e) != 1 || e[spec.ErrTLS] == 0 || !strings.Contains(l.cause.Error(), tc.want) {
				t.Errorf("errors %v, %v; want %q", e, l.cause, tc.want)
			}
			if l.connecting < 0 || l.standing != 0 {
				t.Errorf("%d connecting, %d standing", l.connecting, l.standing)
			}
		})
	}
}

// serveRecords starts a TLS server that answers HTTP/1.1 by a script.
func serveRecords(t *testing.T, do func(c *tls.Conn, raw *net.TCPConn, n int) bool) (*secureServer, *scripted) {
	cert := serveSecure(t, true, false, nil)
	return cert, serve(t, func(_ *scripted, raw *net.TCPConn) {
		c := tls.Server(raw, &tls.Config{Certificates: cert.TLS.Certificates, NextProtos: []string{"http/1.1"}})
		in := make([]byte, 4096)
		for n := 1; ; n++ {
			if got, err := c.Read(in); err != nil || got == 0 {
				return
			}
			if !do(c, raw, n) {
				return
			}
		}
	})
}

// Connections over TLS that end in every possible way.
func TestSecureConnectionsThatEnd(t *testing.T) {
	for _, tc := range []struct {
		name  string
		kinds []string // none: no error
		do    func(c *tls.Conn, raw *net.TCPConn) bool
	}{
		{"after an answer, in order", nil, func(c *tls.Conn, _ *net.TCPConn) bool {
			return say(c, strings.Replace(goodAnswer, "\r\n", "\r\nConnection: close\r\n", 1)) && c.Close() != nil
		}},
		{"a body that the end ends, in order", nil, func(c *tls.Conn, _ *net.TCPConn) bool {
			return say(c, head200+"\r\nhello") && c.Close() != nil
		}},
		{"a body that is cut off", []string{spec.ErrShort}, func(c *tls.Conn, raw *net.TCPConn) bool {
			return say(c, head200+"\r\nhello") && raw.Close() != nil
		}},
		{"with a request outstanding", []string{spec.ErrClosed, spec.ErrReset}, func(*tls.Conn, *net.TCPConn) bool { return false }},
		{"within a record", []string{spec.ErrClosed, spec.ErrReset}, func(_ *tls.Conn, raw *net.TCPConn) bool {
			return say(raw, "\x17\x03\x03\x00\x20only this") && false
		}},
		{"a record that was tampered with", []string{spec.ErrTLS}, func(_ *tls.Conn, raw *net.TCPConn) bool {
			return say(raw, "\x17\x03\x03\x00\x20"+strings.Repeat("x", 32))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cert, s := serveRecords(t, func(c *tls.Conn, raw *net.TCPConn, n int) bool {
				if n%3 == 0 {
					return tc.do(c, raw)
				}
				return say(c, goodAnswer)
			})
			order := cert.spec(false)
			order.Addr, order.Request = s.addr, []byte(postRequest) // not sent again
			l := drive(t, order, func(c *tally.Counters) bool {
				return c.Requests >= 40 && (tc.kinds == nil || c.Failures() >= 10)
			})
			e := errorsOf(&l.rec.Counters)
			for kind := range e {
				if !slices.Contains(tc.kinds, kind) {
					t.Errorf("errors %v, want %v", e, tc.kinds)
				}
			}
		})
	}
}

// A server that requests replies and does not read cannot make a connection buffer without limit.
func TestOwedIsBounded(t *testing.T) {
	cert, s := serveRecords(t, func(c *tls.Conn, _ *net.TCPConn, _ int) bool { return say(c, goodAnswer) })
	order := cert.spec(false)
	order.Addr = s.addr
	l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= 10 })
	for i := range l.conns {
		if pending, owed := l.conns[i].wire.Pending(); pending != 0 || owed != 0 {
			t.Errorf("%d bytes owed, %d pending", owed, pending)
		}
	}
	// The socket is full, and the server's messages are still answered: with an
	// alert in place of the reply to a key update, which is as long. One is too many.
	c := &l.conns[0]
	if l.common.MaxOwed != tlsclient.MaxOwed {
		t.Errorf("%d bytes may be owed", l.common.MaxOwed)
	}
	l.common.MaxOwed = 0
	if err := unix.Shutdown(c.fd, unix.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	before := l.rec.Errors[tally.KindTLS]
	l.receivedWire(c, []byte("\x17\x03\x03\x00\x20"+strings.Repeat("x", 32)), l.Now())
	if c.phase != waiting || l.rec.Errors[tally.KindTLS] != before+1 || l.cause != tlsclient.ErrOwed {
		t.Errorf("phase %d, %v", c.phase, l.cause)
	}
}
