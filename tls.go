package redline

import (
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"github.com/redline-go/redline/certs"
	"github.com/redline-go/redline/internal/tlsio"
	"github.com/redline-go/redline/internal/transport"
)

// ListenTLS is Listen for HTTPS: connections to addr begin with a TLS handshake. A server
// may have addresses of both kinds, for example ":80" with Listen and ":443" with ListenTLS.
// certFile and keyFile name PEM files with a certificate, followed by its intermediates, and
// its key; if they change, the next handshake gets the new certificate, see package certs.
// Both may be empty if TLSConfig has Certificates, GetCertificate or GetConfigForClient.
func (s *Server) ListenTLS(addr, certFile, keyFile string) (net.Addr, error) {
	return s.listen(addr, func() (*tls.Config, error) { return s.tlsConfig(certFile, keyFile) })
}

// AdoptTLS is Adopt for HTTPS. The files are those of ListenTLS.
func (s *Server) AdoptTLS(l net.Listener, certFile, keyFile string) error {
	return s.adopt(newGiven(l), func() (*tls.Config, error) { return s.tlsConfig(certFile, keyFile) })
}

// ListenAndServeTLS is ListenAndServe for HTTPS; Addr means ":https" when it is empty. The
// files are those of ListenTLS.
func (s *Server) ListenAndServeTLS(certFile, keyFile string) error {
	addr := s.Addr
	if addr == "" {
		addr = ":https"
	}
	if _, err := s.ListenTLS(addr, certFile, keyFile); err != nil {
		return err
	}
	return s.Run()
}

// ServeTLS is Serve for HTTPS. The files are those of ListenTLS.
func (s *Server) ServeTLS(l net.Listener, certFile, keyFile string) error {
	return s.serve(l, func() (*tls.Config, error) { return s.tlsConfig(certFile, keyFile) })
}

// tlsConfig is TLSConfig with what HTTP requires.
func (s *Server) tlsConfig(certFile, keyFile string) (*tls.Config, error) {
	c := s.TLSConfig.Clone()
	if c == nil {
		c = new(tls.Config)
	}
	c.NextProtos = s.nextProtos(c.NextProtos)
	if certFile == "" && keyFile == "" && (len(c.Certificates) > 0 || c.GetCertificate != nil || c.GetConfigForClient != nil) {
		return c, nil
	}
	if c.GetCertificate != nil { // the files are for clients for which it has none
		cert, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("load certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{cert}
		return c, nil
	}
	r, err := certs.Load(certFile, keyFile, certs.Logger(s.logger()))
	if err != nil {
		return nil, fmt.Errorf("load certificate: %w", err)
	}
	s.keepReloader(r)
	c.Certificates, c.GetCertificate = nil, r.GetCertificate
	return c, nil
}

// keepReloader closes r when the server ends.
func (s *Server) keepReloader(r *certs.Reloader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reloaders = append(s.reloaders, r)
	if s.stopping.Load() {
		s.closeReloaders()
	}
}

// closeReloaders ends the goroutines that look at certificates. s.mu is held.
func (s *Server) closeReloaders() {
	for _, r := range s.reloaders {
		r.Close() // it has no error that matters: nothing is written
	}
	s.reloaders = nil
}

// secure returns the constructor of the sessions of a listener for HTTPS.
func (s *Server) secure(c *tls.Config) func(transport.Conn) transport.Session {
	cfg := &tlsio.Config{
		TLS: c, Handshakes: s.handshakes, HighWater: s.writeBuffer(),
		Timeout:    orDefault(s.ReadHeaderTimeout, DefaultReadHeaderTimeout),
		NewSession: s.negotiated(),
		Failed: func(remote net.Addr, _ tlsio.Cause, err error) {
			s.logf("http: TLS handshake error from %v: %v", remote, err)
		},
		Panicked: func(remote net.Addr, value any, stack []byte) {
			s.counters.panics.Add(1)
			s.logf("http: panic serving %v: %v\n%s", remote, value, stack)
		},
	}
	for _, d := range []time.Duration{s.ReadTimeout, s.WriteTimeout} { // as in net/http
		if d > 0 && (cfg.Timeout <= 0 || d < cfg.Timeout) {
			cfg.Timeout = d
		}
	}
	return func(c transport.Conn) transport.Session { return tlsio.NewSession(c, cfg) }
}

// adequate reports whether HTTP/2 may be spoken with a state of TLS: with version 1.3, or with 1.2 and a
// cipher suite that RFC 9113, 9.2.2 does not prohibit. Of the suites of crypto/tls these have an ephemeral key
// exchange and authenticated encryption.
func adequate(s *tls.ConnectionState) bool {
	switch {
	case s.Version >= tls.VersionTLS13:
		return true
	case s.Version < tls.VersionTLS12:
		return false
	}
	switch s.CipherSuite {
	case tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256:
		return true
	}
	return false
}
