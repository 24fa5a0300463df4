// Package h2 is the client side of HTTP/2 (RFC 9113) as a state machine: it does no I/O,
// starts no goroutine and reads no clock, so that an event loop can drive thousands of
// connections from one thread.
//
//	           AppendRequest, AppendPending
//	event loop ────────────────────────────▶ bytes for the server
//	     ▲
//	     │ Head, Data, End, Fail                Feed
//	  Handler ◀───────────────── Conn ◀──────── bytes of the server
//
// A [Client] holds what its connections share; they belong to one goroutine. A [Conn] is
// one connection. It keeps its own output (preface, acknowledgements, window updates,
// resets, content that waited for a window) until AppendPending returns it, so the loop
// decides when to send it, and an output buffer never grows unexpectedly.
//
// # Cost of a request
//
// A [Request] is prepared once and shared. When a connection sends it for the first time,
// its fields are added to the server's dynamic table (RFC 7541, section 2.3.2); from the
// second time on the header block consists of a few indices, which are stored and copied.
// Nothing is ever evicted from that table: fields for which there is no room are sent as
// literals, so blocks remain valid. A response whose header block repeats the last one byte
// for byte, with an unchanged dynamic table, is not decoded again. Neither direction
// allocates once a connection has received its first responses.
//
// # Checks
//
// A connection error as defined in RFC 9113 ends the connection, with an [Error] of a
// [Kind] that results can count by name. A stream error, which includes malformed responses
// (section 8.1.1), fails one stream. The windows for the server's data are large, and are
// given back in bulk.
//
// # Limits for a hostile server
//
// The memory of a connection is bounded by its settings: there are limits on the size and
// the number of frames of a header block, and on the size of the decoded list of fields; a
// dynamic table has up to 4,096 bytes, an incomplete frame up to 16 KiB. Acknowledgements
// that the loop could not send yet are limited, too; a server that requests more is
// disconnected.
package h2
