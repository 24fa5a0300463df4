// Package uring is the transport on Linux's io_uring: a driver of package sockets with one
// ring per loop.
//
// A connection is accepted by a multishot accept, and read by a multishot recv into buffers
// that belong to the ring. Short answers are copied to a slab and sent together, with one
// call for up to 32 of them. The batch is also sent before another session runs if its
// first answer has waited for 100 us. Operations that complete meanwhile are in the queue
// when the call returns, so a busy loop makes no call to learn of them.
//
//	         ┌──────────── kernel ────────────┐
//	accept ─▶│ multishot accept ──┐           │
//	socket ─▶│ multishot recv ────┤ CQ     SQ │◀─ sends of a round
//	         └────────────────────┼────────▲──┘
//	                              ▼        │ slab
//	   Next ─▶ Recv copies out of the ring's buffer ─▶ Feed
//
// Bytes are copied once more than strictly necessary, into the scratch buffer of the
// goroutine that feeds: a request is a few cache lines, and a long-running handler keeps no
// buffer of the ring.
//
// # Bytes stay in order
//
// The kernel also receives while no code wants the input: the session is being fed, has
// paused, or its goroutine reads by itself. Then
//
//  1. the leader appends received bytes to the connection's early bytes, and cancels
//     the recv; more may arrive until it has ended;
//  2. the last completion reports that it has ended: the leader stores theSocket
//     in after. From here on the kernel takes nothing from the socket by itself;
//  3. a reader, the leader or a goroutine in Feed, loads after first, then takes
//     early bytes, then, only if it has loaded theSocket, reads from the socket. As
//     nothing becomes early after that was stored, it cannot read past early bytes;
//  4. the leader arms the recv again, and stores nothing in after, only when the
//     connection is not being fed and nothing is early. An end remains.
//
// A goroutine that finds nothing asks the loop for In, and waits: the loop ends the recv
// (2), and polls the socket for it.
//
// Answers stay in order, too. A send completes within the call that submits it, and has no
// completion unless it was short. If a connection has a send in the batch (Batched), the
// batch is submitted before anything else is done with the connection, and a short send is
// known and in the connection's queue before that. Long answers, and those of goroutines
// that do not lead, are sent by send(2).
//
// # Descriptors
//
// A request holds its file, so a descriptor is closed when all requests of its connection
// have completed, and its number is not reused before: what remains in the queue cannot
// concern another connection. The generation in the user data makes sure of it, and
// requests are cancelled by these data. A ring that has failed is not entered any more: its
// queue names descriptors that are being closed. Direct descriptors would save a reference
// per send, but hijacked connections, sendfile and socket options need a plain one.
//
// # Memory
//
// A ring takes 82 KiB for its queues, and 256 KiB for the batch. It maps 8.2 MiB for
// buffers: 256 KiB of these are used as soon as connections are busy, and the rest only
// when these have run out: their memory is returned two seconds after that, when the loop
// next does something. An idle connection has no buffer.
//
// Input that the kernel delivers for a connection that is not being fed is kept: at most 64
// KiB, the limit of a multishot recv. Kernels before 6.17 do not support the limit: there a
// recv is for one piece of 4 KiB. After bytes of a connection were kept, its recvs are for
// one piece each for a while.
package uring
