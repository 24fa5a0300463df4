// Package redline is an HTTP server for Go that runs on event loops of its own.
//
//	r := redline.NewRouter()
//	r.GET("/hello/{name}", func(c *redline.Ctx) {
//		c.Text(200, "Hello, "+c.Param("name")+"!")
//	})
//	srv := &redline.Server{Addr: ":8080", Native: r.Serve}
//	log.Fatal(srv.ListenAndServe())
//
// A native handler is a func(*Ctx). It starts on the event loop that read the
// request, which costs no hand-over, and may block all the same: when it does
// not return within a few milliseconds, another goroutine takes the loop over
// and the handler goes on where it is. Routes whose calls take 50 µs or more as a
// rule, waiting or computing, are learned, and start off the loop from then on;
// [Blocking] and [Inline] are hints for those who know beforehand. The goroutine of
// a handler that starts off the loop keeps its connection, and a second descriptor
// of it, while requests follow one another within a second.
//
// # What may be kept
//
// Everything that a method returns as a string or that it allocates is the
// handler's to keep. What is borrowed says so in its name, as
// [Ctx.PathBytes] does: it is valid until the handler returns. A Ctx itself is
// not to be used after its handler has returned; doing so panics with a message
// that says what to do instead.
//
// # Strictness
//
// Requests that RFC 9112 leaves open to two readings are refused, with 400 as a rule,
// and their connection is closed: Content-Length beside Transfer-Encoding, a repeated
// Content-Length, line ends without CR, folded lines, chunk sizes of odd form, and
// their like. docs/nethttp-differences.md lists them all. Everything that a client can
// make the server hold is bounded, see [Limits] and the fields of [Server].
//
// # What it speaks
//
// HTTP/1.1 and HTTP/1.0. TLS takes a listener of crypto/tls, see [Server.Serve], or a
// proxy in front. Package restart replaces a running server by a new process.
package redline
