// Package ring is sockets whose bytes go through an io_uring, for a load generator's
// loop: the other way beside package sock's epoll, send(2) and recv(2).
//
// A caller has places, each with one socket at a time, and says what is wanted of
// them: Receive, Send, AwaitRoom, Close. Nothing of it is a system call but Close.
// What is wanted is handed to the kernel together, by the one io_uring_enter of Wait
// or Submit, and what came of it is read by Sent and Next:
//
//	Send ─▶ wanted ─▶ slab ─▶ SQ ──enter──▶ socket
//	                          CQ ◀─enter─── multishot recv into provided buffers
//	Sent ◀── sends that failed, and the rest
//	Next ◀── bytes, ends, errors, room
//
// Four things hold, and make it simple:
//
//  1. The ring belongs to one thread (SINGLE_ISSUER), and the kernel works for it only
//     within io_uring_enter (DEFER_TASKRUN): nothing changes between two calls. That
//     there is something to fetch, a flag in shared memory says, so that an empty poll
//     is no system call.
//  2. A send is complete when the enter that submits it returns: with MSG_DONTWAIT it
//     does what it can at once, and MSG_WAITALL has it count as failed when that is not
//     everything. Only failures leave a completion (CQE_SKIP_SUCCESS), and they are
//     looked for before anything else is. So no memory is shown to the kernel beyond a
//     call, and none of the caller's at all: what is sent is copied to a slab, and what
//     is longer than a slot of it is not sent by this package.
//  3. Requests are written down when they are submitted, not when they are wanted: a
//     place that is closed before takes them with it, and no request meets a descriptor
//     that means another socket by then.
//  4. Completions carry place and generation. Those of a socket that was closed are
//     dropped, and their buffers given back.
//
// A multishot recv holds its file: a socket whose descriptor is closed ends when the
// recv is cancelled, which Close asks for and the next enter does.
//
// Needed are Linux 6.1 and that io_uring is not forbidden; New says which it is.
//
// The libraries for Go that exist wrap liburing's whole interface, and leave what is
// hard here, the life of buffers and descriptors, to their users.
package ring
