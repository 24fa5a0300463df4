package export

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/internal/redact"
)

// Output is one receiver, as written.
type Output struct {
	format string
	where  string   // as written; never shown, because it may contain credentials
	url    *url.URL // nil if where is not a URL
}

// The formats, as written before the equals sign.
const (
	toPrometheus  = "prometheus"
	toRemoteWrite = "remote-write"
	toOTLP        = "otlp"
	toInfluxDB    = "influxdb"
)

// scrapePort is the default address of OpenTelemetry's Prometheus exporters.
const scrapePort = ":9464"

// Parse parses an output, as prometheus=:9464 or otlp. Its errors do not contain text that may
// have credentials.
func Parse(text string) (o Output, err error) {
	o.format, o.where, _ = strings.Cut(text, "=")
	switch o.format {
	case toPrometheus:
		if o.where == "" {
			o.where = scrapePort
		}
		if _, port, err := net.SplitHostPort(o.where); err != nil || port == "" {
			return o, errors.New("prometheus: write the address to listen at, as prometheus=:9464 or prometheus=127.0.0.1:9464")
		}
		return o, nil
	case toRemoteWrite:
		o.url, err = parseURL(o.format, o.where, "http://127.0.0.1:9090/api/v1/write")
		return o, err
	case toOTLP:
		return parseOTLP(o, os.Getenv)
	case toInfluxDB:
		return parseInflux(o)
	}
	return o, fmt.Errorf("%s is not a format: write prometheus=:9464, remote-write=URL, otlp=URL or influxdb=URL", quoted(o.format))
}

// quoted quotes a wrong format if it is a plain word, which cannot be a secret.
func quoted(word string) string {
	if word == "" || len(word) > 20 || strings.ContainsAny(word, ":/@ ") {
		return "that"
	}
	return fmt.Sprintf("%q", word)
}

// parseURL parses the URL of a receiver.
func parseURL(format, text, example string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Fragment != "" {
		return nil, fmt.Errorf("%s: want a URL, as %s=%s", format, format, example)
	}
	if i := slices.IndexFunc([]string{"token", "access_token", "p", "password"}, u.Query().Has); i >= 0 {
		return nil, fmt.Errorf("%s: leave the password or token out of the query; write http://USER:PASSWORD@HOST, or set the environment variable that redline load --help names", format)
	}
	return u, nil
}

// String returns the output without credentials.
func (o Output) String() string {
	if o.url == nil {
		return o.format + "=" + o.where
	}
	return o.format + "=" + shown(o.url)
}

// shown returns a URL without credentials.
func shown(u *url.URL) string {
	plain := *u
	plain.User = nil
	return redact.Text(plain.String())
}

// File returns the path of the file that the output writes, if it writes one.
func (o Output) File() string {
	if o.format == toInfluxDB && o.url == nil {
		return o.where
	}
	return ""
}

// Fetched reports whether the receiver scrapes the figures from this process.
func (o Output) Fetched() bool { return o.format == toPrometheus }

// receiver returns the receiver of the output.
func (o Output) receiver(tool string) (receiver, error) {
	switch o.format {
	case toPrometheus:
		return &scraped{addr: o.where}, nil
	case toRemoteWrite:
		w, err := newRemoteWrite(o, tool)
		if err != nil {
			return nil, err
		}
		return newQueue(w), nil
	case toOTLP:
		w, err := newOTLP(o, tool)
		if err != nil {
			return nil, err
		}
		return newQueue(w), nil
	}
	w, err := newInflux(o, tool)
	if err != nil {
		return nil, err
	}
	return newQueue(w), nil
}
