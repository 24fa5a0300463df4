package command

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/probe"
)

// firstAnswer is what the server said to the request before the run.
type firstAnswer struct {
	addr     netip.AddrPort // that answered, unless it is a Unix socket
	local    bool           // it is on this machine
	listener int            // process that made the Unix socket; 0: not known
	status   int
	location string // of a redirect
	kind     string // media type
	head     []byte // its fields, and
	body     []byte // the beginning of its body, firstBody bytes at most
}

// firstBody is how much of the first answer's body is read, so that the server
// does not see a broken connection for an ordinary answer.
const firstBody = 1 << 20

// reach connects to the server.
func (r *request) reach(ctx context.Context, timeout time.Duration) (conn net.Conn, a firstAnswer, err error) {
	addr := net.JoinHostPort(r.url.Hostname(), portOf(r.url))
	dialer := net.Dialer{Timeout: timeout}
	if path := r.protocol.Unix; path != "" {
		if conn, err = dialer.DialContext(ctx, "unix", path); err != nil {
			return nil, a, err
		}
		if a.listener, err = probe.ListeningUnix(conn.(*net.UnixConn)); err != nil {
			return nil, a, errors.Join(err, conn.Close())
		}
		return conn, a, nil
	}
	if conn, err = dialer.DialContext(ctx, "tcp", addr); err != nil {
		return nil, a, err
	}
	a.addr = conn.RemoteAddr().(*net.TCPAddr).AddrPort()
	a.addr = netip.AddrPortFrom(a.addr.Addr().Unmap(), a.addr.Port())
	a.local = conn.LocalAddr().(*net.TCPAddr).AddrPort().Addr().Unmap() == a.addr.Addr()
	return conn, a, nil
}

// alertTime is how long a server may take to send a client away that has shown no certificate.
const alertTime = 200 * time.Millisecond

// greet connects, and sends no request: what a handshake tells is told before the run.
func (r *request) greet(ctx context.Context, timeout time.Duration) (a firstAnswer, err error) {
	conn, a, err := r.reach(ctx, timeout)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	stop, err := endAfter(ctx, conn, timeout)
	if err != nil {
		return a, err
	}
	defer stop()
	demanded := false
	over, err := r.protocol.secure(ctx, conn, &demanded)
	if err != nil || !demanded {
		return a, err
	}
	if err := over.SetReadDeadline(time.Now().Add(alertTime)); err != nil {
		return a, err
	}
	_, err = over.Read(make([]byte, 1)) // a server that waits for a request says nothing
	return a, r.protocol.refused(conn.RemoteAddr(), demanded, err)
}

// ask sends the request once: a name that does not resolve, a port that is
// closed or a path that is wrong is told before the run.
func (r *request) ask(ctx context.Context, timeout time.Duration) (a firstAnswer, err error) {
	conn, a, err := r.reach(ctx, timeout)
	if err != nil {
		return a, err
	}
	defer func() {
		if shut := conn.Close(); !errors.Is(shut, net.ErrClosed) { // the client of HTTP/2 closes it itself
			err = errors.Join(err, shut)
		}
	}()
	stop, err := endAfter(ctx, conn, timeout)
	if err != nil {
		return a, err
	}
	defer stop()
	demanded := false
	over, err := r.protocol.secure(ctx, conn, &demanded)
	if err != nil {
		return a, err
	}
	answer, end, err := r.protocol.exchange(ctx, over, r.method, r.url, r.wire)
	if err != nil {
		if why := r.protocol.refused(conn.RemoteAddr(), demanded, err); why != nil {
			return a, why
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = fmt.Errorf("no answer within %v: %w", timeout, err)
		}
		return a, fmt.Errorf("ask once before the run: %w", err)
	}
	defer end()
	a.status, a.location, a.kind = answer.StatusCode, answer.Header.Get("Location"), answer.Header.Get("Content-Type")
	if r.stream {
		return a, nil // its body does not end
	}
	// What is wrong with the body the run will count under its name.
	_ = conn.SetReadDeadline(time.Now().Add(min(timeout, 5*time.Second)))
	a.body, _ = io.ReadAll(io.LimitReader(answer.Body, firstBody))
	var head bytes.Buffer
	_ = answer.Header.Write(&head) // to memory: it never fails
	a.head = head.Bytes()
	return a, nil
}

// protocol is what is spoken with a server.
type protocol struct {
	TLS   *spec.TLS // nil: in clear
	HTTP2 bool
	Unix  string // socket of the server; empty: the host and port of the URL
}

// secure makes a connection secure, if it is to be. demanded tells whether the server wants a
// certificate of its client.
func (t *protocol) secure(ctx context.Context, conn net.Conn, demanded *bool) (net.Conn, error) {
	if t.TLS == nil {
		return conn, nil
	}
	roots, err := t.TLS.Pool()
	if err != nil {
		return nil, err
	}
	identity, err := t.TLS.Identity(time.Now())
	if err != nil {
		return nil, err
	}
	config := &tls.Config{ServerName: t.TLS.ServerName, InsecureSkipVerify: t.TLS.Insecure, RootCAs: roots, NextProtos: []string{"http/1.1"}}
	if t.HTTP2 {
		config.NextProtos = []string{"h2"}
	}
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		*demanded = true
		return cmp.Or(identity, new(tls.Certificate)), nil
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		if why := t.refused(conn.RemoteAddr(), *demanded, err); why != nil {
			return nil, why
		}
		return nil, t.explain(conn.RemoteAddr(), err)
	}
	if t.HTTP2 && secure.ConnectionState().NegotiatedProtocol != "h2" {
		return nil, fmt.Errorf("%v does not offer HTTP/2; leave out --http2", conn.RemoteAddr())
	}
	return secure, nil
}

// refused returns an error for a server that demanded a certificate of its client, and ended
// the connection for the one that it got, or for lack of one; nil if it did not. In TLS 1.3
// that is known only when the server is read from.
func (t *protocol) refused(addr net.Addr, demanded bool, err error) error {
	op, is := errors.AsType[*net.OpError](err)
	alert := is && op.Op == "remote error"
	switch {
	case !demanded || !alert && !closedByServer(err):
		return nil
	case len(t.TLS.Certificate) > 0:
		return fmt.Errorf("%v does not accept the certificate of --cert: %w", addr, err)
	case alert:
		return fmt.Errorf("%v demands a certificate of its client: name one with --cert FILE and --key FILE", addr)
	}
	return fmt.Errorf("%v wants a certificate of its client, and ended the connection: name one with --cert FILE and --key FILE", addr)
}

// explain says what the error of a handshake means, and what to write.
func (t *protocol) explain(addr net.Addr, err error) error {
	if _, is := errors.AsType[tls.RecordHeaderError](err); is {
		return fmt.Errorf("%v does not answer in TLS: write http:// if it speaks in clear", addr)
	}
	// The alert that a server without HTTP/2 sends (RFC 7301, section 3.2) has no type
	// to be known by.
	if t.HTTP2 && strings.HasSuffix(err.Error(), "no application protocol") {
		return fmt.Errorf("%v does not offer HTTP/2; leave out --http2", addr)
	}
	c, is := errors.AsType[*tls.CertificateVerificationError](err)
	if !is {
		return fmt.Errorf("TLS handshake with %v: %w", addr, err)
	}
	hint := "name who signed it with --ca FILE, or write --insecure to load it all the same"
	if _, is := errors.AsType[x509.HostnameError](c.Err); is {
		hint = "write --server-name NAME with a name that it has, or --insecure to load it all the same"
	}
	return fmt.Errorf("the certificate of %v is not trusted: %w; %s", addr, c.Err, hint)
}

// exchange sends a request, as it is written in HTTP/1.1, over a connection, and returns the
// answer. end frees what it took; the connection is the caller's.
func (t *protocol) exchange(ctx context.Context, conn net.Conn, method string, u *url.URL, wire []byte) (answer *http.Response, end func(), err error) {
	if !t.HTTP2 {
		if _, err := bytes.NewReader(wire).WriteTo(conn); err != nil {
			return nil, nil, err
		}
		answer, err = http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
		return answer, func() {}, err
	}
	q, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(wire)))
	if err != nil {
		return nil, nil, err
	}
	q = q.WithContext(ctx)
	q.URL, q.RequestURI = u, ""
	heard := &firstBytes{Conn: conn}
	given := func(context.Context, string, string) (net.Conn, error) {
		if t.TLS == nil {
			return heard, nil
		}
		return conn, nil // the transport looks at what it is
	}
	over := &http.Transport{DialContext: given, DialTLSContext: given, DisableCompression: true, Protocols: new(http.Protocols)}
	over.Protocols.SetHTTP2(t.TLS != nil)
	over.Protocols.SetUnencryptedHTTP2(t.TLS == nil)
	answer, err = over.RoundTrip(q)
	if err != nil && t.TLS == nil {
		err = heard.explain(err)
	}
	return answer, over.CloseIdleConnections, err
}

// firstBytes keeps the first bytes that came over a connection.
type firstBytes struct {
	net.Conn
	mu    sync.Mutex
	first []byte
	ended bool
}

// Read implements [net.Conn].
func (l *firstBytes) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.first = append(l.first, b[:min(n, len(http1)-min(len(l.first), len(http1)))]...)
	l.ended = l.ended || closedByServer(err)
	return n, err
}

// closedByServer reports whether an error is the end of a connection by the server.
func closedByServer(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// http1 is what the answers of HTTP/1 begin with.
const http1 = "HTTP/1."

// explain says what a failed exchange in clear text means, if what came tells it.
func (l *firstBytes) explain(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case string(l.first) == http1:
		return fmt.Errorf("%v answers in HTTP/1: it does not speak HTTP/2 in clear; leave out --http2, or load an https:// URL", l.RemoteAddr())
	case len(l.first) == 0 && (l.ended || closedByServer(err)):
		return fmt.Errorf("%v ended the connection without an answer: it does not speak HTTP/2 in clear; leave out --http2, or load an https:// URL", l.RemoteAddr())
	}
	return err
}

// portOf is the port that a URL leads to.
func portOf(u *url.URL) string {
	if u.Scheme == "https" {
		return cmp.Or(u.Port(), "443")
	}
	return cmp.Or(u.Port(), "80")
}

// endAfter bounds what is done on a connection, and ends it with ctx.
func endAfter(ctx context.Context, conn net.Conn, timeout time.Duration) (stop func() bool, err error) {
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return nil, err
	}
	return context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }), nil
}
