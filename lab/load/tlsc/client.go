package tlsc

import (
	"crypto/tls"
	"crypto/x509"
	"errors"

	"github.com/redline-go/redline/lab/load/spec"
)

// Settings is what the connections of a Client have in common.
type Settings struct {
	ServerName string         // the certificate is checked against it, and a name (not an address) is sent to the server
	Insecure   bool           // take any certificate
	Roots      *x509.CertPool // nil: those of the system
	Protocols  []string       // offered by ALPN, the preferred one first: "h2", "http/1.1"
	Resume     bool           // resume sessions: connections after the first save the server a signature
	Min, Max   uint16         // versions, as tls.VersionTLS13; 0: what crypto/tls takes
}

// sessions is how many sessions a Client remembers. All its connections go to one
// server and resume the latest.
const sessions = 1

// Client is what connections to one server share, their sessions above all.
type Client struct {
	config *tls.Config
}

// NewClient checks the settings.
func NewClient(s Settings) (*Client, error) {
	if s.ServerName == "" && !s.Insecure {
		return nil, errors.New("tls: a certificate is checked against the name of its server, and there is none")
	}
	if s.Max != 0 && s.Min > s.Max {
		return nil, errors.New("tls: the lowest version is above the highest")
	}
	c := &tls.Config{
		ServerName: s.ServerName, InsecureSkipVerify: s.Insecure, RootCAs: s.Roots, NextProtos: s.Protocols,
		MinVersion: s.Min, MaxVersion: s.Max,
		// Records grow from the size of a packet otherwise, which helps browsers and
		// costs everybody else.
		DynamicRecordSizingDisabled: true,
	}
	if s.Resume {
		c.ClientSessionCache = tls.NewLRUClientSessionCache(sessions)
	}
	return &Client{config: c}, nil
}

// For is what connections have in common that are secured so: they offer HTTP/2
// or HTTP/1.1, and nothing else.
func For(t *spec.TLS, http2 bool) (*Client, error) {
	s := Settings{ServerName: t.ServerName, Insecure: t.Insecure, Resume: t.Resume, Protocols: []string{"http/1.1"}}
	if http2 {
		s.Protocols = []string{"h2"}
	}
	var err error
	if s.Roots, err = t.Pool(); err != nil {
		return nil, err
	}
	return NewClient(s)
}
