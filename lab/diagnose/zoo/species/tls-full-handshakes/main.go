// Command login issues access tokens. Clients are devices that connect over TLS, ask once
// and disconnect.
package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"log"
	"math/big"
	"net"
	"net/http"
	"time"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

type token struct {
	Device  string `json:"device"`
	Expires int64  `json:"expires"`
	Proof   string `json:"proof"`
}

func main() {
	cert, err := selfSigned()
	if err != nil {
		log.Fatal(err)
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /token/{device}", func(w http.ResponseWriter, r *http.Request) {
		t := token{Device: r.PathValue("device"), Expires: time.Now().Add(time.Hour).Unix()}
		h := hmac.New(sha256.New, secret)
		_ = json.NewEncoder(h).Encode(t)
		t.Proof = base64.RawURLEncoding.EncodeToString(h.Sum(nil))
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(t)
	})
	mux.HandleFunc("GET /healthz", service.Health)
	ln, err := service.Listen()
	if err != nil {
		log.Fatal(err)
	}
	if err := service.Serve(&http.Server{Handler: mux}, tls.NewListener(ln, tlsConfig(cert))); err != nil {
		log.Fatal(err)
	}
}

// selfSigned returns a certificate for this machine.
func selfSigned() (tls.Certificate, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "login"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:     []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
