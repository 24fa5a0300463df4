// Package greet is what a load generator's connections have in common between
// connect(2) and the first request, whoever makes them: what goes wrong there, in
// words, and the books of TLS handshakes.
package greet

import (
	"crypto/tls"
	"errors"
	"fmt"
	"syscall"

	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/load/tlsc"
)

// MaxOwed bounds, in bytes, what waits for a server that has TLS answered, key
// updates say, and does not read the answers.
const MaxOwed = 64 << 10

// Ends of connections that have no error of their own.
var (
	ErrClosed    = errors.New("TLS handshake: the server closed the connection")
	ErrNoHTTP2   = errors.New("TLS handshake: the server does not offer HTTP/2 (by ALPN)")
	ErrOwed      = errors.New("TLS: the server asks for more than it reads")
	ErrTruncated = errors.New("TLS connection closed within an answer, without a word: content may be cut off")
)

// TLS says what an error of a TLS connection means: one of package tlsc, one of this
// package, or an errno of its socket; ETIMEDOUT is a handshake that took too long.
func TLS(err error) error {
	if errno, is := errors.AsType[syscall.Errno](err); is {
		if errno == syscall.ETIMEDOUT {
			return errors.New("TLS handshake: not done in time")
		}
		return fmt.Errorf("TLS handshake: %w", errno)
	}
	e, is := errors.AsType[*tlsc.Error](err)
	if !is {
		return err
	}
	switch e.Kind {
	case tlsc.Certificate:
		if c, is := errors.AsType[*tls.CertificateVerificationError](err); is {
			err = c.Err
		}
		return fmt.Errorf("the server's certificate is not trusted: %w", err)
	case tlsc.NotTLS:
		return errors.New("TLS handshake: the server does not answer in TLS")
	case tlsc.Alert:
		return fmt.Errorf("the server ended TLS: %w", err)
	case tlsc.Record:
		return fmt.Errorf("TLS: what the server sent is broken: %w", err)
	}
	return fmt.Errorf("TLS handshake: %w", err)
}

// Failed says what a connection counts as, and means, that ended before its first
// request could be sent. Without c, or when its handshake is done, it was HTTP/2 that
// was to begin: the server's settings were waited for. Errors are as for TLS.
func Failed(c *tlsc.Conn, err error) (tally.Kind, error) {
	if c == nil || c.Ready() && !errors.Is(err, ErrNoHTTP2) {
		return failedHTTP2(err)
	}
	return tally.KindTLS, TLS(err)
}

func failedHTTP2(err error) (tally.Kind, error) {
	if errno, is := errors.AsType[syscall.Errno](err); is {
		if errno == syscall.ETIMEDOUT {
			return tally.KindTimeout, errors.New("HTTP/2: no settings of the server in time")
		}
		return tally.KindReset, fmt.Errorf("begin HTTP/2: %w", err)
	}
	if errors.Is(err, ErrClosed) {
		return tally.KindClosed, errors.New("HTTP/2: the server closed the connection at once; it may not know it")
	}
	return tally.KindTLS, TLS(err)
}
