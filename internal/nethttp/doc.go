// Package nethttp runs an [http.Handler] on an exchange: it gives the handler an
// http.Request and an http.ResponseWriter, and behaves as net/http's server does
// where a handler can tell.
//
//	exchange.Exchange ──▶ call ─┬─ http.Request, url.URL, values    (request.go, url.go)
//	                            ├─ context, made live when asked     (context.go)
//	                            ├─ body, read through the host       (body.go)
//	                            └─ writer ──▶ exchange.Response       (writer.go, finish.go ...)
//
// All of it is one allocation that is never used again: what a handler keeps
// stays as it is. Nothing of it is borrowed from the connection, whose memory may
// therefore be given back while the handler blocks.
//
// A [Guest] is the other way round: an exchange on a foreign ResponseWriter, for
// native handlers that are to run under net/http.
package nethttp
