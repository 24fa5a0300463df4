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

// firstAnswer is the server's answer to the request before the run.
type firstAnswer struct {
	addr     netip.AddrPort // of the server, unless it is a Unix socket
	local    bool           // the server is on this machine
	listener int            // process that created the Unix socket; 0: unknown
	status   int
	location string // of a redirect
	kind     string // media type
	head     []byte // header fields
	body     []byte // beginning of the body, at most firstBody bytes
}

// firstBody is the maximum number of bytes of the first answer's body that are read, so that
// the server does not see a broken connection for an ordinary answer.
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
	// A connection to 127.0.0.2 begins at 127.0.0.1.
	a.local = a.addr.Addr().IsLoopback() || conn.LocalAddr().(*net.TCPAddr).AddrPort().Addr().Unmap() == a.addr.Addr()
	return conn, a, nil
}

// alertTime is the time that a server has to reject a client without a certificate.
const alertTime = 200 * time.Millisecond

// greet connects without a request, so that errors of connect and handshake are reported before
// the run.
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
	_, err = over.Read(make([]byte, 1)) // a server that waits for a request sends nothing
	return a, r.protocol.refused(conn.RemoteAddr(), demanded, err)
}

// ask sends the request once, so that a name that does not resolve, a closed port or a wrong
// path is reported before the run.
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
	wire := r.wire
	if r.stream {
		wire = firstTopic(wire)
	}
	answer, end, err := r.protocol.exchange(ctx, over, r.method, r.url, wire)
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
	// The run counts errors in the body by kind.
	_ = conn.SetReadDeadline(time.Now().Add(min(timeout, 5*time.Second)))
	a.body, _ = io.ReadAll(io.LimitReader(answer.Body, firstBody))
	var head bytes.Buffer
	_ = answer.Header.Write(&head) // writing to memory never fails
	a.head = head.Bytes()
	return a, nil
}

// protocol is the protocol of connections to a server.
type protocol struct {
	TLS   *spec.TLS // nil: clear text
	HTTP2 bool
	Unix  string // socket of the server; empty: the host and port of the URL
}

// secure performs the TLS handshake on a connection, if there is TLS. It sets demanded if the
// server requests a client certificate.
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

// refused returns an error if the server demanded a client certificate, and closed the
// connection because of the certificate or for lack of one; nil otherwise. In TLS 1.3 this is
// known only after a read.
func (t *protocol) refused(addr net.Addr, demanded bool, err error) error {
	op, is := errors.AsType[*net.OpError](err)
	alert := is && op.Op == "remote error"
	// What x/net's HTTP/2 client returns if the alert comes before the request. It has no type.
	broken := t.HTTP2 && strings.HasSuffix(err.Error(), "client conn could not be established")
	switch {
	case !demanded || !alert && !closedByServer(err) && !broken:
		return nil
	case len(t.TLS.Certificate) > 0:
		return fmt.Errorf("%v does not accept the certificate of --cert: %w", addr, err)
	case alert:
		return fmt.Errorf("%v requires a client certificate: name one with --cert FILE and --key FILE", addr)
	}
	return fmt.Errorf("%v requests a client certificate, and closed the connection: name one with --cert FILE and --key FILE", addr)
}

// explain converts the error of a handshake to one that says what to do.
func (t *protocol) explain(addr net.Addr, err error) error {
	if _, is := errors.AsType[tls.RecordHeaderError](err); is {
		return fmt.Errorf("%v does not use TLS: write http:// if it uses clear text", addr)
	}
	// The alert of a server without HTTP/2 (RFC 7301, section 3.2) has no exported error
	// type.
	if t.HTTP2 && strings.HasSuffix(err.Error(), "no application protocol") {
		return fmt.Errorf("%v does not offer HTTP/2; leave out --http2", addr)
	}
	c, is := errors.AsType[*tls.CertificateVerificationError](err)
	if !is {
		return fmt.Errorf("TLS handshake with %v: %w", addr, err)
	}
	hint := "name the certificate of its issuer with --ca FILE, or write --insecure to load it anyway"
	if _, is := errors.AsType[x509.HostnameError](c.Err); is {
		hint = "write --server-name NAME with a name in the certificate, or --insecure to load it anyway"
	}
	return fmt.Errorf("the certificate of %v is not trusted: %w; %s", addr, c.Err, hint)
}

// exchange sends a request, given in the form of HTTP/1.1, over a connection, and returns the
// answer. end frees its resources; the caller closes the connection.
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
		return conn, nil // the transport checks its type
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

// firstBytes keeps the first bytes received on a connection.
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

// closedByServer reports whether an error means that the server closed the connection.
func closedByServer(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// http1 begins every answer of HTTP/1.
const http1 = "HTTP/1."

// explain explains a failed exchange in clear text, if the received bytes show the reason.
func (l *firstBytes) explain(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case string(l.first) == http1:
		return fmt.Errorf("%v answers in HTTP/1: it does not support HTTP/2 in clear text; leave out --http2, or load an https:// URL", l.RemoteAddr())
	case len(l.first) == 0 && (l.ended || closedByServer(err)):
		return fmt.Errorf("%v closed the connection without an answer: it does not support HTTP/2 in clear text; leave out --http2, or load an https:// URL", l.RemoteAddr())
	}
	return err
}

// portOf returns the port of a URL, or the default of its scheme.
func portOf(u *url.URL) string {
	if u.Scheme == "https" {
		return cmp.Or(u.Port(), "443")
	}
	return cmp.Or(u.Port(), "80")
}

// endAfter sets a deadline on a connection, and closes it when ctx ends.
func endAfter(ctx context.Context, conn net.Conn, timeout time.Duration) (stop func() bool, err error) {
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return nil, err
	}
	return context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }), nil
}
