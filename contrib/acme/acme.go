// Package acme obtains certificates from an ACME server (RFC 8555) such as Let's Encrypt,
// and renews them, for every server that takes a tls.Config. It sets up
// golang.org/x/crypto/acme/autocert so that it cannot be asked for certificates of other
// names, and so that keys stay private.
//
//	config, challenges, err := acme.Config([]string{"example.org", "www.example.org"}, "/var/lib/example/acme",
//		acme.Email("admin@example.org"))
//	if err != nil {
//		log.Fatal(err)
//	}
//	go func() { log.Fatal(http.ListenAndServe(":80", challenges(nil))) }()
//	srv := &http.Server{Addr: ":443", Handler: mux, TLSConfig: config}
//	log.Fatal(srv.ListenAndServeTLS("", ""))
//
// The ACME server proves that the host controls a name by connecting to it: to port 443 with
// the protocol acme-tls/1 (TLS-ALPN-01, RFC 8737), or to port 80 (HTTP-01, RFC 8555, section
// 8.3) if challenges is used. One of the two is enough.
//
// A certificate is obtained at the first handshake for its name, which waits for it, and is
// renewed in the background when a third of its life is left. Several processes may share a
// directory on one machine.
//
// Config accepts the terms of service of the ACME server on behalf of who runs the program.
package acme

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// An Option changes what [Config] does.
type Option func(*autocert.Manager)

// Email tells the ACME server whom to inform about problems with certificates.
func Email(address string) Option { return func(m *autocert.Manager) { m.Email = address } }

// Directory sets the URL of the ACME server's directory (RFC 8555, section 7.1.1). The
// default is that of Let's Encrypt for certificates that browsers trust. Use another
// server for trials: the number of certificates is limited.
func Directory(url string) Option {
	return func(m *autocert.Manager) { m.Client.DirectoryURL = url }
}

// Client sets the client that asks the ACME server, for one whose certificate needs other
// roots than the system's, or that is behind a proxy.
func Client(c *http.Client) Option { return func(m *autocert.Manager) { m.Client.HTTPClient = c } }

// RenewBefore sets how long before its end a certificate is renewed, at most 30 days. The
// default is a third of its life.
func RenewBefore(d time.Duration) Option { return func(m *autocert.Manager) { m.RenewBefore = d } }

// Config returns a configuration that obtains certificates for the hosts and for no other
// name, and keeps them, their keys and the account's key in a directory. The directory is
// created with mode 0700; one that others have access to is an error. So are a list without
// hosts, and a name for which there is no challenge here: an IP address, a wildcard, or a
// name of one label.
//
// NextProtos of the configuration is only acme-tls/1. Servers of net/http and Redline add their
// own protocols; with another server, append them.
//
// challenges wraps the handler of the server on port 80, and answers HTTP-01 there. Other
// requests go to the handler, or are redirected to HTTPS if it is nil. Without a call of
// challenges only TLS-ALPN-01 is used.
//
// Renewal runs on timers until the process ends.
func Config(hosts []string, dir string, o ...Option) (config *tls.Config, challenges func(http.Handler) http.Handler, err error) {
	if err := checkHosts(hosts); err != nil {
		return nil, nil, fmt.Errorf("acme: %w", err)
	}
	if dir, err = private(dir); err != nil {
		return nil, nil, fmt.Errorf("acme: %w", err)
	}
	m := &autocert.Manager{
		Prompt:     autocert.AcceptTOS,
		Cache:      autocert.DirCache(dir),
		HostPolicy: autocert.HostWhitelist(hosts...),
		Client:     &acme.Client{DirectoryURL: autocert.DefaultACMEDirectory},
	}
	for _, option := range o {
		option(m)
	}
	config = &tls.Config{GetCertificate: m.GetCertificate, NextProtos: []string{acme.ALPNProto}}
	return config, func(next http.Handler) http.Handler { return answer(m.HTTPHandler(next)) }, nil
}

// answer removes the port from the name in challenges, which the host policy would refuse. The
// ACME server asks on port 80, but what forwards it may say another.
func answer(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/.well-known/acme-challenge/") {
			if host, _, err := net.SplitHostPort(r.Host); err == nil {
				r = r.WithContext(r.Context()) // a copy: the request is the server's
				r.Host = host
			}
		}
		h.ServeHTTP(w, r)
	})
}

func checkHosts(hosts []string) error {
	if len(hosts) == 0 {
		return errors.New("no hosts: name those that certificates are obtained for, or anyone could have them obtained for any name")
	}
	for _, host := range hosts {
		switch name := strings.TrimSuffix(host, "."); {
		case strings.Contains(name, "*"):
			return fmt.Errorf("host %q: a wildcard needs a challenge in DNS, which is not supported: name each host", host)
		case net.ParseIP(strings.Trim(name, "[]")) != nil:
			return fmt.Errorf("host %q: use a name, not an address", host)
		case strings.ContainsAny(name, ":/ "):
			return fmt.Errorf("host %q: use the name alone, without scheme, port or path", host)
		case !strings.Contains(strings.TrimPrefix(name, "."), "."):
			return fmt.Errorf("host %q: use a full name, as in www.example.org", host)
		}
	}
	return nil
}

// private makes a directory that nobody else has access to, and returns its full path.
func private(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("no directory: name one that keeps the certificates, or each start obtains new ones until the ACME server refuses")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", &fs.PathError{Op: "use", Path: dir, Err: errors.New("not a directory")}
	}
	// Windows has no such modes: access is what the parent directory grants.
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return "", fmt.Errorf("directory %s has mode %#o, so that others have access to its keys: set mode 0700", dir, mode)
	}
	return dir, nil
}
