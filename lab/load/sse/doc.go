// Package sse parses endless streams: server-sent events, newline-delimited JSON and
// length-delimited records. It is made for a load generator, which reads a hundred thousand
// of them at once.
//
// It is pure: no clock, no I/O, no goroutine. The input are bytes as read, split at any
// position; the output are counts and times.
//
//	             bytes, as read
//	                   │
//	              ┌────▼────┐  fields, in pieces   ┌────────┐
//	Subscriber ──▶│ Scanner │─────────────────────▶│ finder │ time, id
//	              └────┬────┘                      └────────┘
//	                   │ end of a record
//	                   ▼
//	        gap, delay ──▶ Recorder      events, missed, duplicated, last id
//
// # Memory
//
// No part of a record is stored. A [Scanner] tracks its position within a record, and
// passes on the bytes of a field's value in the pieces in which they arrived; the search
// for a time or an id within JSON can continue from any byte. Therefore a [Subscriber] has
// a fixed size, regardless of the size of records and of where reads split them. Only the
// last event id, which a client must send back to the server, is stored, and it is
// overwritten in place if the next one is not longer.
//
// A record that exceeds its limit is skipped, and counted as oversized, not as an event.
//
// # Delay
//
// The end-to-end delay of an event is the time of the read that completed it minus the time
// that the server wrote into it. Both need the same clock, or clocks with a known offset;
// otherwise the delay may be negative.
package sse
