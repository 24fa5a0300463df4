// Package sse reads streams that never end: server-sent events, newline-delimited
// JSON and length-delimited records, as a load generator has to: of a hundred
// thousand at once.
//
// It is pure: no clock, no I/O, no goroutine. Bytes go in as they were read,
// split anywhere; what is counted comes out.
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
// Nothing of a record is kept. A [Scanner] knows where it stands within one, and
// hands on the bytes of a field's value in the pieces in which they came; the
// search for a time or an id within JSON goes on from any byte. A [Subscriber]
// therefore has a fixed size, however large the records are and wherever reads
// cut them; only the last event id, which a client has to give back to the
// server, is stored, and that in place when the next one is no longer.
//
// A record that is larger than its limit is counted as oversized, not as an
// event, and skipped.
//
// # Delay
//
// The end-to-end delay of an event is the time of the read that completed it
// minus the time that the server wrote into it, so both need the same clock, or
// one whose offset is known. It can come out negative when they do not.
package sse
