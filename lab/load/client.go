package load

import (
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tlsc"
)

// TLSClient is what connections have in common that are secured so: they offer HTTP/2
// or HTTP/1.1, and nothing else.
func TLSClient(t *spec.TLS, http2 bool) (*tlsc.Client, error) {
	s := tlsc.Settings{ServerName: t.ServerName, Insecure: t.Insecure, Resume: t.Resume, Protocols: []string{"http/1.1"}}
	if http2 {
		s.Protocols = []string{"h2"}
	}
	var err error
	if s.Roots, err = t.Pool(); err != nil {
		return nil, err
	}
	return tlsc.NewClient(s)
}

// scheme is that of the URLs which connections as these are for.
func scheme(s *spec.Spec) string {
	if s.TLS != nil {
		return "https"
	}
	return "http"
}
