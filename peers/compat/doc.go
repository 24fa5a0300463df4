// Package compat holds tests alone: what people run on net/http, unmodified, on
// Redline. Every scenario is played on http.Server and then on each transport of
// Redline, and what its clients and handlers saw has to be the same, line for
// line. A service that moved from fasthttp is compared with its origin as well.
//
// What differs on purpose is not looked at here, as docs/nethttp-differences.md
// has it: how a body of some KiB is framed, and that 413 always closes the
// connection.
package compat
