//go:build linux

package peers_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// withoutHTTP2 lists the stacks that speak HTTP/1.1 only.
var withoutHTTP2 = []string{"fasthttp", "fiber", "hertz"}

// certificate writes a certificate for 127.0.0.1 and its key, and returns the flags that name
// them, and a pool with the certificate.
func certificate(t *testing.T) (flags []string, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	roots.AddCert(leaf)
	return []string{"--cert", write("cert.pem", "CERTIFICATE", der), "--key", write("key.pem", "PRIVATE KEY", private)}, roots
}

// TestTLS checks that every stack speaks TLS when it has a certificate, with the common
// cryptography and the protocols that it has.
func TestTLS(t *testing.T) {
	flags, roots := certificate(t)
	for _, name := range stacks {
		t.Run(name, func(t *testing.T) {
			p := start(t, name, flags...)
			offers := []string{"http/1.1"}
			if !slices.Contains(withoutHTTP2, name) {
				offers = append(offers, "h2")
			}
			for _, offer := range offers {
				exchangeOver(t, p, roots, offer)
			}
			if status := p.stop(t, syscall.SIGTERM); status != 0 {
				t.Errorf("exit status %d", status)
			}
		})
	}
}

// exchangeOver sends requests over the protocol.
func exchangeOver(t *testing.T, p *process, roots *x509.CertPool, protocol string) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", NextProtos: []string{protocol}}, Protocols: new(http.Protocols)}
	defer transport.CloseIdleConnections()
	transport.Protocols.SetHTTP1(protocol != "h2")
	transport.Protocols.SetHTTP2(protocol == "h2")
	client := &http.Client{Transport: transport, Timeout: patience}
	body := strings.Repeat("x", 1<<20)
	for _, test := range []struct{ method, path, body, want string }{
		{"GET", "/plaintext", "", "Hello, World!"},
		{"POST", "/echo", body, body},
		{"POST", "/upload", body, "1048576"},
	} {
		req, err := http.NewRequest(test.method, "https://"+p.addr+test.path, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(req)
		if err != nil {
			t.Fatalf("%s %s over %s: %v", test.method, test.path, protocol, err)
		}
		got, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != 200 || string(got) != test.want {
			t.Errorf("%s %s over %s: status %d, %d bytes, %v", test.method, test.path, protocol, answer.StatusCode, len(got), err)
		}
		s := answer.TLS
		if s.NegotiatedProtocol != protocol || s.Version != tls.VersionTLS13 || s.CipherSuite != tls.TLS_AES_128_GCM_SHA256 || s.CurveID != tls.X25519 {
			t.Errorf("%s: the handshake chose %q, %s, %s, %v", protocol, s.NegotiatedProtocol, tls.VersionName(s.Version), tls.CipherSuiteName(s.CipherSuite), s.CurveID)
		}
	}
}

// TestTLSThatCannotBe checks the errors of wrong flags, and of limit, which has no TLS.
func TestTLSThatCannotBe(t *testing.T) {
	flags, _ := certificate(t)
	for _, test := range []struct {
		name   string
		flags  []string
		status int
		want   string
	}{
		{"limit", flags, 1, "does not speak TLS"},
		{"nethttp", flags[:2], 2, "give both, or none"},
		{"redline", []string{"--cert", "/nonexistent", "--key", "/nonexistent"}, 1, "load certificate"},
	} {
		p := launch(t, test.name, freeAddr(t), filepath.Join(shortDir(t), "control"), test.flags...)
		if status := p.wait(t); status != test.status || !strings.Contains(p.stderr.String(), test.want) {
			t.Errorf("%s: exit status %d, %q; want %d, %q", test.name, status, p.stderr.String(), test.status, test.want)
		}
	}
}
