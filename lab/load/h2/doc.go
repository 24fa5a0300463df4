// Package h2 is the client side of HTTP/2 (RFC 9113) as a machine of bytes: it
// does no I/O, starts no goroutine and reads no clock, so that an event loop can
// drive thousands of connections from one thread.
//
//	           AppendRequest, AppendPending
//	event loop ────────────────────────────▶ bytes for the server
//	     ▲
//	     │ Head, Data, End, Fail                Feed
//	  Handler ◀───────────────── Conn ◀──────── bytes of the server
//
// A [Client] holds what its connections share; they belong to one goroutine. A
// [Conn] is one connection. What it has to say on its own account (preface,
// acknowledgements, window updates, resets, content that waited for a window) it
// keeps until AppendPending takes it away, so the loop decides when, and an output
// buffer never grows behind its back.
//
// # What a request costs
//
// A [Request] is prepared once and shared. The first time that a connection sends
// it, its fields go into the server's dynamic table (RFC 7541, section 2.3.2);
// from the second time on the header block is a few indices, kept and copied.
// Nothing is ever evicted from that table: fields for which there is no room are
// sent as literals, so blocks stay valid. An answer whose header block repeats the
// last one byte for byte, with the dynamic table as it was, is not decoded again.
// Neither direction allocates once a connection has seen its first answers.
//
// # What is checked
//
// What RFC 9113 calls a connection error ends the connection, with an [Error] of a
// [Kind] that results can count by name; what it calls a stream error, malformed
// answers among them (section 8.1.1), fails the one stream. The windows that the
// server may fill are large, and a window is given back in bulk.
//
// # What a hostile server can do
//
// Memory of a connection is bounded by its settings: a header block has a size
// and a number of frames, the decoded list of fields has a size, a dynamic table
// 4,096 bytes, an incomplete frame 16 KiB. Acknowledgements that the loop could not
// send yet are bounded, too; the server that asks for more is cut off.
package h2
