package redline_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	mathbig "math/big"
	"os"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// TestListenTLSReloads replaces the files of a server: the next handshake gets the new
// certificate, also without a server name, and a connection stays.
func TestListenTLSReloads(t *testing.T) {
	noLeaks(t)
	cert, key := pemFiles(t)
	r := prepare(t, &redline.Server{Native: func(c *redline.Ctx) { c.Text(200, "hello") }})
	at, err := r.ListenTLS("127.0.0.1:0", cert, key)
	noError(t, err)
	r.run(r.Run)
	serial := func() int64 {
		c, err := tls.Dial("tcp", at.String(), clientTLS())
		noError(t, err)
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	client := httpsClient(t, clientTLS())
	if serial() == 4711 || bodyOf(t, client, "https://"+at.String()) != "hello" {
		t.Fatal("the first certificate is the second")
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	noError(t, err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: mathbig.NewInt(4711), NotAfter: time.Now().Add(48 * time.Hour)},
		&x509.Certificate{SerialNumber: mathbig.NewInt(4711)}, private.Public(), private)
	noError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	noError(t, err)
	noError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	noError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	until(t, "the new certificate is served", func() bool { return serial() == 4711 })
	if got := bodyOf(t, client, "https://"+at.String()); got != "hello" || r.Stats().Open == 0 {
		t.Errorf("%q on the connection that was open", got)
	}
}
