package main

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// serveProtocol starts a server in this process, with TLS or HTTP/2 if requested, that
// counts its HTTP/2 requests.
func serveProtocol(t *testing.T, secure, http2 bool) (s *httptest.Server, second *atomic.Int64) {
	t.Helper()
	second = new(atomic.Int64)
	s = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 {
			second.Add(1)
		}
		if r.URL.Path != "/hello" || r.Host == "" || r.Header.Get("User-Agent") != "redline" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, "hello")
	}))
	s.EnableHTTP2 = http2
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // drops the errors of handshakes that fail on purpose
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetHTTP2(http2)
	s.Config.Protocols.SetUnencryptedHTTP2(http2 && !secure)
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s, second
}

func TestLoadProtocols(t *testing.T) {
	both, second := serveProtocol(t, true, true)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: both.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	clear, known := serveProtocol(t, false, true)
	for _, c := range []struct {
		name   string
		args   []string
		second *atomic.Int64 // counter that increases; nil: HTTP/1.1
		secure bool
		words  string
	}{
		{"TLS", []string{"--insecure", both.URL + "/hello"}, nil, true, "3 connections, TLS 1.3, closed loop"},
		{"TLS, trusted", []string{"--ca", ca, "--server-name", "example.com", both.URL + "/hello"}, nil, true, "TLS 1.3, TLS_"},
		{"HTTP/2", []string{"--tls-insecure", "--http2", "--streams", "4", both.URL + "/hello"}, second, true, "4 HTTP/2 streams on each, TLS 1.3"},
		{"HTTP/2, open loop", []string{"--insecure", "--http2", "-r", "200", both.URL + "/hello"}, second, true, "HTTP/2, TLS 1.3, open loop"},
		{"HTTP/2 in clear", []string{"--http2", clear.URL + "/hello"}, known, false, "3 connections, HTTP/2, closed loop"},
		{"HTTP/2, checked", []string{"--http2", "--check", "body contains hello", "--upload", "200KiB", clear.URL + "/hello"}, known, false, "POST "},
		{"resumed", []string{"--insecure", "--tls-resume", "--requests-per-connection", "2", both.URL + "/hello"}, nil, true, "of them resumed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "HTTP/2, open loop" {
				once(t)
			}
			all := second.Load() + known.Load()
			file := filepath.Join(t.TempDir(), "run.json")
			code, out, said := loadOf(t, t.Context(), counted(60, append([]string{"--json", file}, c.args...)...)...)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("exit code %d, %s", code, said)
			}
			d := documentOf(t, string(text))
			if code != 0 || d.Requests == 0 || len(d.Errors) > 0 || !strings.Contains(out, c.words) {
				t.Errorf("exit code %d, %d right, errors %v, %s", code, d.Requests, d.Errors, out)
			}
			if now := second.Load() + known.Load(); (c.second != nil) != (now > all) || c.second != nil && uint64(c.second.Load()) < d.Requests {
				t.Errorf("%d requests by HTTP/2 and %d in all before, %d right ones", now, all, d.Requests)
			}
			if (d.TLS != nil) != c.secure || c.secure && (d.TLS.Handshakes < 3 || d.TLS.Time.Count != d.TLS.Handshakes || d.Config.TLS == nil) {
				t.Errorf("TLS %+v", d.TLS)
			}
			if d.Config.HTTP2 != (c.second != nil) {
				t.Errorf("config %+v", d.Config)
			}
		})
	}
}

// Errors are reported before the run, with what to write instead.
func TestLoadProtocolsRefused(t *testing.T) {
	one, _ := serveProtocol(t, true, false)
	clear, _ := serveProtocol(t, false, false)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: one.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	secured := strings.Replace(clear.URL, "http://", "https://", 1)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{one.URL + "/hello"}, 1, "is not trusted: x509: certificate signed by unknown authority; name the certificate of its issuer with --ca FILE, or write --insecure to load it anyway"},
		{[]string{"--ca", ca, "--server-name", "other.org", one.URL + "/hello"}, 1, "write --server-name NAME with a name in the certificate"},
		{[]string{"--http2", "--insecure", one.URL + "/hello"}, 1, "does not offer HTTP/2; leave out --http2"},
		{[]string{"--insecure", secured + "/hello"}, 1, "does not use TLS: write http:// if it uses clear text"},
		{[]string{"--streams", "4", "http://127.0.0.1:1/"}, 2, "--streams is for HTTP/2: add --http2; HTTP/1.1 has --pipeline"},
		{[]string{"--http2", "--streams", "0", "http://127.0.0.1:1/"}, 2, "--streams 0: want 1 to 4096"},
		{[]string{"--http2", "--pipeline", "8", "http://127.0.0.1:1/"}, 2, "with --http2 write --streams 8"},
		{[]string{"--http2", "--chunked", "--body", "x", "http://127.0.0.1:1/"}, 2, "--chunked is for HTTP/1.1"},
		{[]string{"--insecure", "http://127.0.0.1:1/"}, 2, "--insecure is for TLS: load a URL that begins with https://"},
		{[]string{"--tls-resume", "http://127.0.0.1:1/"}, 2, "--tls-resume is for TLS"},
		{[]string{"--slow-read", "1KiB", "https://127.0.0.1:1/"}, 2, "slow clients use HTTP/1.1 in clear text"},
		{[]string{"--sse", one.URL + "/hello"}, 1, "name the certificate of its issuer with --ca FILE, or write --insecure to load it anyway"},
		{[]string{"--ndjson", "--http2", "--insecure", one.URL + "/hello"}, 1, "does not offer HTTP/2; leave out --http2"},
		{[]string{"--sse", "--insecure", secured + "/hello"}, 1, "does not use TLS: write http:// if it uses clear text"},
		{[]string{"--sse", "--streams", "4", "http://127.0.0.1:1/"}, 2, "--streams is for HTTP/2: add --http2"},
		{[]string{"--sse", "--insecure", "http://127.0.0.1:1/"}, 2, "--insecure is for TLS: load a URL that begins with https://"},
		{[]string{"--insecure", "--ca", ca, "https://127.0.0.1:1/"}, 2, "leave out --ca or --insecure"},
		{[]string{"--ca", filepath.Join(t.TempDir(), "absent"), "https://127.0.0.1:1/"}, 2, "there is no such file"},
		{[]string{"--ca", "load_loop_test.go", "https://127.0.0.1:1/"}, 2, "the file contains no certificate; name a PEM file"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			code, _, said := loadOf(t, t.Context(), short(c.args...)...)
			if code != c.code || !strings.Contains(said, c.want) {
				t.Errorf("exit code %d, %q; want %d, %q", code, said, c.code, c.want)
			}
		})
	}
}

// A scenario is tried, and then run, over each protocol.
func TestLoadTryProtocols(t *testing.T) {
	once(t)
	s, second := serveProtocol(t, true, true)
	name := filepath.Join(t.TempDir(), "s.yaml")
	text := "defaults: {headers: {User-Agent: redline}}\ntargets: [{name: one, url: /hello, checks: [{body: {contains: hello}}]}]\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, http2 := range []bool{false, true} {
		args := []string{"--insecure", "--targets", name, s.URL}
		if http2 {
			args = append(args, "--http2", "--streams", "3")
		}
		before := second.Load()
		if code, out, said := loadOf(t, t.Context(), append([]string{"--try"}, args...)...); code != 0 || !strings.Contains(out, "right: 1 of 1") {
			t.Errorf("exit code %d, %s%s", code, out, said)
		}
		if tried := second.Load() > before; tried != http2 {
			t.Errorf("tried by HTTP/2: %v", tried)
		}
		if code, out, said := loadOf(t, t.Context(), short(args...)...); code != 0 || !strings.Contains(out, "one") {
			t.Errorf("exit code %d, %s%s", code, out, said)
		}
	}
}
