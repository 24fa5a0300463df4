package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/load/spec"
)

// request is the one request that is sent again and again.
type request struct {
	url      *url.URL
	method   string
	wire     []byte    // as it is sent
	body     int       // bytes of it at the end
	stream   bool      // what answers it does not end
	protocol *protocol // what is spoken
}

// newRequest writes the request that the flags describe.
func newRequest(rawURL string, l *Flags) (r request, err error) {
	if r.url, err = parseURL(rawURL); err != nil {
		return r, err
	}
	body := []byte(l.body)
	if l.bodyFile != "" {
		if body, err = os.ReadFile(l.bodyFile); err != nil {
			return r, fmt.Errorf("--body-file: %w", err)
		}
	}
	given := l.body != "" || l.bodyFile != ""
	r.method = http.MethodGet
	if given {
		r.method = http.MethodPost
	}
	r.method, r.body = cmp.Or(l.method, r.method), len(body)
	if !token(r.method) {
		return r, fmt.Errorf("--method %q: that is no method; write one as GET or POST", r.method)
	}
	var fields strings.Builder
	seen := map[string]bool{}
	for _, h := range l.headers {
		name, value, err := headerField(h)
		if err != nil {
			return r, err
		}
		seen[strings.ToLower(name)] = true
		fmt.Fprintf(&fields, "%s: %s\r\n", name, value)
	}
	var head strings.Builder
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\n", r.method, r.url.RequestURI())
	if !seen["host"] {
		fmt.Fprintf(&head, "Host: %s\r\n", r.url.Host)
	}
	if !seen["user-agent"] {
		head.WriteString("User-Agent: redline\r\n")
	}
	head.WriteString(l.fields(seen))
	r.stream = l.streamFlags.asked() != ""
	head.WriteString(fields.String())
	if given || r.method == http.MethodPost || r.method == http.MethodPut || r.method == http.MethodPatch {
		fmt.Fprintf(&head, "Content-Length: %d\r\n", len(body))
	}
	head.WriteString("\r\n")
	r.wire = append([]byte(head.String()), body...)
	return r, nil
}

// headerField reads --header.
func headerField(h string) (name, value string, err error) {
	name, value, ok := strings.Cut(h, ":")
	value = strings.TrimSpace(value)
	switch lower := strings.ToLower(name); {
	case !ok || !token(name):
		err = fmt.Errorf("--header %q: write 'NAME: VALUE', as 'Accept: text/html'", h)
	case strings.ContainsAny(value, "\r\n\x00"):
		err = fmt.Errorf("--header %q: a value is one line", h)
	case lower == "content-length" || lower == "transfer-encoding":
		err = fmt.Errorf("--header %q: the length is that of the body; leave this header out", h)
	}
	return name, value, err
}

// parseURL takes what the generator can speak.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		if !strings.Contains(text, "://") {
			return nil, fmt.Errorf("%q has no scheme: write http://%s", text, text)
		}
		return nil, fmt.Errorf("%q is no URL to load: write one as http://127.0.0.1:8080/path", text)
	}
	switch {
	case u.Hostname() == "":
		return nil, fmt.Errorf("%q names no host: write one as http://127.0.0.1:8080/path", text)
	case u.Port() != "" && !isPort(u.Port()):
		return nil, fmt.Errorf("%q: there is no port %s; write one from 1 to 65535", text, u.Port())
	case u.User != nil:
		return nil, fmt.Errorf("%q has a user in it: write --header 'Authorization: Basic ...' instead", u.Redacted())
	}
	return u, nil
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// token reports whether s is one, RFC 9110, section 5.6.2.
func token(s string) bool {
	return s != "" && strings.IndexFunc(s, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", c)
	}) < 0
}

// firstAnswer is what the server said to the request before the run.
type firstAnswer struct {
	addr     netip.AddrPort // that answered
	local    bool           // it is on this machine
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
	if conn, err = dialer.DialContext(ctx, "tcp", addr); err != nil {
		return nil, a, err
	}
	a.addr = conn.RemoteAddr().(*net.TCPAddr).AddrPort()
	a.addr = netip.AddrPortFrom(a.addr.Addr().Unmap(), a.addr.Port())
	a.local = conn.LocalAddr().(*net.TCPAddr).AddrPort().Addr().Unmap() == a.addr.Addr()
	return conn, a, nil
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
	over, err := r.protocol.secure(ctx, conn)
	if err != nil {
		return a, err
	}
	answer, end, err := r.protocol.exchange(ctx, over, r.method, r.url, r.wire)
	if err != nil {
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

// expected is the status that every answer has to have.
func (a firstAnswer) expected(given int, r *request) (int, error) {
	switch {
	case given != 0 && given != a.status:
		return 0, fmt.Errorf("%s %s answers with status %d, and --status %d expects another", r.method, r.url, a.status, given)
	case given == 0 && (a.status < 200 || a.status >= 400):
		return 0, fmt.Errorf("%s %s answers with status %d; if that is meant, write --status %d", r.method, r.url, a.status, a.status)
	}
	return a.status, nil
}

// protocolFlags say what is spoken with the server.
type protocolFlags struct {
	http2, insecure, resume bool
	streams                 int
	serverName, ca, io      string
}

func (l *Flags) bindProtocol(f *pflag.FlagSet) {
	f.BoolVar(&l.http2, "http2", false, "speak HTTP/2: with https by ALPN, with http at once (h2c, prior knowledge)")
	f.IntVar(&l.streams, "streams", 1, "requests in flight, or subscribers, on each connection of --http2")
	f.BoolVar(&l.insecure, "insecure", false, "take any certificate of the server")
	f.BoolVar(&l.insecure, "tls-insecure", false, "the same as --insecure")
	f.BoolVar(&l.resume, "tls-resume", false, "resume TLS sessions: a fresh connection is one of a client that has been there before")
	f.StringVar(&l.serverName, "server-name", "", "`NAME` that TLS asks for, and that the certificate is checked against (default: that of the URL)")
	f.StringVar(&l.ca, "ca", "", "`FILE` with the certificates that are trusted, PEM (default: those of the system)")
	f.StringVar(&l.io, "io", spec.Epoll, "system calls of HTTP/1.1 in clear: epoll, or `uring` for io_uring")
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
	case p.io != spec.Epoll && p.io != spec.URing:
		return fmt.Errorf("--io %s: write epoll or uring", p.io)
	case p.io == spec.URing && (p.http2 || secure || p.slowRead != "" || p.slowWrite != ""):
		return errors.New("--io uring is for HTTP/1.1 in clear by clients that are not slow: write --io epoll, or leave out TLS, --http2, --slow-read and --slow-write")
	case p.insecure && p.ca != "":
		return errors.New("--insecure takes any certificate: leave out --ca, or --insecure")
	}
	p.protocol = &protocol{HTTP2: p.http2}
	if secure {
		if p.protocol.TLS, err = p.secure(p.request.url); err != nil {
			return err
		}
	}
	p.request.protocol = p.protocol
	for i := range p.asks {
		p.asks[i].protocol = p.protocol
	}
	return nil
}

// secure is how a server is spoken to over TLS.
func (p *plan) secure(u *url.URL) (*spec.TLS, error) {
	s := &spec.TLS{ServerName: cmp.Or(p.serverName, u.Hostname()), Insecure: p.insecure, Resume: p.resume}
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
func (r *loader) handProtocol(s *spec.Spec) {
	s.TLS, s.HTTP2, s.IO = r.protocol.TLS, r.http2, r.io
	if r.http2 {
		s.Streams = r.streams
	}
}

// describeProtocol puts the same into the document.
func (r *loader) describeProtocol(c *present.Config) {
	c.IO = r.io
	if c.HTTP2 = r.http2; r.http2 {
		c.Streams = r.streams
	}
	if s := r.protocol.TLS; s != nil {
		c.TLS = &present.TLSConfig{ServerName: s.ServerName, Insecure: s.Insecure, Resume: s.Resume}
	}
}
