package drive

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
	"strings"
	"time"
)

// request is the one request that is sent again and again.
type request struct {
	url    *url.URL
	method string
	wire   []byte // as it is sent
	body   int    // bytes of it at the end
	stream bool   // what answers it does not end
	talk   *talk  // what is spoken
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
	case u.User != nil:
		return nil, fmt.Errorf("%q has a user in it: write --header 'Authorization: Basic ...' instead", u.Redacted())
	}
	return u, nil
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
	stop, err := deadline(ctx, conn, timeout)
	if err != nil {
		return a, err
	}
	defer stop()
	over, err := r.talk.shake(ctx, conn)
	if err != nil {
		return a, err
	}
	answer, end, err := r.talk.ask(ctx, over, r)
	if err != nil {
		return a, fmt.Errorf("ask once before the run: no answer within %v: %w", timeout, err)
	}
	defer end()
	a.status, a.location = answer.StatusCode, answer.Header.Get("Location")
	if r.stream {
		return a, nil // its body does not end
	}
	// What is wrong with the body the run will count under its name.
	_ = conn.SetReadDeadline(time.Now().Add(min(timeout, time.Second)))
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
