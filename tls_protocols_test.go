package redline_test

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// A spoken is how a server and a client choose a protocol.
type spoken struct {
	name     string
	http1    bool // the server's protocols
	http2    bool
	next     []string           // NextProtos of the server's configuration
	config   func() *tls.Config // for each client, or nil
	client   []string           // NextProtos of the client
	suites   []uint16           // of the client, with TLS 1.2
	want     string             // what net/http does as well
	inClear  bool               // there is no TLS
	preface2 bool               // the client speaks HTTP/2 whatever was negotiated
}

// A cipher suite that RFC 9113 prohibits, and one that it does not.
var (
	prohibited = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA}
	adequate   = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}
)

const (
	closes     = "closed"
	answers1   = "HTTP/1.1 200 OK"
	settings2  = "HTTP/2"
	inadequate = "HTTP/2, GOAWAY with code 12"
	noOverlap  = "remote error: tls: no application protocol"
)

// with returns a configuration for a client that names its protocols.
func with(next ...string) func() *tls.Config {
	return func() *tls.Config {
		c := serverTLS()
		c.NextProtos = next
		return c
	}
}

var spokens = []spoken{
	{name: "both", http1: true, http2: true, client: []string{"h2", "http/1.1"}, want: settings2},
	{name: "both, HTTP/1.1 alone", http1: true, http2: true, client: []string{"http/1.1"}, want: answers1},
	{name: "both, no ALPN", http1: true, http2: true, want: answers1},
	{name: "both, unknown", http1: true, http2: true, client: []string{"foo"}, want: noOverlap},
	{name: "HTTP/2, no ALPN", http2: true, want: closes},
	{name: "HTTP/2, HTTP/1.1", http2: true, client: []string{"http/1.1"}, want: closes},
	{name: "HTTP/2, named HTTP/1.1", http2: true, next: []string{"http/1.1"}, client: []string{"http/1.1"}, want: closes},
	{name: "HTTP/2", http2: true, client: []string{"h2"}, want: settings2},
	{name: "HTTP/1, h2", http1: true, next: []string{"h2", "http/1.1"}, client: []string{"h2"}, want: noOverlap},
	{name: "another protocol", http1: true, http2: true, next: []string{"acme-tls/1"}, client: []string{"acme-tls/1"}, want: closes},
	{name: "HTTP/1.0", http1: true, http2: true, next: []string{"http/1.0"}, client: []string{"http/1.0"}, want: answers1},
	{name: "config without protocols", http1: true, http2: true, config: with(), client: []string{"h2", "http/1.1"}, want: answers1},
	{name: "config without protocols, HTTP/2 alone", http2: true, config: with(), client: []string{"h2"}, want: closes},
	{name: "config with h2, HTTP/1 alone", http1: true, config: with("h2"), client: []string{"h2"}, want: closes},
	{name: "config with h2", http1: true, http2: true, config: with("h2"), client: []string{"h2"}, want: settings2},
	{name: "config with http/1.1, HTTP/2 alone", http2: true, config: with("http/1.1"), client: []string{"http/1.1"}, want: closes},
	{name: "config with another protocol", http1: true, http2: true, config: with("acme-tls/1"), client: []string{"acme-tls/1"}, want: closes},
	{name: "TLS 1.2", http1: true, http2: true, client: []string{"h2"}, suites: adequate, want: settings2},
	{name: "prohibited suite", http1: true, http2: true, client: []string{"h2"}, suites: prohibited, want: inadequate},
	{name: "prohibited suite, HTTP/1.1", http1: true, http2: true, client: []string{"http/1.1"}, suites: prohibited, want: answers1},
	{name: "in clear, HTTP/2 over TLS alone", http2: true, inClear: true, want: closes},
	{name: "in clear, HTTP/2 over TLS alone, preface", http2: true, inClear: true, preface2: true, want: closes},
}

// TestProtocols holds the choice of protocols to net/http's.
func TestProtocols(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		for _, c := range spokens {
			p, config := new(http.Protocols), serverTLS()
			p.SetHTTP1(c.http1)
			p.SetHTTP2(c.http2)
			if config.NextProtos = c.next; c.config != nil {
				config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.config(), nil }
			}
			h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
			r := prepare(t, &redline.Server{Transport: transport, Protocols: p, TLSConfig: config, Handler: h})
			listen := r.ListenTLS
			if c.inClear {
				listen = func(addr, _, _ string) (net.Addr, error) { return r.Listen(addr) }
			}
			at, err := listen("127.0.0.1:0", "", "")
			noError(t, err)
			r.run(r.Run)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			noError(t, err)
			std := &http.Server{Protocols: p, TLSConfig: config.Clone(), Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
			ended := make(chan error, 1)
			go func() {
				if c.inClear {
					ended <- std.Serve(l)
				} else {
					ended <- std.ServeTLS(l, "", "")
				}
			}()
			if got := c.speak(t, l.Addr()); got != c.want {
				t.Errorf("%s: net/http: %s, want %s", c.name, got, c.want)
			}
			if got := c.speak(t, at); got != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
			noError(t, std.Close())
			<-ended
			noError(t, r.Close())
		}
	}, overTLS)
}

// speak has a client choose a protocol, and returns what the server does.
func (c *spoken) speak(t *testing.T, at net.Addr) string {
	t.Helper()
	conn, err := net.Dial("tcp", at.String())
	noError(t, err)
	defer conn.Close()
	protocol := ""
	if !c.inClear {
		config := clientTLS()
		if config.NextProtos = c.client; c.suites != nil {
			config.MaxVersion, config.CipherSuites = tls.VersionTLS12, c.suites
		}
		secure := tls.Client(conn, config)
		if err := secure.Handshake(); err != nil {
			return err.Error()
		}
		protocol, conn = secure.ConnectionState().NegotiatedProtocol, secure
	}
	return answerOver(t, conn, protocol == "h2" || c.preface2)
}

// answerOver sends a request, or a preface, and tells how it is answered.
func answerOver(t *testing.T, conn net.Conn, overHTTP2 bool) string {
	t.Helper()
	noError(t, conn.SetDeadline(time.Now().Add(patience)))
	if !overHTTP2 {
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n") // it may have been closed
		line, _, err := bufio.NewReader(conn).ReadLine()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		} else if err != nil {
			return closes
		}
		return string(line)
	}
	_, _ = io.WriteString(conn, hello2(1<<16-1))
	for {
		kind, flags, payload, err := readFrame2(conn)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			t.Fatal(err)
		case err != nil:
			return closes
		case kind == kindSettings && flags == ackFlag:
			return settings2
		case kind == kindGoAway:
			return fmt.Sprintf("%s, GOAWAY with code %d", settings2, binary.BigEndian.Uint32(payload[4:]))
		}
	}
}

// readFrame2 reads a frame.
func readFrame2(r io.Reader) (kind, flags byte, payload []byte, err error) {
	var head [9]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, 0, nil, err
	}
	payload = make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
	_, err = io.ReadFull(r, payload)
	return head[3], head[4], payload, err
}
