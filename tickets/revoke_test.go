package tickets

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"testing"
)

// TestVerifyCalls wants the functions that verify clients to be called as crypto/tls calls them with
// tickets of its own, and a client that is revoked meanwhile to be refused, though it resumes.
func TestVerifyCalls(t *testing.T) {
	run := func(t *testing.T, version uint16, applies func(*tls.Config)) (calls []string) {
		revoked := false
		server := serverConfig(t)
		server.MaxVersion, server.ClientAuth = version, tls.RequireAnyClientCert
		server.VerifyPeerCertificate = func(raw [][]byte, _ [][]*x509.Certificate) error {
			calls = append(calls, "peer")
			return nil
		}
		server.VerifyConnection = func(st tls.ConnectionState) error {
			calls = append(calls, "connection")
			if len(st.PeerCertificates) != 1 {
				t.Errorf("%d certificates are to be verified", len(st.PeerCertificates))
			}
			if revoked {
				return errors.New("revoked")
			}
			return nil
		}
		applies(server)
		client := newClient()
		client.Certificates = serverConfig(t).Certificates
		for i := range 3 {
			if resumed, s, c := try(t, server, client); resumed != (i > 0) || s != nil || c != nil {
				t.Fatalf("connection %d: resumed %v, %v, %v", i, resumed, s, c)
			}
		}
		revoked = true
		for range 2 {
			if _, s, c := try(t, server, client); s == nil || c == nil {
				t.Fatalf("a client that is revoked is served: %v, %v", s, c)
			}
		}
		return calls
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		want := run(t, version, func(*tls.Config) {})
		both(t, func(t *testing.T, fresh func() applier) {
			if got := run(t, version, fresh().Apply); !slices.Equal(got, want) {
				t.Errorf("%s: the calls are %q, want %q", tls.VersionName(version), got, want)
			}
		})
	}
}

// TestUnverified offers the session of a client whose certificate nobody has verified where that is
// wanted, by servers that share what sessions are kept with: it is not taken for verified.
func TestUnverified(t *testing.T) {
	both(t, func(t *testing.T, fresh func() applier) {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			mine := fresh()
			any, client := serverConfig(t), newClient()
			any.MaxVersion, any.ClientAuth = version, tls.RequireAnyClientCert
			mine.Apply(any)
			client.Certificates = serverConfig(t).Certificates
			for i := range 2 {
				if resumed, s, c := try(t, any, client); resumed != (i > 0) || s != nil || c != nil {
					t.Fatalf("connection %d: resumed %v, %v, %v", i, resumed, s, c)
				}
			}
			verifying := any.Clone()
			verifying.ClientAuth, verifying.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
			mine.Apply(verifying)
			if resumed, s, _ := try(t, verifying, client); resumed || s == nil {
				t.Errorf("%s: a client that nobody has verified is served: resumed %v", tls.VersionName(version), resumed)
			}
		}
	})
}
