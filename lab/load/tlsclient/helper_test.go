package tlsclient

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"iter"
	"math/big"
	"sync"
	"testing"
	"time"
)

// certificate returns a certificate for localhost, and a pool that trusts it.
var certificate = sync.OnceValues(func() (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
})

// trusting returns settings that trust the certificate.
func trusting() Settings {
	_, pool := certificate()
	return Settings{ServerName: "localhost", Roots: pool, Protocols: []string{"h2", "http/1.1"}}
}

func client(t testing.TB, s Settings) *Client {
	t.Helper()
	c, err := NewClient(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// server is the other side: the server of crypto/tls, driven in the same way.
func server(t testing.TB, change func(*tls.Config)) *Filter {
	t.Helper()
	cert, _ := certificate()
	config := &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}}
	if change != nil {
		change(config)
	}
	c := &Filter{began: time.Now()}
	c.tls = tls.Server(&c.memory, config)
	c.next, c.stop = iter.Pull(c.handshake)
	if out, err := c.proceed(nil); err != nil || len(out) > 0 {
		t.Fatalf("the server begins: %v", err)
	}
	t.Cleanup(func() { c.Close(nil) })
	return c
}

// play transfers bytes between a client and a server, in pieces of at most size, until
// neither has more, and returns the bytes that each side received, and its error.
type play struct {
	size         int
	change       func(fromServer []byte) // changes the bytes in transit
	got, served  []byte
	err, refused error
}

func (p *play) run(c, s *Filter, toServer, toClient []byte) {
	step := func(to *Filter, in []byte, plain *[]byte, err *error) (out []byte) {
		for len(in) > 0 && *err == nil {
			n := min(p.size, len(in))
			piece := bytes.Clone(in[:n])
			*plain, out, *err = to.Feed(piece, *plain, out)
			clear(piece) // it belongs to the caller
			in = in[n:]
		}
		return out
	}
	for len(toServer)+len(toClient) > 0 {
		toClient = append(toClient, step(s, toServer, &p.served, &p.refused)...)
		if p.change != nil {
			p.change(toClient)
		}
		toServer = step(c, toClient, &p.got, &p.err)
		toClient = nil
	}
}

// start begins a client and runs its handshake with a server.
func start(t testing.TB, cl *Client, s *Filter, p *play) *Filter {
	t.Helper()
	if p.size == 0 {
		p.size = 1 << 20
	}
	c, out, err := cl.Start(nil)
	if err != nil || len(out) == 0 || c.Ready() {
		t.Fatalf("start: %v, %d bytes", err, len(out))
	}
	t.Cleanup(func() { c.Close(nil) })
	p.run(c, s, out, nil)
	return c
}

// stand returns a connection whose handshake succeeded.
func stand(t testing.TB, cl *Client, change func(*tls.Config), size int) (c, s *Filter) {
	t.Helper()
	s = server(t, change)
	p := &play{size: size}
	c = start(t, cl, s, p)
	if p.err != nil || p.refused != nil || !c.Ready() || !s.Ready() {
		t.Fatalf("handshake: %v, %v", p.err, p.refused)
	}
	return c, s
}

func version(v uint16) func(*tls.Config) {
	return func(c *tls.Config) { c.MinVersion, c.MaxVersion = v, v }
}
