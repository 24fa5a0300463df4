// Package exchange describes one HTTP request and its response, for any protocol: the
// request record, the response, the names of headers, the limits. [Session] is the
// interface of an exchange to its session, [Conn] that to its connection, and [Held] a
// response that continues after its handler has returned.
//
// A parser fills a [Request] with offsets into one buffer of head bytes; nothing is copied
// and nothing is allocated. A []byte returned by the record is borrowed from that buffer
// and changes when the buffer is reused: code that passes such bytes to a user copies them
// or documents it.
package exchange
