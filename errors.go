package redline

import (
	"errors"
	"net/http"

	"github.com/redline-go/redline/internal/exchange"
)

// Errors of a [Server]'s methods.
var (
	// ErrServerClosed is returned by the methods that serve, listen or take a
	// listener, after Shutdown or Close. It is net/http's, so that its callers need
	// not be changed.
	ErrServerClosed = http.ErrServerClosed
	// ErrServerRunning: the server serves already, once and for all; its listeners are
	// added before, with Listen or Adopt.
	ErrServerRunning = errors.New("redline: Server runs already: add its listeners before, with Listen or Adopt")
)

// ErrAbort, when a handler panics with it, cuts the connection without an answer
// and without a word in the log. It is net/http's ErrAbortHandler.
var ErrAbort = http.ErrAbortHandler

// Errors of what a handler says of its response. The methods of [Ctx] return them
// as they are.
var (
	// ErrFieldName: the name of a field is not a token (RFC 9110, 5.6.2).
	ErrFieldName = exchange.ErrFieldName
	// ErrFieldValue: a field's value holds a control character other than the tab
	// (RFC 9110, 5.5), which could end the field early.
	ErrFieldValue = exchange.ErrFieldValue
	// ErrFraming: the server sets this field itself (Content-Length,
	// Transfer-Encoding), or the field cannot stand in a trailer section
	// (RFC 9110, 6.5.1).
	ErrFraming = exchange.ErrFraming
	// ErrHeadSent: it is too late, the head is on its way.
	ErrHeadSent = exchange.ErrHeadSent
	// ErrLength: the body would exceed its Content-Length. What would go beyond it
	// was not sent.
	ErrLength = exchange.ErrLength
	// ErrNoBody: the status has no body (204, 205, 304).
	ErrNoBody = exchange.ErrNoBody
	// ErrHijacked: the connection was taken over by Hijack.
	ErrHijacked = exchange.ErrHijacked
)

// Errors of a client, when its request is read or it is answered.
var (
	// ErrGone: the client has left. It is also the cause of the end of
	// [Ctx.Context] then.
	ErrGone = exchange.ErrGone
	// ErrTimeout: the client was too slow for the server's StallTimeout,
	// ReadTimeout or WriteTimeout.
	ErrTimeout = exchange.ErrTimeout
	// ErrBodyTooLong: the request's body exceeds Limits.MaxBodyBytes, or what the
	// method was told to read. It suits an answer with status 413.
	ErrBodyTooLong = exchange.ErrBodyTooLong
	// ErrBadBody: the request's body is malformed. It suits an answer with status
	// 400.
	ErrBadBody = exchange.ErrBadBody
)
