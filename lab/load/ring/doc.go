// Package ring provides sockets whose I/O uses an io_uring, for a load generator's event
// loop. It is the alternative to epoll, send(2) and recv(2) in package sock.
//
// A caller has places, each with one socket at a time, and requests operations on them:
// Receive, Send, AwaitRoom, CloseSocket. Only CloseSocket is a system call. The requested
// operations are submitted together, by the one io_uring_enter of Wait or Submit, and Sent
// and Next return the results:
//
//	Send ─▶ wanted ─▶ slab ─▶ SQ ──enter──▶ socket
//	                          CQ ◀─enter─── multishot recv into provided buffers
//	Sent ◀── sends that failed, and the rest
//	Next ◀── bytes, ends, errors, room
//
// Four properties keep it simple:
//
// 1. The ring belongs to one thread (SINGLE_ISSUER), and the kernel works for it only
// within io_uring_enter (DEFER_TASKRUN): nothing changes between two calls. A flag
// in shared memory reports that there is something to fetch, so an empty poll
// is not a system call.
// 2. A send is complete when the enter that submits it returns: with MSG_DONTWAIT it
// does what it can immediately, and with MSG_WAITALL it counts as failed if that is
// not everything. Only failures produce a completion (CQE_SKIP_SUCCESS), and they
// are processed before anything else. So the kernel uses no memory after the call
// ends, and never memory of the caller: the data to send is copied to a slab, and
// this package does not send data that is longer than a slot of the slab.
// 3. Requests are filled in when they are submitted, not when they are requested: if a
// place is closed before, they are dropped, and no request can refer to a descriptor
// that has been reused for another socket.
// 4. Completions contain place and generation. Those of a closed socket are dropped,
// and their buffers returned.
//
// A multishot recv keeps its file open: a socket whose descriptor is closed ends when the
// recv is cancelled, which CloseSocket requests and the next enter does.
//
// It requires Linux 6.1 and that io_uring is not forbidden; the error of New says which of
// the two is missing.
//
// The existing Go libraries wrap the whole interface of liburing, and leave the difficult
// part, the lifetime of buffers and descriptors, to their users.
package ring
