//go:build unix

package examples_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestTLS runs two processes that share ticket keys, and replaces their certificate.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	roots, cert, key := x509.NewCertPool(), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, roots, 1, cert, key)
	flags := []string{"-cert", cert, "-key", key, "-tickets", filepath.Join(dir, "tickets")}
	fleet := []example{start(t, "tls", flags...), start(t, "tls", flags...)}
	tr := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		RootCAs: roots, ServerName: "service.test", ClientSessionCache: tls.NewLRUClientSessionCache(0),
	}}
	c := &http.Client{Transport: tr, Timeout: patience}
	for i, want := range []string{"TLS 1.3, resumed: false\n", "TLS 1.3, resumed: true\n", "TLS 1.3, resumed: true\n"} {
		if got, err := get(c, fleet[i%2].url); err != nil || got != want {
			t.Errorf("connection %d: %q, %v, want %q", i, got, err, want)
		}
	}
	writeCertificate(t, roots, 2, cert, key)
	tr.TLSClientConfig.ClientSessionCache = nil // a resumed session has the certificate of its beginning
	for i, x := range fleet {
		if err := syscall.Kill(x.pid, syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the new certificate is served", func() bool {
			resp, err := c.Get(x.url)
			if err != nil {
				t.Fatalf("process %d: %v", i, err)
			}
			resp.Body.Close()
			return resp.TLS.PeerCertificates[0].SerialNumber.Int64() == 2
		})
	}
}

// writeCertificate writes a certificate that signs itself, and has clients trust it.
func writeCertificate(t *testing.T, roots *x509.CertPool, serial int64, certFile, keyFile string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(serial), DNSNames: []string{"service.test"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	roots.AppendCertsFromPEM(text)
	if err := os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(certFile, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
