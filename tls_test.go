package redline_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/internal/transport/transporttest"
)

// pemFiles are the files of the certificate.
func pemFiles(t *testing.T) (cert, key string) {
	t.Helper()
	c := transporttest.Certificates()[0]
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	noError(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	noError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}), 0o600))
	noError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
	return cert, key
}

// httpsClient is a client that does not verify the certificate.
func httpsClient(t *testing.T, c *tls.Config) *http.Client {
	transport := &http.Transport{TLSClientConfig: c}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// bodyOf returns the body of a URL.
func bodyOf(t *testing.T, c *http.Client, url string) string {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	noError(t, err)
	return string(b)
}

// TestListenTLS serves addresses with and without TLS by one server, from files and from
// TLSConfig, and wants handlers of both kinds to see the state.
func TestListenTLS(t *testing.T) {
	cert, key := pemFiles(t)
	onEach(t, func(t *testing.T, transport redline.Transport) {
		native := func(c *redline.Ctx) {
			if st := c.TLS(); st != c.TLS() {
				t.Error("the state is not the same one")
			}
			c.Text(200, fmt.Sprint("native ", c.TLS() != nil))
		}
		router := redline.NewRouter()
		router.GET("/native", native)
		router.Mount("/http", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "http ", r.TLS != nil && r.TLS.HandshakeComplete)
		}))
		r := prepare(t, &redline.Server{Transport: transport, Native: router.Serve})
		clear, err := r.Listen("127.0.0.1:0")
		noError(t, err)
		files, err := r.ListenTLS("127.0.0.1:0", cert, key)
		noError(t, err)
		adopted := loopback(t)
		noError(t, r.AdoptTLS(adopted, cert, key))
		r.run(r.Run)
		client := httpsClient(t, clientTLS())
		var secure atomic.Uint64 // connections, of which the client may open more than one to an address
		client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr != clear.String() {
				secure.Add(1)
			}
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
		for _, path := range []string{"native", "http"} {
			for base, want := range map[string]string{
				"http://" + clear.String(): "false", "https://" + files.String(): "true", "https://" + adopted.Addr().String(): "true",
			} {
				if got := bodyOf(t, client, base+"/"+path); got != path+" "+want {
					t.Errorf("%s %s: %q, want %s", base, path, got, want)
				}
			}
		}
		if st := r.Stats().TLS; st.Full < 2 || st.Full != secure.Load() {
			t.Errorf("handshakes of %d connections: %+v", secure.Load(), st)
		}
	}, overTLS)
}

// TestTLSConfig has what only crypto/tls knows reach it: names, certificates of clients,
// resumption.
func TestTLSConfig(t *testing.T) {
	for _, transport := range transports() {
		config := serverTLS()
		config.ClientAuth = tls.RequireAnyClientCert
		r := prepare(t, &redline.Server{Transport: transport, TLSConfig: config, Native: func(c *redline.Ctx) {
			st := c.TLS()
			c.Text(200, fmt.Sprint(st.ServerName, " ", len(st.PeerCertificates), " ", st.DidResume, " ", st.NegotiatedProtocol))
		}})
		var err error
		r.addr, err = r.ListenTLS("127.0.0.1:0", "", "")
		noError(t, err)
		r.run(r.Run)
		c := clientTLS()
		c.ServerName, c.Certificates, c.NextProtos = "example.com", transporttest.Certificates(), []string{"http/1.1"}
		c.ClientSessionCache = tls.NewLRUClientSessionCache(1)
		c.CurvePreferences = nil // the usual ones, with a long hello
		for _, resumed := range []bool{false, true} {
			nc, err := tls.Dial("tcp", r.addr.String(), c)
			noError(t, err)
			fmt.Fprint(nc, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
			b, err := io.ReadAll(nc)
			if want := fmt.Sprint("example.com 1 ", resumed, " http/1.1"); err != nil || !strings.HasSuffix(string(b), want) {
				t.Errorf("%s: client reads %q, %v, want %q", transport, b, err, want)
			}
			nc.Close()
		}
		if st := r.Stats().TLS; st.Full != 1 || st.Resumed != 1 {
			t.Errorf("%s: handshakes: %+v", transport, st)
		}
		if config.NextProtos != nil {
			t.Error("the caller's configuration has changed")
		}
	}
}

// TestTLSErrors has servers that cannot serve HTTPS.
func TestTLSErrors(t *testing.T) {
	s := &redline.Server{Native: text("x")}
	if _, err := s.ListenTLS("127.0.0.1:0", "", ""); err == nil {
		t.Error("ListenTLS succeeds without a certificate")
	}
	if err := s.ServeTLS(loopback(t), "missing.pem", "missing.pem"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ServeTLS without files: %v", err)
	}
	if _, err := s.Listen("127.0.0.1:0"); err != nil {
		t.Errorf("Listen after that: %v", err)
	}
	noError(t, s.Close())
}

// TestPlainOnTLS wants what net/http answers and logs.
func TestPlainOnTLS(t *testing.T) {
	var logged journal
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := prepare(t, &redline.Server{Transport: transport, TLSConfig: serverTLS(), Native: text("x"), ErrorLog: log.New(&logged, "", 0)})
		var err error
		r.addr, err = r.ListenTLS("127.0.0.1:0", "", "")
		noError(t, err)
		r.run(r.Run)
		c := r.dial()
		c.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		b, err := io.ReadAll(c.r)
		if want := "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"; err != nil || string(b) != want {
			t.Errorf("client reads %q, %v, want %q", b, err, want)
		}
		want := fmt.Sprintf("http: TLS handshake error from %v: client sent an HTTP request to an HTTPS server\n", c.LocalAddr())
		until(t, "it is logged", func() bool { return strings.Contains(logged.String(), want) })
		if st := r.Stats().TLS; st.PlainHTTP != 1 {
			t.Errorf("handshakes: %+v", st)
		}
	}, overTLS)
}

// TestShutdownInHandshake shuts down while clients are within their handshakes: those that
// go on are served, and the others cut when its context ends.
func TestShutdownInHandshake(t *testing.T) {
	for _, transport := range transports() {
		release := make(chan struct{})
		config := serverTLS()
		config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { <-release; return nil, nil }
		r := prepare(t, &redline.Server{Transport: transport, TLSConfig: config, Native: text("x")})
		var err error
		r.addr, err = r.ListenTLS("127.0.0.1:0", "", "")
		noError(t, err)
		r.run(r.Run)
		half, nc := r.dial(), r.dial()
		until(t, "both are accepted", func() bool { return r.Stats().Open == 2 })
		down, answers := make(chan error, 1), make(chan string, 1)
		go func() {
			secure := tls.Client(nc, clientTLS())
			fmt.Fprint(secure, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
			b, _ := io.ReadAll(secure)
			answers <- string(b)
		}()
		until(t, "a hello is received", func() bool { return r.Stats().BytesIn > 100 })
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		began := time.Now()
		go func() { down <- r.Shutdown(ctx) }()
		receive(t, r.Stopping(), "the server stops")
		close(release)
		if got := receive(t, answers, "the client is answered"); !strings.Contains(got, "Connection: close") {
			t.Errorf("client reads %q", got)
		}
		cancel()
		// half has sent nothing, and is waited for, but not for long.
		if err := receive(t, down, "Shutdown returns"); !errors.Is(err, context.Canceled) && (err != nil || time.Since(began) < 4*time.Second) {
			t.Errorf("Shutdown returns %v after %v", err, time.Since(began))
		}
		half.wantGone()
	}
}

// TestSlowHandshake has clients that stop within their handshakes: they are closed in time,
// and counted.
func TestSlowHandshake(t *testing.T) {
	for _, transport := range transports() {
		r := prepare(t, &redline.Server{Transport: transport, TLSConfig: serverTLS(), Native: text("x"), ReadHeaderTimeout: 50 * time.Millisecond})
		var err error
		r.addr, err = r.ListenTLS("127.0.0.1:0", "", "")
		noError(t, err)
		r.run(r.Run)
		var all []*client
		for _, sent := range []string{"", "\x16\x03", "\x16\x03\x01\x00\x40\x01"} {
			c := r.dial()
			c.send("%s", sent)
			all = append(all, c)
		}
		for _, c := range all {
			c.wantGone()
		}
		if st := r.Stats().TLS; st.TimedOut != 3 {
			t.Errorf("%s: handshakes: %+v", transport, st)
		}
	}
}

// TestKeyUpdate has a client change its keys, and ask the server for new ones, between
// requests. It needs openssl.
func TestKeyUpdate(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not installed: no other client at hand updates its keys")
	}
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := prepare(t, &redline.Server{Transport: transport, TLSConfig: serverTLS(), Native: text("hello")})
		at, err := r.ListenTLS("127.0.0.1:0", "", "")
		noError(t, err)
		r.run(r.Run)
		cmd := exec.Command("openssl", "s_client", "-connect", at.String(), "-tls1_3", "-crlf")
		in, err := cmd.StdinPipe()
		noError(t, err)
		var got journal
		cmd.Stdout, cmd.Stderr = &got, &got
		noError(t, cmd.Start())
		for i, line := range []string{"", "K\n", "k\n"} {
			_, err := io.WriteString(in, line)
			noError(t, err)
			// A command is a line that is read alone.
			until(t, "the keys are updated", func() bool { return strings.Count(got.String(), "KEYUPDATE") >= i })
			_, err = io.WriteString(in, "GET / HTTP/1.1\nHost: h\n\n")
			noError(t, err)
			until(t, "the answer arrives", func() bool { return strings.Count(got.String(), "hello") > i })
		}
		in.Close()
		_ = cmd.Wait() // its status is not ours
		if n := strings.Count(got.String(), "KEYUPDATE"); n != 2 {
			t.Errorf("the client has updated its keys %d times, want 2: %s", n, got.String())
		}
	}, overTLS)
}
