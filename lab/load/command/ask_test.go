package command

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/spec"
)

// askClear sends a request to a server over HTTP/2 in clear text.
func askClear(t *testing.T, addr string) error { return askOnce(t, addr, &protocol{HTTP2: true}) }

// askOnce sends one request to a server.
func askOnce(t *testing.T, addr string, spoken *protocol) error {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stop, err := endAfter(t.Context(), conn, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	wire := "GET / HTTP/1.1\r\nHost: " + addr + "\r\n\r\n"
	over, err := spoken.secure(t.Context(), conn, new(bool))
	if err != nil {
		return err
	}
	scheme := "http"
	if spoken.TLS != nil {
		scheme = "https"
	}
	answer, end, err := spoken.exchange(t.Context(), over, http.MethodGet, &url.URL{Scheme: scheme, Host: addr, Path: "/"}, []byte(wire))
	if err != nil {
		return err
	}
	defer end()
	return answer.Body.Close()
}

// ALPN negotiates the protocol of a secure connection.
func TestSecure(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	spoken := &protocol{HTTP2: true, TLS: &spec.TLS{ServerName: "example.com", Insecure: true}}
	if err := askOnce(t, s.Listener.Addr().String(), spoken); err != nil {
		t.Error(err)
	}
}

// A server without HTTP/2 in clear text is distinguished from one that does not answer.
func TestClear(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	defer s.Close()
	if err := askClear(t, s.Listener.Addr().String()); err != nil {
		t.Errorf("one that does: %v", err)
	}
	old := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer old.Close()
	if err := askClear(t, old.Listener.Addr().String()); err == nil || !strings.Contains(err.Error(), "answers in HTTP/1: it does not support HTTP/2 in clear text; leave out --http2") {
		t.Errorf("one that answers in HTTP/1.1: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	if err := askClear(t, l.Addr().String()); err == nil || !strings.Contains(err.Error(), "closed the connection without an answer: it does not support HTTP/2 in clear text") {
		t.Errorf("one that goes: %v", err)
	}
}
