package export

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// tlsFiles names the TLS files of the environment; empty: none.
type tlsFiles struct{ roots, certificate, key string }

// load reads the files. nil: there are none, and the system's certificates are trusted.
func (f *tlsFiles) load() (*tls.Config, error) {
	if *f == (tlsFiles{}) {
		return nil, nil
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.roots != "" {
		text, err := os.ReadFile(f.roots)
		if err != nil {
			return nil, fmt.Errorf("read the trusted certificates: %w", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s contains no certificate in PEM", f.roots)
		}
	}
	if (f.certificate == "") != (f.key == "") {
		return nil, errors.New("the client's certificate and its key: set both variables, or none")
	}
	if f.certificate != "" {
		pair, err := tls.LoadX509KeyPair(f.certificate, f.key)
		if err != nil {
			return nil, fmt.Errorf("read the client's certificate: %w", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return conf, nil
}
