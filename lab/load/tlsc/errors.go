package tlsc

import (
	"crypto/tls"
	"errors"
	"net"
)

// Kind is what went wrong, in the word that results count it under.
type Kind uint8

// The kinds of errors.
const (
	NotTLS      Kind = iota + 1 // the server answers in another protocol
	Certificate                 // the server's certificate was refused
	Alert                       // the server sent a fatal alert
	Record                      // what the server sent breaks the protocol, or was tampered with
	Handshake                   // no agreement was reached
	Truncated                   // the connection ended without close_notify: content may be missing
)

var kindNames = [...]string{
	NotTLS: "tls-not-tls", Certificate: "tls-certificate", Alert: "tls-alert", Record: "tls-record",
	Handshake: "tls-handshake", Truncated: "tls-truncated",
}

// String is the name of k, as results carry it.
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return "tls-unknown"
}

// Error is what ended a connection.
type Error struct {
	Kind Kind
	Err  error // what crypto/tls says
}

// Error is what crypto/tls says.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns what crypto/tls says.
func (e *Error) Unwrap() error { return e.Err }

var (
	errTruncated = errors.New("tls: the connection ended without close_notify")
	errNotReady  = errors.New("tls: written to before the end of the handshake")
)

// classify makes an error of crypto/tls one of ours.
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
