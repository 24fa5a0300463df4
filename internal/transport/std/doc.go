// Package std is the transport on Go's own poller: portable, and simple rather
// than fast. It is the fallback where there is neither io_uring nor epoll, and
// the one to compare the others with when in doubt.
//
// Listeners have a goroutine each, which accepts and does nothing else: no code of
// sessions can hold it up. A connection has two goroutines, the reader and the
// runner, and a third one, the writer, while there is something to write. What they
// share is under one mutex, and any change is told with one condition:
//
//	reader ──arrived──▶ runner ──out──▶ writer
//
// The runner makes the session and calls it, which may block as it likes: there is no
// loop to give up. Lost alone is called by a goroutine of its own. The reader is one
// read ahead at most, so it learns that the peer has left while the session is busy,
// but not behind bytes that nobody has read.
//
// A listener whose Accept is somebody's own can be served by no other transport. A
// connection of such a one, or of crypto/tls, is read and written by its own
// methods, with a buffer of 4 KiB that waits; what it stands on (NetConn) is used to
// end it at once, and to ask what the peer has not acknowledged. One that does not say
// is closed instead, so that its peer may see a reset where input was unread.
package std
