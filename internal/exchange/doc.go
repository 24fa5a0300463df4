// Package exchange describes one HTTP request with its response, whatever the
// protocol it came over: the request record, the names of headers, the limits.
//
// A parser fills a [Request] with offsets into one buffer of head bytes; nothing
// is copied and nothing is allocated. What the record hands out as []byte is
// borrowed from that buffer and changes when the buffer is used again: whoever
// gives such bytes to a user copies them or says so.
package exchange
