package tickets

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds every wait; nothing is expected to take it.
const patience = time.Minute

// serverConfig has a certificate that nobody has signed, for an ECDSA key.
func serverConfig(t testing.TB) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{certificate(t, key)}}
}

func certificate(t testing.TB, key crypto.Signer) tls.Certificate {
	t.Helper()
	now := time.Now()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"a.test", "b.test"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(30 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// newClient makes a client with a cache of its own.
func newClient() *tls.Config {
	return &tls.Config{ServerName: "a.test", InsecureSkipVerify: true, ClientSessionCache: tls.NewLRUClientSessionCache(0)}
}

// sockets makes a connection. A pipe of package net would not do: it buffers nothing, and both
// sides of a resumed session write at the same time.
func sockets(t testing.TB) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if b, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if a, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return a, b
}

// connect makes a connection, on which the client receives its ticket, and reports whether
// both sides resumed a session.
func connect(t testing.TB, server, client *tls.Config) (resumed bool) {
	t.Helper()
	resumed, serverErr, clientErr := try(t, server, client)
	if err := errors.Join(serverErr, clientErr); err != nil {
		t.Fatal(err)
	}
	return resumed
}

// try is connect for connections that may fail: it returns what each side gets of it.
func try(t testing.TB, server, client *tls.Config) (resumed bool, serverErr, clientErr error) {
	t.Helper()
	a, b := sockets(t)
	defer a.Close()
	defer b.Close()
	s, c := tls.Server(a, server), tls.Client(b, client)
	done := make(chan error, 1)
	go func() {
		_, err := s.Write([]byte("x"))
		if err != nil {
			a.Close()
		}
		done <- err
	}()
	if _, clientErr = io.ReadFull(c, make([]byte, 1)); clientErr != nil {
		b.Close()
	}
	serverErr = <-done
	resumed = s.ConnectionState().DidResume
	if serverErr == nil && clientErr == nil && resumed != c.ConnectionState().DidResume {
		t.Fatal("client and server disagree about resumption")
	}
	return resumed, serverErr, clientErr
}

// keys makes keys until the test ends.
func newKeys(t testing.TB, o ...KeysOption) *Keys {
	t.Helper()
	k, err := NewKeys(o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k
}

// applied is a copy of a configuration that uses keys or a cache.
func applied(c *tls.Config, to interface{ Apply(*tls.Config) }) *tls.Config {
	c = c.Clone()
	to.Apply(c)
	return c
}

// seal makes a ticket with the key in use, and accepts reports whether other keys know it.
func (k *Keys) seal(t testing.TB) []byte {
	t.Helper()
	r := k.now.Load()
	ticket, err := r.inOrder[r.current(k.clock())].seal([]byte("state"), "a.test")
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

func (k *Keys) accepts(ticket []byte) bool {
	s := k.now.Load().find(ticket)
	if s == nil {
		return false
	}
	state, err := s.open(ticket, "a.test")
	return err == nil && string(state) == "state"
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

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) count(text string) int { return strings.Count(j.String(), text) }

func (j *journal) logger() KeysOption { return Logger(slog.New(slog.NewTextHandler(j, nil))) }
