package drive

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/load"
	"github.com/redline-go/redline/lab/load/present"
)

// protocolFlags say what is spoken with the server.
type protocolFlags struct {
	http2, insecure, resume bool
	streams                 int
	serverName, ca          string
}

func (l *Flags) bindProtocol(f *pflag.FlagSet) {
	f.BoolVar(&l.http2, "http2", false, "speak HTTP/2: with https by ALPN, with http at once (h2c, prior knowledge)")
	f.IntVar(&l.streams, "streams", 1, "requests in flight on each connection of --http2")
	f.BoolVar(&l.insecure, "insecure", false, "take any certificate of the server")
	f.BoolVar(&l.insecure, "tls-insecure", false, "the same as --insecure")
	f.BoolVar(&l.resume, "tls-resume", false, "resume TLS sessions: a fresh connection is one of a client that has been there before")
	f.StringVar(&l.serverName, "server-name", "", "`NAME` that TLS asks for, and that the certificate is checked against (default: that of the URL)")
	f.StringVar(&l.ca, "ca", "", "`FILE` with the certificates that are trusted, PEM (default: those of the system)")
}

// maxStreams is what a connection of HTTP/2 is asked to carry at most.
const maxStreams = 4096

// resolveProtocol prepares what is spoken; the request is there.
func (p *plan) resolveProtocol(changed func(string) bool) (err error) {
	secure := p.request.url.Scheme == "https"
	for _, flag := range []string{"insecure", "tls-insecure", "tls-resume", "server-name", "ca"} {
		if changed(flag) && !secure {
			return fmt.Errorf("--%s is about TLS: load an URL that begins with https://, or leave it out", flag)
		}
	}
	switch {
	case changed("streams") && !p.http2:
		return errors.New("--streams is about HTTP/2: write --http2 as well; HTTP/1.1 has --pipeline")
	case p.streams < 1 || p.streams > maxStreams:
		return fmt.Errorf("--streams %d: want 1 to %d", p.streams, maxStreams)
	case p.http2 && p.pipeline > 1:
		return fmt.Errorf("--pipeline is about HTTP/1.1: with --http2 write --streams %d", p.pipeline)
	case p.http2 && p.chunked:
		return errors.New("--chunked is about HTTP/1.1: leave it out, HTTP/2 has frames")
	case (p.http2 || secure) && (p.slowRead != "" || p.slowWrite != ""):
		return errors.New("--slow-read and --slow-write: slow clients speak HTTP/1.1 in clear; load an http:// URL without --http2")
	case p.insecure && p.ca != "":
		return errors.New("--insecure takes any certificate: leave out --ca, or --insecure")
	}
	p.talk = &talk{http2: p.http2}
	if secure {
		if p.talk.secure, err = p.secure(p.request.url); err != nil {
			return err
		}
	}
	p.request.talk = p.talk
	for i := range p.asks {
		p.asks[i].talk = p.talk
	}
	return nil
}

// secure is how a server is spoken to over TLS.
func (p *plan) secure(u *url.URL) (*load.TLS, error) {
	s := &load.TLS{ServerName: cmp.Or(p.serverName, u.Hostname()), Insecure: p.insecure, Resume: p.resume}
	if p.ca == "" {
		return s, nil
	}
	var err error
	if s.Roots, err = os.ReadFile(p.ca); err != nil {
		return nil, readable("ca", p.ca, err)
	}
	if _, err := s.Pool(); err != nil {
		return nil, fmt.Errorf("--ca %s: there is no certificate in it; give a PEM file", p.ca)
	}
	return s, nil
}

// inFlight is how many requests there may be at once: each has a user.
func (p *plan) inFlight() int {
	if p.http2 {
		return p.connections * p.streams
	}
	return p.connections
}

// handProtocol puts into the generator's orders what is spoken.
func (r *loader) handProtocol(s *load.Spec) {
	s.TLS, s.HTTP2 = r.talk.secure, r.http2
	if r.http2 {
		s.Streams = r.streams
	}
}

// describeProtocol puts the same into the document.
func (r *loader) describeProtocol(c *present.Config) {
	if c.HTTP2 = r.http2; r.http2 {
		c.Streams = r.streams
	}
	if s := r.talk.secure; s != nil {
		c.TLS = &present.TLSConfig{ServerName: s.ServerName, Insecure: s.Insecure, Resume: s.Resume}
	}
}

// talk is what is spoken with a server.
type talk struct {
	secure *load.TLS // nil: in clear
	http2  bool
}

// shake makes a connection secure, if it is to be.
func (t *talk) shake(ctx context.Context, conn net.Conn) (net.Conn, error) {
	if t.secure == nil {
		return conn, nil
	}
	roots, err := t.secure.Pool()
	if err != nil {
		return nil, err
	}
	config := &tls.Config{ServerName: t.secure.ServerName, InsecureSkipVerify: t.secure.Insecure, RootCAs: roots, NextProtos: []string{"http/1.1"}}
	if t.http2 {
		config.NextProtos = []string{"h2"}
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, t.words(conn.RemoteAddr(), err)
	}
	if t.http2 && secure.ConnectionState().NegotiatedProtocol != "h2" {
		return nil, fmt.Errorf("%v does not offer HTTP/2; leave out --http2", conn.RemoteAddr())
	}
	return secure, nil
}

// words says what the error of a handshake means, and what to write.
func (t *talk) words(addr net.Addr, err error) error {
	if _, is := errors.AsType[tls.RecordHeaderError](err); is {
		return fmt.Errorf("%v does not answer in TLS: write http:// if it speaks in clear", addr)
	}
	// The alert that a server without HTTP/2 sends (RFC 7301, section 3.2) has no type
	// to be known by.
	if t.http2 && strings.HasSuffix(err.Error(), "no application protocol") {
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

// ask sends a request over a connection, and returns the answer. close frees what it
// took; the connection is the caller's.
func (t *talk) ask(ctx context.Context, conn net.Conn, r *request) (answer *http.Response, end func(), err error) {
	if !t.http2 {
		if _, err := bytes.NewReader(r.wire).WriteTo(conn); err != nil {
			return nil, nil, err
		}
		answer, err = http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: r.method})
		return answer, func() {}, err
	}
	q, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(r.wire)))
	if err != nil {
		return nil, nil, err
	}
	q = q.WithContext(ctx)
	q.URL, q.RequestURI = r.url, ""
	given := func(context.Context, string, string) (net.Conn, error) { return conn, nil }
	over := &http.Transport{DialContext: given, DialTLSContext: given, DisableCompression: true, Protocols: new(http.Protocols)}
	over.Protocols.SetHTTP2(t.secure != nil)
	over.Protocols.SetUnencryptedHTTP2(t.secure == nil)
	answer, err = over.RoundTrip(q)
	return answer, over.CloseIdleConnections, err
}

// portOf is the port that a URL leads to.
func portOf(u *url.URL) string {
	if u.Scheme == "https" {
		return cmp.Or(u.Port(), "443")
	}
	return cmp.Or(u.Port(), "80")
}

// deadline bounds what is done on a connection, and ends it with ctx.
func deadline(ctx context.Context, conn net.Conn, timeout time.Duration) (stop func() bool, err error) {
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return nil, err
	}
	return context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }), nil
}
