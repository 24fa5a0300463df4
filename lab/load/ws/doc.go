// Package ws parses what a server sends on a WebSocket (RFC 6455), for a load generator. It does
// no I/O, and stores no part of a message: its memory is bounded, whatever a server sends.
//
//	bytes, as read ──▶ Parser ──▶ Sink: parts of messages, their ends, control frames
//
// Extensions are never offered, so frames with reserved bits are errors.
package ws
