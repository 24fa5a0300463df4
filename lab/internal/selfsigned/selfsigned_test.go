package selfsigned

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
)

// TestPEM checks that the files are a pair, and that a client that trusts the certificate
// accepts it for both names.
func TestPEM(t *testing.T) {
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := PEM(c)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(cert) {
		t.Fatal("the file has no certificate")
	}
	for _, name := range []string{Name, "127.0.0.1"} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
