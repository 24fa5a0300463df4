package tlsclient

import (
	"crypto/tls"
	"errors"
	"net"
)

// Kind is the kind of an error.
type Kind uint8

// The kinds of errors.
const (
	NotTLS      Kind = iota + 1 // the server uses another protocol
	Certificate                 // the server's certificate was rejected
	Alert                       // the server sent a fatal alert
	Record                      // the server violated the protocol, or its data was tampered with
	Handshake                   // the handshake failed
	Truncated                   // the connection ended without close_notify: content may be missing
)

var kindNames = [...]string{
	NotTLS: "tls-not-tls", Certificate: "tls-certificate", Alert: "tls-alert", Record: "tls-record",
	Handshake: "tls-handshake", Truncated: "tls-truncated",
}

// String returns the name of k in results.
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return "tls-unknown"
}

// Error is an error that ended a connection.
type Error struct {
	Kind Kind
	Err  error // from crypto/tls
}

// Error returns the message of crypto/tls.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error of crypto/tls.
func (e *Error) Unwrap() error { return e.Err }

var (
	errTruncated = errors.New("tls: the connection ended without close_notify")
	errNotReady  = errors.New("tls: write before the end of the handshake")
)

// classify converts an error of crypto/tls.
func classify(err error, ready bool) *Error {
	e := &Error{Kind: Handshake, Err: err}
	if ready {
		e.Kind = Record
	}
	if _, is := errors.AsType[*tls.CertificateVerificationError](err); is {
		e.Kind = Certificate
	} else if _, is := errors.AsType[tls.RecordHeaderError](err); is {
		e.Kind = Record
		if !ready {
			e.Kind = NotTLS
		}
	} else if op, is := errors.AsType[*net.OpError](err); is {
		e.Kind = Record
		if op.Op == "remote error" {
			e.Kind = Alert
		}
	}
	return e
}
