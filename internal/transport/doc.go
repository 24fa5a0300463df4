// Package transport is the contract between the code that moves bytes and the code that
// interprets them. The transports are its subpackages; the sessions are in http1, http2 and
// tlsio.
//
// The contract is completion-shaped: bytes that have arrived are fed to a [Session], and
// bytes to be sent are left in a queue.
//
//	          ┌───────────────── loop ──────────────────┐
//	socket ──▶│ read ─▶ Feed(in, out) ─▶ write out      │──▶ socket
//	          │           │ handler, inline             │
//	          └───────────┼─────────────────────────────┘
//	                      │ blocks: Detach, Read, Flush, or not back in time
//	                      ▼
//	          a follower takes the loop over; this goroutine keeps the
//	          connection and hands it back when Feed returns
//
// A loop has one leader at a time. The goroutine that runs Feed is the leader when Feed
// begins, and may no longer be the leader when it ends: it must not touch what belongs to
// the loop. That is why a session receives everything it may use: in, out and its Conn.
//
// A [Turner] is called also when nothing has arrived, because there may be something to
// send: by [Looped.Turn], and for many connections at once by [Loop.Walk].
//
// [Feeding] contains the calls that may wait, and are therefore allowed only within Feed.
// [Closing] says how a connection is closed. Config.HighWater bounds the output that waits
// for one client.
package transport
