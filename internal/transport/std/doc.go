// Package std is the transport on Go's own poller: portable, and simple rather than fast.
// It is the fallback where there is neither io_uring nor epoll, and the reference for
// comparing the other transports.
//
// Each listener has a goroutine, which only accepts: no code of sessions can delay it. Each
// connection has two goroutines, the reader and the runner, and a third one, the writer,
// while there is something to write. One mutex guards what they share, and one condition
// signals every change:
//
//	reader ──arrived──▶ runner ──out──▶ writer
//
// The runner creates the session and calls it; the session may block freely, because there
// is no loop to give up. When a Feed leaves its connection, another goroutine becomes the
// runner. Only Lost is called on a separate goroutine. The reader is at most
// one read ahead, so it learns that the peer has left while the session is busy, but not if
// unread bytes come before that.
//
// Only this transport can serve a listener with its own Accept. A connection of such a
// listener, or of crypto/tls, is read and written by its own methods, with a waiting buffer
// of 4 KiB; the connection underneath (NetConn) is used to end it at once, and to query
// what the peer has not acknowledged. A connection without NetConn is closed instead, so
// its peer may see a reset if input was unread.
package std
