package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// client is a certificate, the files that hold it and its key, and the key as text.
type client struct{ cert, key, both, secret string }

// clientOf makes a client that is known until a time.
func clientOf(t *testing.T, until time.Time) (c client, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: until, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c = client{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "both.pem"), base64.StdEncoding.EncodeToString(secret)[60:100]}
	cert, key := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	for name, text := range map[string]string{c.cert: string(cert), c.key: string(key), c.both: string(key) + string(cert)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	return c, pool
}

// demanding is a server that answers the clients of a pool, over one version of TLS.
func demanding(t *testing.T, pool *x509.CertPool, version uint16) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of clients that are sent away
	s.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: version, MaxVersion: version}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func TestLoadCertificate(t *testing.T) {
	known, pool := clientOf(t, time.Now().Add(time.Hour))
	stranger, _ := clientOf(t, time.Now().Add(time.Hour))
	for name, version := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
		s := demanding(t, pool, version)
		for _, more := range [][]string{nil, {"--http2", "--streams", "2"}} {
			t.Run(name+strings.Join(more, " "), func(t *testing.T) {
				more = append(more, "--insecure", s.URL)
				dir := t.TempDir()
				page, csv := filepath.Join(dir, "run.html"), filepath.Join(dir, "run.csv")
				code, out, said := loadOf(t, t.Context(), counted(60, append([]string{"--cert", known.cert, "--key", known.key, "--json", "-", "--html", page, "--csv", csv}, more...)...)...)
				if code != 0 {
					t.Fatalf("exit code %d: %s", code, said)
				}
				d := documentOf(t, out)
				if d.Requests == 0 || len(d.Errors) > 0 || d.TLS.Version != name || !d.Config.TLS.ClientCertificate || !strings.Contains(said, "with a client certificate") {
					t.Errorf("%d right, errors %v, %+v; %s", d.Requests, d.Errors, d.TLS, said)
				}
				for what, text := range map[string]string{"document": out, "summary": said, "page": read(t, page), "series": read(t, csv)} {
					if strings.Contains(text, known.secret) || strings.Contains(text, known.key) {
						t.Errorf("the %s tells of the key", what)
					}
				}
				code, _, said = loadOf(t, t.Context(), more...)
				if code != 1 || !strings.Contains(said, "client certificate") || !strings.Contains(said, "name one with --cert FILE and --key FILE") {
					t.Errorf("without a certificate: exit code %d, %s", code, said)
				}
				code, _, said = loadOf(t, t.Context(), append([]string{"--cert", stranger.both}, more...)...)
				if code != 1 || !strings.Contains(said, "does not accept the certificate of --cert") {
					t.Errorf("with a stranger's: exit code %d, %s", code, said)
				}
			})
		}
	}
}

// What the generators hold, and not only the command, is the certificate: several of them, a
// scenario, and what they say when it is missing.
func TestLoadCertificateOfGenerators(t *testing.T) {
	once(t)
	known, pool := clientOf(t, time.Now().Add(time.Hour))
	s := demanding(t, pool, tls.VersionTLS13)
	mix := filepath.Join(t.TempDir(), "mix.yaml")
	if err := os.WriteFile(mix, []byte("targets: [{url: '/${n}'}]\nvariables: {n: {counter: 1}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][]string{
		{"--workers", "2"}, {"--targets", mix}, {"--requests-per-connection", "1", "--tls-resume"}, {"--pipeline", "4"}, {"-r", "50"},
	} {
		code, out, said := loadOf(t, t.Context(), counted(30, append(c, "--cert", known.both, "--insecure", "--json", "-", s.URL)...)...)
		if code != 0 {
			t.Errorf("%q: exit code %d: %s", c, code, said)
			continue
		}
		if d := documentOf(t, out); d.Requests == 0 || len(d.Errors) > 0 {
			t.Errorf("%q: %d right, errors %v", c, d.Requests, d.Errors)
		}
	}
	code, _, said := loadOf(t, t.Context(), "--targets", mix, "-c", "2", "--timeout", "500ms", "--insecure", s.URL)
	if code != 1 || !strings.Contains(said, "requires a client certificate: name one with --cert FILE and --key FILE") {
		t.Errorf("exit code %d, %s", code, said)
	}
}

func TestLoadCertificateUsage(t *testing.T) {
	const url = "https://127.0.0.1:1/"
	known, _ := clientOf(t, time.Now().Add(time.Hour))
	other, _ := clientOf(t, time.Now().Add(time.Hour))
	old, _ := clientOf(t, time.Now().Add(-time.Hour))
	locked := filepath.Join(t.TempDir(), "locked.pem")
	if err := os.WriteFile(locked, pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--cert", known.both, "http://127.0.0.1:1/"}, "--cert is for TLS: load a URL that begins with https://"},
		{[]string{"--key", known.key, url}, "--key is the key of a certificate: name that with --cert"},
		{[]string{"--cert", "absent.pem", url}, "--cert absent.pem: there is no such file"},
		{[]string{"--cert", known.cert, "--key", "absent.pem", url}, "--key absent.pem: there is no such file"},
		{[]string{"--cert", known.cert, url}, "there is no private key in it; name the file of the key with --key"},
		{[]string{"--cert", known.cert, "--key", known.cert, url}, "there is no private key in it"},
		{[]string{"--cert", known.key, url}, "there is no certificate in it; name a PEM file"},
		{[]string{"--cert", known.cert, "--key", other.key, url}, "the private key does not belong to the certificate in " + known.cert},
		{[]string{"--cert", known.cert, "--key", locked, url}, "the private key is encrypted; write an unencrypted one, as openssl pkey -in " + locked},
		{[]string{"--cert", old.both, url}, "the certificate expired on "},
		{[]string{"--cert", known.both, "--kubernetes", "--image", "x", url}, "--cert: its private key would be in the manifests"},
	} {
		if code, _, said := loadOf(t, t.Context(), c.args...); code != 2 || !strings.Contains(said, c.want) {
			t.Errorf("%q: exit code %d, %q", c.args, code, said)
		}
	}
}
