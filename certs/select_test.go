package certs_test

import (
	"crypto/tls"
	"testing"
	"time"

	"github.com/redline-go/redline/certs"
)

// TestSelect compares the choice with that of crypto/tls where the documents say that they
// are the same.
func TestSelect(t *testing.T) {
	var o []certs.Option
	var all []tls.Certificate
	var certFile, keyFile string
	for i, f := range []files{
		issue(t, 1, time.Hour, "default.test"),
		issue(t, 2, time.Hour, "*.wild.test"),
		issue(t, 3, time.Hour, "exact.wild.test", "Upper.Test"),
		issueRSA(t, 4, "both.test"),
		issue(t, 5, time.Hour, "both.test"),
	} {
		c, k := f.write(t, t.TempDir())
		pair, err := tls.LoadX509KeyPair(c, k)
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, pair); i == 0 {
			certFile, keyFile = c, k
			continue
		}
		o = append(o, certs.Pair(c, k))
	}
	r := load(t, certFile, keyFile, o...)
	for _, c := range []struct {
		name, suite string
		want        int64
		same        bool // as crypto/tls
	}{
		{"", "", 1, true},
		{"default.test", "", 1, true},
		{"DEFAULT.test", "", 1, true},
		{"unknown.test", "", 1, true},
		{"a.wild.test", "", 2, true},
		{"a.b.wild.test", "", 1, true},
		{"wild.test", "", 1, true},
		{"exact.wild.test", "", 3, false}, // crypto/tls takes the first that matches
		{"upper.test", "", 3, true},
		{"both.test", "", 4, true},
		{"both.test", "RSA", 4, true},
		{"both.test", "ECDSA", 5, true},
		{"", "RSA", 4, true},
	} {
		client := &tls.Config{ServerName: c.name, InsecureSkipVerify: true}
		switch c.suite {
		case "RSA":
			client.MaxVersion, client.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}
		case "ECDSA":
			client.MaxVersion, client.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}
		}
		if got := served(t, r, client); got != c.want {
			t.Errorf("name %q, keys %q: certificate %d, want %d", c.name, c.suite, got, c.want)
		}
		if got := handshake(t, &tls.Config{Certificates: all}, client); (got == c.want) != c.same {
			t.Errorf("name %q, keys %q: certificate %d of crypto/tls", c.name, c.suite, got)
		}
	}
}
