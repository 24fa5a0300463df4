package spec

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

// pairOf returns a certificate with a period of validity, and its key, PEM.
func pairOf(t *testing.T, from, to time.Time) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: to}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

func TestIdentity(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	cert, key := pairOf(t, now.Add(-time.Hour), now.Add(time.Hour))
	old, oldKey := pairOf(t, now.Add(-2*time.Hour), now.Add(-time.Hour))
	early, earlyKey := pairOf(t, now.Add(time.Hour), now.Add(2*time.Hour))
	locked := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")})
	legacy := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED"}, Bytes: []byte("x")})
	broken := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})
	for name, c := range map[string]struct {
		cert, key []byte
		is        error
		words     string
	}{
		"none":         {},
		"right":        {cert: cert, key: key},
		"one file":     {cert: slices.Concat(key, cert), key: slices.Concat(key, cert)},
		"chain":        {cert: slices.Concat(cert, old), key: key},
		"no PEM":       {cert: []byte("x"), key: key, is: ErrNoCertificate},
		"swapped":      {cert: key, key: cert, is: ErrNoCertificate},
		"no key":       {cert: cert, key: cert, is: ErrNoKey},
		"encrypted":    {cert: cert, key: locked, is: ErrEncryptedKey},
		"legacy":       {cert: cert, key: legacy, is: ErrEncryptedKey},
		"other key":    {cert: cert, key: oldKey, is: ErrOtherKey},
		"broken":       {cert: cert, key: broken, words: "tls: "},
		"expired":      {cert: old, key: oldKey, words: "the certificate expired on 2030-01-02 02:04:05"},
		"not yet":      {cert: early, key: earlyKey, words: "the certificate is not valid before 2030-01-02 04:04:05"},
		"without cert": {key: key, is: ErrNoCertificate},
	} {
		pair, err := (&TLS{Certificate: c.cert, Key: c.key}).Identity(now)
		wrong := c.is != nil || c.words != ""
		if (err != nil) != wrong || c.is != nil && !errors.Is(err, c.is) || wrong && (pair != nil || !strings.Contains(err.Error(), c.words)) || !wrong && (pair == nil) != (c.cert == nil) {
			t.Errorf("%s: %v, %v", name, pair, err)
		}
	}
}
