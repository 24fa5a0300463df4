package tlsclient

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// MaxOwed limits, in bytes, the output that waits for a server that requests responses at
// the TLS level, such as key updates, and does not read them.
const MaxOwed = 64 << 10

// Errors of connections that have no error of their own.
var (
	ErrClosed    = errors.New("TLS handshake: the server closed the connection")
	ErrNoHTTP2   = errors.New("TLS handshake: the server does not offer HTTP/2 (by ALPN)")
	ErrOwed      = errors.New("TLS: the server requests responses that it does not read")
	ErrTruncated = errors.New("TLS connection closed within an answer, without close_notify: content may be truncated")
)

// Explain returns an error that explains err, the error of a TLS connection: one of
// the errors above, an *Error, or an errno of its socket; ETIMEDOUT is a handshake that
// took too long.
func Explain(err error) error {
	if errno, is := errors.AsType[syscall.Errno](err); is {
		if errno == syscall.ETIMEDOUT {
			return errors.New("TLS handshake: timed out")
		}
		return fmt.Errorf("TLS handshake: %w", errno)
	}
	e, is := errors.AsType[*Error](err)
	if !is {
		return err
	}
	switch e.Kind {
	case Certificate:
		if c, is := errors.AsType[*tls.CertificateVerificationError](err); is {
			err = c.Err
		}
		return fmt.Errorf("the server's certificate is not trusted: %w", err)
	case NotTLS:
		return errors.New("TLS handshake: the server does not answer in TLS")
	case Alert:
		if strings.HasSuffix(err.Error(), "certificate required") { // an alert has no type to be known by
			return errors.New("TLS: the server demands a certificate of its client")
		}
		return fmt.Errorf("TLS alert from the server: %w", err)
	case Record:
		return fmt.Errorf("TLS: invalid data from the server: %w", err)
	}
	return fmt.Errorf("TLS handshake: %w", err)
}
