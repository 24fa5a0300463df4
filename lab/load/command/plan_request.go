package command

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/sse"
	"github.com/redline-go/redline/lab/report"
)

// request is the one request that is sent repeatedly.
type request struct {
	url      *url.URL
	method   string
	wire     []byte    // as sent
	body     int       // bytes of it at the end
	stream   bool      // the answer does not end
	protocol *protocol // protocol of the connection
}

// newRequest returns the request that the flags describe.
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
		return r, fmt.Errorf("--method %q is not a method; write one such as GET or POST", r.method)
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
	head.WriteString(l.streams.fields(seen))
	r.stream = l.streams.asked() != ""
	head.WriteString(fields.String())
	if given || r.method == http.MethodPost || r.method == http.MethodPut || r.method == http.MethodPatch {
		fmt.Fprintf(&head, "Content-Length: %d\r\n", len(body))
	}
	head.WriteString("\r\n")
	r.wire = append([]byte(head.String()), body...)
	if r.stream {
		r.wire = marked(r.wire)
	}
	return r, nil
}

// headerField parses --header.
func headerField(h string) (name, value string, err error) {
	name, value, ok := strings.Cut(h, ":")
	value = strings.TrimSpace(value)
	switch lower := strings.ToLower(name); {
	case !ok || !token(name):
		begin, _, _ := strings.Cut(strings.TrimSpace(name), " ") // the rest may be secret
		err = fmt.Errorf("--header '%s...': write 'NAME: VALUE', as 'Accept: text/html'", report.Line(begin))
	case strings.ContainsAny(value, "\r\n\x00"):
		err = fmt.Errorf("--header %s: a value must be one line", name)
	case lower == "content-length" || lower == "transfer-encoding":
		err = fmt.Errorf("--header %q: the length is computed from the body; leave this header out", h)
	}
	return name, value, err
}

// parseURL parses a URL that the generator supports.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		if !strings.Contains(text, "://") {
			return nil, fmt.Errorf("%q has no scheme: write http://%s", text, text)
		}
		return nil, fmt.Errorf("%q is not a URL to load: write one as http://127.0.0.1:8080/path", text)
	}
	switch {
	case u.Hostname() == "":
		return nil, fmt.Errorf("%q has no host: write one as http://127.0.0.1:8080/path", text)
	case u.Port() != "" && !isPort(u.Port()):
		return nil, fmt.Errorf("%q: there is no port %s; write one from 1 to 65535", text, u.Port())
	case u.User != nil:
		return nil, fmt.Errorf("%q contains a user: write --header 'Authorization: Basic ...' instead", u.Redacted())
	}
	return u, nil
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// token reports whether s is a token, RFC 9110, section 5.6.2.
func token(s string) bool {
	return s != "" && strings.IndexFunc(s, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", c)
	}) < 0
}

// maxStreams is the maximum of --streams.
const maxStreams = 4096

// planProtocol plans the protocol; the request is already planned.
func (p *plan) planProtocol(changed func(string) bool) (err error) {
	l, users := &p.flags.protocol, &p.flags.users
	secure := p.request.url.Scheme == "https"
	for _, flag := range []string{"insecure", "tls-insecure", "tls-resume", "server-name", "ca", "cert", "key"} {
		if changed(flag) && !secure {
			return fmt.Errorf("--%s is for TLS: load a URL that begins with https://, or leave it out", flag)
		}
	}
	switch {
	case changed("streams") && !l.http2:
		return errors.New("--streams is for HTTP/2: add --http2; HTTP/1.1 has --pipeline")
	case l.streams < 1 || l.streams > maxStreams:
		return fmt.Errorf("--streams %d: want 1 to %d", l.streams, maxStreams)
	case l.http2 && p.flags.pipeline > 1:
		return fmt.Errorf("--pipeline is for HTTP/1.1: with --http2 write --streams %d", p.flags.pipeline)
	case l.http2 && users.chunked:
		return errors.New("--chunked is for HTTP/1.1: leave it out, HTTP/2 has frames")
	case (l.http2 || secure) && (users.slowRead != "" || users.slowWrite != ""):
		return errors.New("--slow-read and --slow-write: slow clients use HTTP/1.1 in clear text; load an http:// URL without --http2")
	case l.key != "" && l.cert == "":
		return errors.New("--key is the key of a certificate: name that with --cert")
	case l.insecure && l.ca != "":
		return errors.New("--insecure accepts any certificate: leave out --ca or --insecure")
	}
	p.protocol = &protocol{HTTP2: l.http2, Unix: users.unix}
	if secure {
		if p.protocol.TLS, err = p.tlsOf(p.request.url); err != nil {
			return err
		}
	}
	p.request.protocol = p.protocol
	for i := range p.users.asks {
		p.users.asks[i].request.protocol = p.protocol
	}
	return nil
}

// tlsOf returns the TLS configuration for a server.
func (p *plan) tlsOf(u *url.URL) (s *spec.TLS, err error) {
	s = &spec.TLS{ServerName: cmp.Or(p.flags.protocol.serverName, u.Hostname()), Insecure: p.flags.protocol.insecure, Resume: p.flags.protocol.resume}
	if err := p.identify(s); err != nil || p.flags.protocol.ca == "" {
		return s, err
	}
	if s.Roots, err = os.ReadFile(p.flags.protocol.ca); err != nil {
		return nil, readable("ca", p.flags.protocol.ca, err)
	}
	if _, err := s.Pool(); err != nil {
		return nil, fmt.Errorf("--ca %s: the file contains no certificate; name a PEM file", p.flags.protocol.ca)
	}
	return s, nil
}

// identify reads the client's certificate.
func (p *plan) identify(s *spec.TLS) (err error) {
	cert, key := p.flags.protocol.cert, cmp.Or(p.flags.protocol.key, p.flags.protocol.cert)
	if cert == "" {
		return nil
	}
	if s.Certificate, err = os.ReadFile(cert); err != nil {
		return readable("cert", cert, err)
	}
	if s.Key, err = os.ReadFile(key); err != nil {
		return readable("key", key, err)
	}
	of := "cert " + cert
	if key != cert {
		of = "key " + key
	}
	switch _, err = s.Identity(time.Now()); {
	case err == nil:
		return nil
	case errors.Is(err, spec.ErrNoKey) && key == cert:
		return fmt.Errorf("--%s: %w; name the file of the key with --key", of, err)
	case errors.Is(err, spec.ErrNoKey):
		return fmt.Errorf("--%s: %w; name a PEM file", of, err)
	case errors.Is(err, spec.ErrEncryptedKey):
		return fmt.Errorf("--%s: %w; write an unencrypted one, as openssl pkey -in %s -out plain.pem", of, err, key)
	case errors.Is(err, spec.ErrOtherKey):
		return fmt.Errorf("--%s: %w in %s; name a certificate and key that match", of, err, cert)
	case errors.Is(err, spec.ErrNoCertificate):
		return fmt.Errorf("--cert %s: %w; name a PEM file", cert, err)
	}
	return fmt.Errorf("--cert %s: %w", cert, err)
}

// ofRequests lists the flags that do not apply to subscribers.
var ofRequests = []string{
	"requests", "ramp", "pipeline", "rate", "arrivals", "stages", "burst", "find", "method", "body", "body-file", "status",
	"targets", "think", "check", "upload", "chunked", "requests-per-connection", "slow-read", "slow-write", "slow-connections",
	"max-body", "keep-going", "try",
}

// asked returns the flag that selects subscribers; empty if none does.
func (l *streamFlags) asked() string {
	switch {
	case l.sse:
		return "sse"
	case l.ndjson:
		return "ndjson"
	case l.lengths != "":
		return "length-delimited"
	case l.crowd.websocket:
		return "websocket"
	}
	return ""
}

// planSubscribers makes the subscribers' part of the plan.
func (p *plan) planSubscribers(changed func(string) bool) error {
	l := &p.flags.streams
	flag := l.asked()
	if err := l.crowd.check(changed, flag, l.crowd.publish != ""); err != nil {
		return err
	}
	if flag == "" {
		for _, of := range []string{"stamp", "ids", "retry", "stall"} {
			if changed(of) {
				return fmt.Errorf("--%s is for subscribers: add --sse, --ndjson, --length-delimited or --websocket", of)
			}
		}
		return ofSubscribers(p.thresholds)
	}
	kinds := 0
	for _, given := range []bool{l.sse, l.ndjson, l.lengths != "", l.crowd.websocket} {
		if given {
			kinds++
		}
	}
	if kinds > 1 {
		return errors.New("--sse, --ndjson, --length-delimited and --websocket: write the one that fits the server's stream")
	}
	for _, of := range ofRequests {
		if changed(of) {
			return fmt.Errorf("--%s is for requests, and --%s for subscribers, who send one GET and listen: leave out one of the two", of, flag)
		}
	}
	c, err := l.config()
	if err != nil {
		return err
	}
	if err := p.planCrowd(c, changed); err != nil {
		return err
	}
	if err := c.Validate(); err != nil {
		return err
	}
	p.subscribers = c
	return counted(p.thresholds, c)
}

// counted rejects thresholds on a stamp or id that the flags do not define.
func counted(thresholds []objective.Objective, c *spec.Subscribe) error {
	for _, o := range thresholds {
		switch stamp, id := o.Needs(); {
		case stamp && c.Stamp == "":
			return fmt.Errorf("--threshold %s: say where an event has its time, as --stamp ts or --stamp @data", o)
		case id && c.ID == "":
			return fmt.Errorf("--threshold %s: say where an event has its id, as --ids seq or --ids @id", o)
		}
	}
	return nil
}

// ofSubscribers rejects thresholds on figures that only subscribers have.
func ofSubscribers(thresholds []objective.Objective) error {
	at := slices.IndexFunc(thresholds, objective.Objective.Subscribers)
	if at < 0 {
		return nil
	}
	return fmt.Errorf("--threshold %s is a figure of subscribers; add --sse, --ndjson, --length-delimited or --websocket", thresholds[at])
}

// config returns the configuration of the subscribers.
func (l *streamFlags) config() (*spec.Subscribe, error) {
	c := &spec.Subscribe{Stall: l.stall, Ends: true}
	switch {
	case l.sse:
		c.Format, c.ID = spec.FormatEvents, "@id"
	case l.ndjson:
		c.Format = spec.FormatLines
	case l.crowd.websocket:
		c.Format, c.WebSocket = spec.FormatMessage, &spec.WebSocket{Key: webSocketKey}
	case l.lengths == "u32":
		c.Format = spec.FormatLength4
	case l.lengths == "varint":
		c.Format = spec.FormatVarint
	default:
		return nil, fmt.Errorf("--length-delimited=%s: write u32 or varint", l.lengths)
	}
	switch l.ids {
	case "":
	case "none":
		c.ID = ""
	default:
		if _, err := sse.ParseSource(l.ids); err != nil {
			return nil, fmt.Errorf("--ids: %w", err)
		}
		c.ID = l.ids
	}
	if l.stamp != "" {
		var unit string
		if c.Stamp, unit, _ = strings.Cut(l.stamp, ":"); unit != "" {
			if _, err := sse.ParseUnit(unit); err != nil {
				return nil, fmt.Errorf("--stamp %s: %w", l.stamp, err)
			}
			c.Unit = unit
		}
		if _, err := sse.ParseSource(c.Stamp); err != nil {
			return nil, fmt.Errorf("--stamp: %w", err)
		}
	}
	if l.stall < 0 {
		return nil, fmt.Errorf("--stall %v: want 0 or more", l.stall)
	}
	if c.Retry = spec.NeverRetry; l.retry != "never" {
		var err error
		if c.Retry, err = time.ParseDuration(l.retry); err != nil || c.Retry < 0 {
			return nil, fmt.Errorf("--retry %s: write a time, as 3s, or never", l.retry)
		}
	}
	return c, c.Validate()
}

// fields returns the header fields that a subscriber sends unless the command line has them.
func (l *streamFlags) fields(seen map[string]bool) string {
	c, err := l.config()
	if l.asked() == "" || err != nil { // config reports the error elsewhere
		return ""
	}
	if l.crowd.websocket {
		return upgradeFields()
	}
	var b strings.Builder
	if !seen["accept"] {
		fmt.Fprintf(&b, "Accept: %s\r\n", c.Accept())
	}
	if !seen["cache-control"] {
		b.WriteString("Cache-Control: no-cache\r\n")
	}
	return b.String()
}
