package export

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/internal/redact"
	"github.com/redline-go/redline/lab/report"
)

const (
	answerMost = 64 << 10 // maximum bytes of an answer that are read
	answerShow = 200      // maximum bytes of it that are shown
)

// poster sends messages to one URL.
type poster struct {
	client  *http.Client
	url     *url.URL // without a user
	header  http.Header
	secrets []string // texts that no error may contain
}

// newPoster returns a poster for a URL. The user of the URL becomes Basic authentication. A nil
// conf trusts the system's certificates.
func newPoster(u *url.URL, tool string, timeout time.Duration, conf *tls.Config) *poster {
	plain := *u
	plain.User = nil
	p := &poster{url: &plain, header: http.Header{"User-Agent": {"redline/" + tool}}}
	if u.User != nil {
		password, _ := u.User.Password()
		r := http.Request{Header: p.header}
		r.SetBasicAuth(u.User.Username(), password)
		p.keep(password)
	}
	p.client = &http.Client{
		Timeout:   timeout,
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: conf, ForceAttemptHTTP2: true},
		// Redirects are not followed, so credentials go to no other server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p
}

// keep records a secret.
func (p *poster) keep(secret string) {
	if secret != "" {
		p.secrets = append(p.secrets, secret)
	}
}

// post sends a message and returns the answer.
func (p *poster) post(ctx context.Context, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, errRefused // the URL is already validated
	}
	r.Header = p.header.Clone()
	answer, err := p.client.Do(r)
	if err != nil {
		var wrapped *url.Error // contains the URL
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return nil, p.hide(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, answerMost))
	switch {
	case err != nil:
		return nil, p.hide(err)
	case answer.StatusCode < 300:
		return text, nil
	}
	err = fmt.Errorf("the answer has status %d%s", answer.StatusCode, p.excerpt(text))
	if answer.StatusCode < 500 && answer.StatusCode != http.StatusTooManyRequests {
		err = fmt.Errorf("%w: %w", errRefused, err)
	}
	return nil, err
}

// excerpt returns the beginning of an answer, for a message.
func (p *poster) excerpt(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if line = p.clean(line); line == "" {
		return ""
	}
	return ": " + report.Line(strings.ToValidUTF8(line[:min(len(line), answerShow)], ""))
}

// hide removes the secrets from an error.
func (p *poster) hide(err error) error {
	if text := err.Error(); p.clean(text) != text {
		return errors.New(p.clean(text))
	}
	return err
}

func (p *poster) clean(text string) string {
	for _, s := range p.secrets {
		text = strings.ReplaceAll(text, s, "REDACTED")
	}
	return redact.Text(text)
}

func (p *poster) close() error {
	p.client.CloseIdleConnections()
	return nil
}

// headersOf parses header fields in the format of OpenTelemetry's environment variables:
// NAME=VALUE,NAME=VALUE with percent-encoding. Its errors name the variable and do not contain
// its value.
func headersOf(variable, text string) (http.Header, error) {
	list, err := pairsOf(variable, text)
	h := http.Header{}
	for _, l := range list {
		h.Set(l.name, l.value)
	}
	return h, err
}

// pairsOf is headersOf for any pairs.
func pairsOf(variable, text string) (list []label, err error) {
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || err != nil || name == "" || strings.ContainsAny(value, "\r\n") {
			return nil, fmt.Errorf("%s: write it as NAME=VALUE,NAME=VALUE, with commas in a value as %%2C", variable)
		}
		list = append(list, label{name, value})
	}
	return list, nil
}

// use adds header fields; their values are secrets.
func (p *poster) use(h http.Header) {
	for name, values := range h {
		p.header[name] = values
		for _, v := range values {
			p.keep(v)
			if _, credential, ok := strings.Cut(v, " "); ok { // as Bearer TOKEN
				p.keep(credential)
			}
		}
	}
}
