// Package http2 is the server's side of HTTP/2 (RFC 9113): bytes in, exchanges out. It
// performs no I/O.
//
//	in ──▶ receive ──▶ stream ──▶ handler ──▶ stream ──▶ send ──▶ out
//	       frames,     head,      inline,     queue,     flow control,
//	       HPACK       content    or apart    head       priorities
//
// A [Session] is one connection, and a stream is one exchange on it.
//
// # Where handlers run
//
// A handler starts inline, within Feed, on the connection's event loop. If it is about to
// wait (for content, for the client to accept output, or because it says so), its stream
// leaves the feed: the connection returns to its loop, other streams go on, and the handler
// continues on the goroutine that it has. If it waits without saying so, the goroutine that
// takes the loop over takes the connection as well: see [Session.Left]. Where Feed does not
// hold a loop, handlers have goroutines of their own.
//
// # Locking
//
// Session.mu guards the session and all of its streams. Handlers run without it. Only the
// goroutine in one of the session's own methods has a queue to send to (Session.out); any
// other goroutine leaves its frames in Session.late, in their order, and wakes the loop. So
// frames are sent in the order in which they were encoded, which HPACK requires.
//
// A handler's own lock (Share) is taken before Session.mu, never after it.
//
// # Abuse
//
// Frames that cost more than they achieve are counted, and achievements are subtracted: see
// abuse.go. Beyond a limit the connection ends with ENHANCE_YOUR_CALM. A stream counts
// against the limit of concurrent streams until its handler has returned, even if the
// client has reset it.
package http2
