package subject

import (
	"crypto/tls"
	"fmt"
	"net"
)

// TLSConfig returns the configuration of TLS with the certificate from the command line, nil
// without one. All subjects use TLS 1.3 with the same key exchange, since handshakes are
// compared; the cipher is what crypto/tls prefers, AES-128-GCM. The protocols of ALPN are
// left to the caller. It is valid from the call of the [ServeFunc] on.
func TLSConfig() (*tls.Config, error) {
	if files.cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(files.cert, files.key)
	if err != nil {
		return nil, fmt.Errorf("load certificate: %w", err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13, CurvePreferences: []tls.CurveID{tls.X25519},
	}, nil
}

// OnlyHTTP1 is [TLSConfig] for a server that speaks HTTP/1.1 and nothing else.
func OnlyHTTP1() (*tls.Config, error) {
	c, err := TLSConfig()
	if c != nil {
		c.NextProtos = []string{"http/1.1"}
	}
	return c, err
}

// Secure returns ln with TLS for a server of HTTP/1.1, or ln itself without a certificate.
func Secure(ln net.Listener) (net.Listener, error) {
	c, err := OnlyHTTP1()
	if c == nil || err != nil {
		return ln, err
	}
	return tls.NewListener(ln, c), nil
}
