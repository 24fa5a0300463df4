package subscribe

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tlsclient"
)

// serveSecret is serveStreams over TLS. The script can also use the raw connection.
func serveSecret(t *testing.T, cert tls.Certificate, script func(c *tls.Conn, n int64)) (addr string) {
	t.Helper()
	var n atomic.Int64
	return serveEach(t, func(raw net.Conn) {
		c := tls.Server(raw, &tls.Config{Certificates: []tls.Certificate{cert}})
		in := make([]byte, 4<<10)
		if k, err := c.Read(in); err == nil && bytes.HasSuffix(in[:k], []byte("\r\n\r\n")) {
			script(c, n.Add(1))
		}
	})
}

// A stream without announced length has ended regularly only after close_notify.
func TestLinesCut(t *testing.T) {
	const text = head + "\r\ndata: 1\n\n"
	cert := serveLines(t, true, false, nil).TLS.Certificates[0]
	for _, c := range []struct {
		name   string
		end    func(c *tls.Conn)
		want   string
		ends   uint64
		detail string
	}{
		{"in order", func(c *tls.Conn) { _ = c.CloseWrite() }, "map[]", 3, ""},
		{"cut", func(*tls.Conn) {}, "map[short:3]", 0, "without close_notify: content may be truncated"},
		{"broken", func(c *tls.Conn) {
			_, _ = c.NetConn().Write([]byte("\x17\x03\x03\x00\x20what is not a record of this connection"))
			_, _ = io.Copy(io.Discard, c.NetConn()) // a reset would overtake it
		}, "map[tls:3]", 0, "invalid data from the server"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var came atomic.Int64
			addr := serveSecret(t, cert, func(s *tls.Conn, n int64) {
				if n > 3 { // reconnected streams stay open
					came.Add(1)
				}
				if !write(s, text) {
					return
				}
				if n > 3 {
					_, _ = s.Read(make([]byte, 1))
					return
				}
				c.end(s)
			})
			l := loopOf(t, Options{
				Addr: addr, Subscribers: 3, TLS: secured(t, tlsclient.Settings{Insecure: true}, false), Config: spec.Subscribe{Ends: true, Retry: time.Millisecond},
			}, none{})
			drive(t, l, func(n *Counts) bool { return n.Reconnects == 3 && n.Events == 6 })
			n := l.Counts()
			if got := fmt.Sprint(n.ByKind()); got != c.want || n.Ends != c.ends || came.Load() != 3 || n.Connects != 6 {
				t.Errorf("errors %s, %d ends, %d reconnects, %d connects; want %s, %d", got, n.Ends, came.Load(), n.Connects, c.want, c.ends)
			}
			if c.detail != "" && !strings.Contains(l.book.cause(), c.detail) {
				t.Errorf("cause %q, want %q in it", l.book.cause(), c.detail)
			}
		})
	}
}

// A failure of TLS or HTTP/2 ends the run with an error that explains it.
func TestLinesHope(t *testing.T) {
	answer := func(http.ResponseWriter, *http.Request) {}
	secure, clear := serveLines(t, true, false, answer), serveLines(t, false, false, answer)
	unknown := func(http2 bool) *tlsclient.Client {
		return secured(t, tlsclient.Settings{ServerName: "example.com", Roots: x509.NewCertPool()}, http2)
	}
	any := func(http2 bool) *tlsclient.Client { return secured(t, tlsclient.Settings{Insecure: true}, http2) }
	silent := serveSilent(t)
	for _, c := range []struct {
		name, addr string
		tls        *tlsclient.Client
		http2      bool
		kind       Kind
		want       string
	}{
		{"certificate", secure.Listener.Addr().String(), unknown(false), false, TLS, "the server's certificate is not trusted: x509: certificate signed by unknown authority"},
		{"no HTTP/2", secure.Listener.Addr().String(), any(true), true, TLS, "no application protocol"},
		{"in clear", clear.Listener.Addr().String(), any(false), false, TLS, "the server does not answer in TLS"},
		{"HTTP/1.1 alone", clear.Listener.Addr().String(), nil, true, HTTP2, "the server does not answer in HTTP/2"},
		{"silent", silent, any(false), false, Timeout, "TLS handshake: timed out"},
		{"silent in clear", silent, nil, true, Timeout, "HTTP/2: no settings from the server in time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := loopOf(t, Options{Addr: c.addr, Subscribers: 4, TLS: c.tls, HTTP2: c.http2, Share: 2, Config: spec.Subscribe{Retry: spec.NeverRetry}}, none{})
			l.book.timeout = int64(300 * time.Millisecond)
			if c.kind != Timeout {
				l.book.timeout = int64(time.Minute)
			}
			drive(t, l, func(n *Counts) bool { return n.Retired == 4 })
			n := l.Counts()
			if err := l.Hope(); err == nil || !strings.Contains(err.Error(), c.want) || n.Errors[c.kind] != 4 || n.Failures() != 4 {
				t.Errorf("hope: %v, errors %v; want %q", err, n.ByKind(), c.want)
			}
			if done, err := l.TLS(); err != nil || done != nil {
				t.Errorf("handshakes %+v, %v", done, err)
			}
		})
	}
}

// serveSilent accepts connections and sends nothing.
func serveSilent(t *testing.T) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() }) // those in its queue are reset
	return ln.Addr().String()
}

// A server that requests answers of TLS and does not read cannot make a line buffer
// unlimited bytes.
func TestLinesOwed(t *testing.T) {
	s := serveLines(t, true, false, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	l := loopOf(t, Options{Addr: s.Listener.Addr().String(), Subscribers: 1, TLS: trusting(t, s, false, false), Config: spec.Subscribe{Retry: spec.NeverRetry}}, none{})
	drive(t, l, func(c *Counts) bool { return c.Events == 1 })
	c := l.lines.all[0]
	if pending, owed := c.Pending(); pending != 0 || owed != 0 {
		t.Errorf("%d bytes owed, %d pending", owed, pending)
	}
	// The socket accepts no more bytes. An alert has the length of the answer to a key
	// update; the next one exceeds the limit.
	if l.lines.common.MaxOwed != tlsclient.MaxOwed {
		t.Errorf("%d bytes may be owed", l.lines.common.MaxOwed)
	}
	l.lines.common.MaxOwed = 0
	if err := unix.Shutdown(c.fd, unix.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	c.receive([]byte("\x17\x03\x03\x00\x20" + strings.Repeat("x", 32)))
	if n := l.Counts(); n.Errors[TLS] != 1 || n.Retired != 1 || l.book.cause() != tlsclient.ErrOwed.Error() || c.fd >= 0 || c.Kept() > keptFrames {
		t.Errorf("%+v, %s", *n, l.book.cause())
	}
}
