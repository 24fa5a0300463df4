// Package transport is the contract between those who move bytes and those who
// understand them. The transports are its subpackages, the sessions live in http1,
// http2 and tlsio.
//
// The contract is completion-shaped: bytes that have arrived are fed to a
// [Session], bytes to be sent are left in a queue.
//
//	          ┌───────────────── loop ──────────────────┐
//	socket ──▶│ read ─▶ Feed(in, out) ─▶ write out      │──▶ socket
//	          │           │ handler, inline             │
//	          └───────────┼─────────────────────────────┘
//	                      │ blocks: Detach, Read, Flush, or not back in time
//	                      ▼
//	          a follower takes the loop over; this goroutine goes on with the
//	          connection alone and hands it back when Feed returns
//
// A loop has one leader at a time. Whoever runs Feed is the leader when it
// begins and may not be when it ends: it must not touch what belongs to the
// loop. That is why a session is given everything it may use: in, out and its
// Conn.
//
// What may wait, and so only within Feed, is [Feeding]. [Closing] says how a
// connection is closed. Config.HighWater bounds the output that waits for one client.
package transport
