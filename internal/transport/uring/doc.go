// Package uring is the transport on Linux's io_uring: a driver of package sockets
// with one ring a loop.
//
// A connection is accepted by a multishot accept, and read by a multishot recv
// into buffers that belong to the ring. Short answers are copied to a slab and sent
// together, with one call for up to 32 of them, and before another session runs when the
// first has waited for 100 us; what completes meanwhile is in the queue when the call
// returns, so that a busy loop makes no call to learn of it.
//
//	         ┌──────────── kernel ────────────┐
//	accept ─▶│ multishot accept ──┐           │
//	socket ─▶│ multishot recv ────┤ CQ     SQ │◀─ sends of a round
//	         └────────────────────┼────────▲──┘
//	                              ▼        │ slab
//	   Next ─▶ Recv copies out of the ring's buffer ─▶ Feed
//
// Bytes are copied once more than they would have to be, into the scratch of the
// goroutine that feeds: a request is a few cache lines, and a handler that goes on
// for long keeps no buffer from the ring.
//
// # Bytes stay in order
//
// The kernel receives without being asked, while nobody may want it: the session
// is being fed, has paused, or its goroutine reads on its own. Then
//
//  1. the leader appends what comes to the connection's early bytes, and cancels
//     the recv; more may come until it has ended;
//  2. the last completion says that it has ended: the leader sets direct. From
//     here on the kernel takes nothing from the socket by itself;
//  3. whoever reads, the leader or a goroutine in Feed, loads direct first, then
//     takes early bytes, then, only if direct was set, reads from the socket. As
//     nothing becomes early after direct was set, it cannot read past early bytes;
//  4. the leader arms the recv again, and clears direct, only when nobody feeds
//     and nothing is early.
//
// A goroutine that finds nothing asks the loop for In, and waits: the loop ends
// the recv (2), and polls the socket for it.
//
// Answers stay in order, too. A send completes within the call that submits it,
// and is silent unless it was short: nothing else is done with a connection that
// has one in the batch (Batched) before the batch is submitted, and what was short
// is known, and in the connection's queue, before that. Long answers, and those of
// goroutines that do not lead, go out by send(2).
//
// # Descriptors
//
// A request holds its file, so a descriptor is closed when all requests of its
// connection have completed, and its number is not used again before: what is left
// in the queue cannot be about another connection. The generation in the user data
// makes sure of it, and requests are cancelled by these data. A ring that has failed is
// not entered any more: what it has queued names descriptors that are being closed.
// Direct descriptors would save a reference a send, but hijacked connections, sendfile
// and socket options need a plain one.
//
// # Memory
//
// A ring takes 82 KiB for its queues, and maps 8.2 MiB for buffers, of which it
// begins to use 256 KiB when connections are busy, and the rest only when that has
// run out, and 256 KiB for the batch. An idle connection has none.
//
// Of a connection that nobody feeds, what the kernel delivers is kept: 64 KiB at most, the
// limit of a multishot recv. Kernels before 6.17 know none: there a recv is for one piece
// of 4 KiB. A connection of which bytes were kept is received from piece by piece for a
// while.
package uring
