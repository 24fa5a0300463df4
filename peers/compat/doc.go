// Package compat holds tests alone: what people run on net/http, unmodified, on
// Redline. Every scenario is played on http.Server and then on each transport of
// Redline, and what its clients and handlers saw has to be the same, line for
// line.
//
// The differences that are meant are not looked at here, and docs/migrating.md
// lists them: whether a body of some KiB comes with a Content-Length or in
// chunks is one of them.
package compat
