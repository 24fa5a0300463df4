package spec

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Errors of a client's certificate, see TLS.Identity.
var (
	ErrNoCertificate = errors.New("there is no certificate in it")
	ErrNoKey         = errors.New("there is no private key in it")
	ErrEncryptedKey  = errors.New("the private key is encrypted")
	ErrOtherKey      = errors.New("the private key does not belong to the certificate")
)

// Identity returns the client certificate with its key; nil: none. The error is one of the
// above, or reports that the certificate is not valid now or cannot be parsed. It contains
// no part of the key.
func (t *TLS) Identity(now time.Time) (*tls.Certificate, error) {
	if len(t.Certificate) == 0 && len(t.Key) == 0 {
		return nil, nil
	}
	if block(t.Certificate, func(b *pem.Block) bool { return b.Type == "CERTIFICATE" }) == nil {
		return nil, ErrNoCertificate
	}
	switch key := block(t.Key, func(b *pem.Block) bool { return strings.HasSuffix(b.Type, "PRIVATE KEY") }); {
	case key == nil:
		return nil, ErrNoKey
	case key.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(key.Headers["Proc-Type"], "ENCRYPTED"):
		return nil, ErrEncryptedKey
	}
	pair, err := tls.X509KeyPair(t.Certificate, t.Key)
	switch {
	case err == nil:
	case strings.Contains(err.Error(), "does not match"): // crypto/tls has no error type for it
		return nil, ErrOtherKey
	default:
		return nil, err
	}
	if err := inTime(pair.Leaf, now); err != nil {
		return nil, err
	}
	return &pair, nil
}

// block returns the first wanted block of a PEM text; nil: there is none.
func block(text []byte, wanted func(*pem.Block) bool) *pem.Block {
	for b, rest := pem.Decode(text); b != nil; b, rest = pem.Decode(rest) {
		if wanted(b) {
			return b
		}
	}
	return nil
}

// inTime returns an error for a certificate that is not valid now.
func inTime(c *x509.Certificate, now time.Time) error {
	switch {
	case now.After(c.NotAfter):
		return fmt.Errorf("the certificate expired on %s", c.NotAfter.UTC().Format(time.DateTime))
	case now.Before(c.NotBefore):
		return fmt.Errorf("the certificate is not valid before %s", c.NotBefore.UTC().Format(time.DateTime))
	}
	return nil
}

// TLSResult is the result of the handshakes since a process began.
type TLSResult struct {
	Handshakes uint64 `json:"handshakes"` // completed
	Resumed    uint64 `json:"resumed"`    // of Handshakes, those that resumed a session
	Version    string `json:"version"`    // of the last handshake, for example "TLS 1.3"
	Cipher     string `json:"cipher"`
	Curve      string `json:"curve,omitempty"`    // of the key exchange
	Protocol   string `json:"protocol,omitempty"` // negotiated with ALPN
	Histogram  string `json:"hdr"`                // duration of each, from the established connection on; HdrHistogram V2 compressed, base64; nanoseconds
}
