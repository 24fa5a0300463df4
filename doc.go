// Package redline is an HTTP server for Go that runs on its own event loops.
//
//	r := redline.NewRouter()
//	r.GET("/hello/{name}", func(c *redline.Ctx) {
//		c.Text(200, "Hello, "+c.Param("name")+"!")
//	})
//	srv := &redline.Server{Addr: ":8080", Native: r.Serve}
//	log.Fatal(srv.ListenAndServe())
//
// A native handler is a func(*Ctx). It starts on the event loop that read the request,
// which needs no hand-over, and it may block: if it does not return within a few
// milliseconds, another goroutine takes the loop over, and the handler continues on its own
// goroutine. The server learns which routes usually take 50 µs or more, waiting or
// computing, and starts their calls off the loop; two calls that never return suffice.
// [Blocking] and [Inline] are hints for routes whose behaviour is known beforehand. The
// goroutine of a handler that starts off the loop keeps its connection, and a second
// descriptor for it, while requests follow one another within a second.
//
// # What a handler may keep
//
// A handler may keep every string that a method returns and every value that it allocates.
// Methods that return borrowed memory have Bytes in their names, as [Ctx.PathBytes] does;
// that memory is valid until the handler returns. A Ctx must not be used after its handler
// has returned; doing so panics with a message that says what to do instead.
//
// # Strictness
//
// If RFC 9112 allows two readings of a request, the request is refused, usually with 400,
// and its connection is closed: Content-Length together with Transfer-Encoding, a repeated
// Content-Length, line ends without CR, folded lines, malformed chunk sizes, and similar.
// docs/nethttp-differences.md lists all cases. Everything that a client can make the server
// hold is bounded; see [Limits] and the fields of [Server].
//
// # Protocols
//
// The server speaks HTTP/1.1 and HTTP/1.0, and HTTP/2. [Server.ListenTLS], and the other
// methods with that suffix, serve HTTPS on every transport; crypto/tls does the cryptography.
// One server may serve addresses of both kinds. Package restart replaces a running server with a new process.
package redline
