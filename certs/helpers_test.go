package certs_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline/certs"
)

// patience bounds every wait; nothing is expected to take it.
const patience = time.Minute

// A files is what a certificate and its key look like on disk.
type files struct {
	cert, key []byte
	serial    int64
}

// issue makes a self-signed certificate of an hour, or for as long as is said.
func issue(t testing.TB, serial int64, lifetime time.Duration, names ...string) files {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return issueFor(t, key, serial, lifetime, names...)
}

// issueRSA is issue with an RSA key.
func issueRSA(t testing.TB, serial int64, names ...string) files {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return issueFor(t, key, serial, time.Hour, names...)
}

func issueFor(t testing.TB, key crypto.Signer, serial int64, lifetime time.Duration, names ...string) files {
	t.Helper()
	now := time.Now()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(serial), DNSNames: names,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(lifetime),
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return files{
		cert:   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:    pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
		serial: serial,
	}
}

// put writes a file in place.
func put(t testing.TB, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// write writes both files of a pair into a directory.
func (f files) write(t testing.TB, dir string) (certFile, keyFile string) {
	t.Helper()
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	put(t, certFile, f.cert)
	put(t, keyFile, f.key)
	return certFile, keyFile
}

// load loads pairs until the test ends.
func load(t testing.TB, certFile, keyFile string, o ...certs.Option) *certs.Reloader {
	t.Helper()
	r, err := certs.Load(certFile, keyFile, o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// served makes a handshake and returns the serial number of the certificate.
func served(t testing.TB, r *certs.Reloader, client *tls.Config) int64 {
	t.Helper()
	return handshake(t, &tls.Config{GetCertificate: r.GetCertificate}, client)
}

// handshake is served with a configuration of the server.
func handshake(t testing.TB, server, client *tls.Config) int64 {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	client = client.Clone()
	client.InsecureSkipVerify = true // nobody has signed the certificate: it is looked at
	server = server.Clone()
	server.SessionTicketsDisabled = true // they would be sent to nobody
	done := make(chan error, 1)
	go func() { done <- tls.Server(a, server).Handshake() }()
	c := tls.Client(b, client)
	if err := c.Handshake(); err != nil {
		b.Close()
		t.Fatalf("handshake: %v; server: %v", err, <-done)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

// waitFor waits until a condition holds.
func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// A journal is a log that tests read.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// count says how many lines contain a text.
func (j *journal) count(text string) (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range bytes.Lines(j.text.Bytes()) {
		if bytes.Contains(line, []byte(text)) {
			n++
		}
	}
	return n
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) logger() certs.Option { return certs.Logger(slog.New(slog.NewTextHandler(j, nil))) }
