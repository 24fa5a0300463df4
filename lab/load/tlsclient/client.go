package tlsclient

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/redline-go/redline/lab/load/spec"
)

// Settings are common to all connections of a Client.
type Settings struct {
	ServerName string           // to verify the certificate against; a name (not an address) is also sent to the server
	Insecure   bool             // accept any certificate
	Roots      *x509.CertPool   // nil: those of the system
	Protocols  []string         // offered with ALPN, in order of preference: "h2", "http/1.1"
	Identity   *tls.Certificate // shown to a server that demands a certificate; nil: none
	Resume     bool             // resume sessions: the server signs only for the first connection
	Min, Max   uint16           // versions, such as tls.VersionTLS13; 0: the defaults of crypto/tls
}

// sessions is how many sessions a Client stores. All of its connections go to one server
// and resume the latest session.
const sessions = 1

// Client is shared by the connections to one server, mainly for their sessions.
type Client struct {
	config *tls.Config
}

// NewClient validates the settings.
func NewClient(s Settings) (*Client, error) {
	if s.ServerName == "" && !s.Insecure {
		return nil, errors.New("tls: no server name to verify the certificate against")
	}
	if s.Max != 0 && s.Min > s.Max {
		return nil, errors.New("tls: the minimum version is higher than the maximum version")
	}
	c := &tls.Config{
		ServerName: s.ServerName, InsecureSkipVerify: s.Insecure, RootCAs: s.Roots, NextProtos: s.Protocols,
		MinVersion: s.Min, MaxVersion: s.Max,
		// Otherwise records grow from the size of a packet, which helps browsers and slows
		// down everything else.
		DynamicRecordSizingDisabled: true,
	}
	if s.Identity != nil {
		// It is shown to any server, as users of other tools expect: whether it will do is for
		// the server to say.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return s.Identity, nil }
	}
	if s.Resume {
		c.ClientSessionCache = tls.NewLRUClientSessionCache(sessions)
	}
	return &Client{config: c}, nil
}

// For returns a Client for connections with these options, which offer either HTTP/2 or
// HTTP/1.1.
func For(t *spec.TLS, http2 bool) (*Client, error) {
	s := Settings{ServerName: t.ServerName, Insecure: t.Insecure, Resume: t.Resume, Protocols: []string{"http/1.1"}}
	if http2 {
		s.Protocols = []string{"h2"}
	}
	var err error
	if s.Roots, err = t.Pool(); err != nil {
		return nil, err
	}
	if s.Identity, err = t.Identity(time.Now()); err != nil {
		return nil, fmt.Errorf("certificate of the client: %w", err)
	}
	return NewClient(s)
}
