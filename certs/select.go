package certs

import (
	"crypto/tls"
	"strings"
)

// A set is what is in use at a time; it never changes.
type set struct {
	all    []*tls.Certificate            // in the order of the pairs; the first is the default
	byName map[string][]*tls.Certificate // by DNS name in lower case, which may begin with a wildcard
}

func newSet(pairs []*pair) *set {
	s := &set{byName: make(map[string][]*tls.Certificate)}
	for _, p := range pairs {
		s.all = append(s.all, p.cert)
		for _, name := range p.cert.Leaf.DNSNames {
			name = strings.ToLower(name)
			s.byName[name] = append(s.byName[name], p.cert)
		}
	}
	return s
}

// choose finds the certificate for a client, as [Load] documents.
func (s *set) choose(hello *tls.ClientHelloInfo) *tls.Certificate {
	if len(s.all) == 1 {
		return s.all[0]
	}
	if hello.ServerName == "" {
		return supported(hello, s.all)
	}
	name := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
	if exact := s.byName[name]; exact != nil {
		return supported(hello, exact)
	}
	// A wildcard is the whole leftmost label, and matches one label (RFC 9525, section 6.3).
	if _, parent, ok := strings.Cut(name, "."); ok {
		if wild := s.byName["*."+parent]; wild != nil {
			return supported(hello, wild)
		}
	}
	return s.all[0]
}

// supported returns the first certificate that a client supports, or else the first, so
// that the handshake fails with the reason of crypto/tls.
func supported(hello *tls.ClientHelloInfo, of []*tls.Certificate) *tls.Certificate {
	if len(of) > 1 {
		for _, c := range of {
			if hello.SupportsCertificate(c) == nil {
				return c
			}
		}
	}
	return of[0]
}
