// Package compat contains only tests: they run common net/http software, unmodified, on
// Redline. Every scenario runs on http.Server and then on each transport of Redline, and
// its clients and handlers have to see the same, line for line. A service that was migrated
// from fasthttp is compared with the original as well.
//
// Deliberate differences are not tested here, see docs/nethttp-differences.md: how a body
// of some KiB is framed, and that 413 always closes the connection.
package compat
