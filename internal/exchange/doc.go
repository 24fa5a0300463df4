// Package exchange describes one HTTP request with its response, whatever the
// protocol it came over: the request record, the response, the names of headers, the
// limits. [Session] is what an exchange asks of the session that it belongs to, [Conn]
// what is known of the connection, and [Held] a response that goes on after its handler
// has returned.
//
// A parser fills a [Request] with offsets into one buffer of head bytes; nothing
// is copied and nothing is allocated. What the record hands out as []byte is
// borrowed from that buffer and changes when the buffer is used again: whoever
// gives such bytes to a user copies them or says so.
package exchange
