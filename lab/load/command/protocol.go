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
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redline-go/redline/lab/load/spec"
)

// protocol is what is spoken with a server.
type protocol struct {
	TLS   *spec.TLS // nil: in clear
	HTTP2 bool
}

// secure makes a connection secure, if it is to be.
func (t *protocol) secure(ctx context.Context, conn net.Conn) (net.Conn, error) {
	if t.TLS == nil {
		return conn, nil
	}
	roots, err := t.TLS.Pool()
	if err != nil {
		return nil, err
	}
	config := &tls.Config{ServerName: t.TLS.ServerName, InsecureSkipVerify: t.TLS.Insecure, RootCAs: roots, NextProtos: []string{"http/1.1"}}
	if t.HTTP2 {
		config.NextProtos = []string{"h2"}
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, t.explain(conn.RemoteAddr(), err)
	}
	if t.HTTP2 && secure.ConnectionState().NegotiatedProtocol != "h2" {
		return nil, fmt.Errorf("%v does not offer HTTP/2; leave out --http2", conn.RemoteAddr())
	}
	return secure, nil
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
