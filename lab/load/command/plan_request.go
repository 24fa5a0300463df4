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
	head.WriteString(l.streams.fields(seen))
	r.stream = l.streams.asked() != ""
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
		begin, _, _ := strings.Cut(strings.TrimSpace(name), " ") // the rest may be a credential
		err = fmt.Errorf("--header '%s...': write 'NAME: VALUE', as 'Accept: text/html'", report.Line(begin))
	case strings.ContainsAny(value, "\r\n\x00"):
		err = fmt.Errorf("--header %s: a value is one line", name)
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

// maxStreams is what a connection of HTTP/2 is asked to carry at most.
const maxStreams = 4096

// planProtocol prepares what is spoken; the request is there.
func (p *plan) planProtocol(changed func(string) bool) (err error) {
	l, users := &p.flags.protocol, &p.flags.users
	secure := p.request.url.Scheme == "https"
	for _, flag := range []string{"insecure", "tls-insecure", "tls-resume", "server-name", "ca"} {
		if changed(flag) && !secure {
			return fmt.Errorf("--%s is about TLS: load an URL that begins with https://, or leave it out", flag)
		}
	}
	switch {
	case changed("streams") && !l.http2:
		return errors.New("--streams is about HTTP/2: write --http2 as well; HTTP/1.1 has --pipeline")
	case l.streams < 1 || l.streams > maxStreams:
		return fmt.Errorf("--streams %d: want 1 to %d", l.streams, maxStreams)
	case l.http2 && p.flags.pipeline > 1:
		return fmt.Errorf("--pipeline is about HTTP/1.1: with --http2 write --streams %d", p.flags.pipeline)
	case l.http2 && users.chunked:
		return errors.New("--chunked is about HTTP/1.1: leave it out, HTTP/2 has frames")
	case (l.http2 || secure) && (users.slowRead != "" || users.slowWrite != ""):
		return errors.New("--slow-read and --slow-write: slow clients speak HTTP/1.1 in clear; load an http:// URL without --http2")
	case l.insecure && l.ca != "":
		return errors.New("--insecure takes any certificate: leave out --ca, or --insecure")
	}
	p.protocol = &protocol{HTTP2: l.http2}
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

// tlsOf is how a server is spoken to over TLS.
func (p *plan) tlsOf(u *url.URL) (*spec.TLS, error) {
	s := &spec.TLS{ServerName: cmp.Or(p.flags.protocol.serverName, u.Hostname()), Insecure: p.flags.protocol.insecure, Resume: p.flags.protocol.resume}
	if p.flags.protocol.ca == "" {
		return s, nil
	}
	var err error
	if s.Roots, err = os.ReadFile(p.flags.protocol.ca); err != nil {
		return nil, readable("ca", p.flags.protocol.ca, err)
	}
	if _, err := s.Pool(); err != nil {
		return nil, fmt.Errorf("--ca %s: there is no certificate in it; give a PEM file", p.flags.protocol.ca)
	}
	return s, nil
}

// ofRequests are the flags that subscribers have no use for.
var ofRequests = []string{
	"ramp", "pipeline", "rate", "arrivals", "stages", "burst", "find", "method", "body", "body-file", "status",
	"targets", "think", "check", "upload", "chunked", "requests-per-connection", "slow-read", "slow-write", "slow-connections",
	"max-body", "keep-going", "try",
}

// asked names the flag that asks for subscribers; empty if none does.
func (l *streamFlags) asked() string {
	switch {
	case l.sse:
		return "sse"
	case l.ndjson:
		return "ndjson"
	case l.lengths != "":
		return "length-delimited"
	}
	return ""
}

// planSubscribers makes the subscribers' part of the plan.
func (p *plan) planSubscribers(changed func(string) bool) error {
	l := &p.flags.streams
	flag := l.asked()
	if flag == "" {
		for _, of := range []string{"stamp", "ids", "retry", "stall"} {
			if changed(of) {
				return fmt.Errorf("--%s is about subscribers: say of what with --sse, --ndjson or --length-delimited", of)
			}
		}
		return ofSubscribers(p.thresholds)
	}
	if l.sse && l.ndjson || l.lengths != "" && (l.sse || l.ndjson) {
		return errors.New("--sse, --ndjson and --length-delimited: one of them, as the server's stream is")
	}
	for _, of := range ofRequests {
		if changed(of) {
			return fmt.Errorf("--%s is about requests, and --%s about subscribers, who send one GET and listen: leave out one of the two", of, flag)
		}
	}
	c, err := l.config()
	if err != nil {
		return err
	}
	p.subscribers = c
	return counted(p.thresholds, c)
}

// counted refuses thresholds on what no event is asked for.
func counted(thresholds []objective.Objective, c *spec.Subscribe) error {
	for _, o := range thresholds {
		switch stamp, id := o.Needs(); {
		case stamp && c.Stamp == "":
			return fmt.Errorf("--threshold %s: say where in an event its time is, as --stamp ts or --stamp @data", o)
		case id && c.ID == "":
			return fmt.Errorf("--threshold %s: say where in an event its id is, as --ids seq or --ids @id", o)
		}
	}
	return nil
}

// ofSubscribers refuses thresholds on what requests do not have.
func ofSubscribers(thresholds []objective.Objective) error {
	at := slices.IndexFunc(thresholds, objective.Objective.Subscribers)
	if at < 0 {
		return nil
	}
	return fmt.Errorf("--threshold %s: that is a figure of subscribers; add --sse, --ndjson or --length-delimited", thresholds[at])
}

// config says what the streams are.
func (l *streamFlags) config() (*spec.Subscribe, error) {
	c := &spec.Subscribe{Stall: l.stall, Ends: true}
	switch {
	case l.sse:
		c.Format, c.ID = spec.FormatEvents, "@id"
	case l.ndjson:
		c.Format = spec.FormatLines
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

// fields are the headers that a subscriber sends unless the command line has them.
func (l *streamFlags) fields(seen map[string]bool) string {
	c, err := l.config()
	if l.asked() == "" || err != nil { // the error is that of subscribe
		return ""
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
