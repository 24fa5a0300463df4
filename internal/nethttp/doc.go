// Package nethttp runs an [http.Handler] on an exchange: it gives the handler an
// http.Request and an http.ResponseWriter, and behaves like net/http's server in everything
// that a handler can observe.
//
//	exchange.Exchange ──▶ call ─┬─ http.Request, url.URL, values    (request.go, url.go)
//	                            ├─ context, made live when asked     (context.go)
//	                            ├─ body, read through the host       (body.go)
//	                            └─ writer ──▶ exchange.Response       (writer.go, finish.go ...)
//
// All of it is one allocation that is never reused: what a handler keeps stays unchanged.
// Nothing is borrowed from the connection, whose memory can therefore be returned while the
// handler blocks.
//
// A [Guest] is the reverse: an exchange on a foreign ResponseWriter, for native handlers
// that run under net/http.
package nethttp
