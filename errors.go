package redline

import (
	"errors"
	"net/http"

	"github.com/redline-go/redline/internal/exchange"
)

// Errors of a [Server]'s methods.
var (
	// ErrServerClosed is returned by the methods that serve, listen or take a listener,
	// after Shutdown or Close. It is net/http's, so that callers need no change.
	ErrServerClosed = http.ErrServerClosed
	// ErrServerRunning: the server is already serving. Add its listeners before that, with
	// Listen or Adopt.
	ErrServerRunning = errors.New("redline: Server is already running: add listeners before it runs, with Listen or Adopt")
)

// ErrAbort, when a handler panics with it, cuts the connection without an answer and
// without a log entry. It is net/http's ErrAbortHandler.
var ErrAbort = http.ErrAbortHandler

// Errors that concern the response of a handler. The methods of [Ctx] return them
// unwrapped.
var (
	// ErrFieldName: the name of a field is not a token (RFC 9110, 5.6.2).
	ErrFieldName = exchange.ErrFieldName
	// ErrFieldValue: a field's value contains a control character other than tab (RFC 9110,
	// 5.5), which could end the field early.
	ErrFieldValue = exchange.ErrFieldValue
	// ErrFraming: the server sets this field itself (Content-Length, Transfer-Encoding), or
	// the field is not allowed in a trailer section (RFC 9110, 6.5.1).
	ErrFraming = exchange.ErrFraming
	// ErrHeadSent: the head has already been sent.
	ErrHeadSent = exchange.ErrHeadSent
	// ErrLength: the body would exceed its Content-Length. The excess was not sent.
	ErrLength = exchange.ErrLength
	// ErrNoBody: the status has no body (204, 205, 304).
	ErrNoBody = exchange.ErrNoBody
	// ErrHijacked: the connection was taken over by Hijack.
	ErrHijacked = exchange.ErrHijacked
)

// Errors caused by a client, when its request is read or answered.
var (
	// ErrGone: the client has left. It is also the cause with which [Ctx.Context] is then
	// cancelled.
	ErrGone = exchange.ErrGone
	// ErrTimeout: the client was too slow for the server's StallTimeout,
	// ReadTimeout or WriteTimeout.
	ErrTimeout = exchange.ErrTimeout
	// ErrBodyTooLong: the request's body exceeds Limits.MaxBodyBytes, or the limit passed
	// to the method. The suitable status is 413.
	ErrBodyTooLong = exchange.ErrBodyTooLong
	// ErrBadBody: the request's body is malformed. The suitable status is 400.
	ErrBadBody = exchange.ErrBadBody
)
