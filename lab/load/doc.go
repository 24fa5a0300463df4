// Package load is the core of the lab's load generator: a closed or open loop over
// many HTTP/1.1 connections, driven by one thread on raw epoll.
//
// Run connects, warms up until the rate is steady, measures one window, and
// reports what happened as a sequence of [Event] values. It is meant for a
// process of its own that the parent pinned to one core.
//
// # What is in flight
//
// With Spec.Pipeline at 1 a connection sends its next request when the answer
// to the last one is complete and right. With a pipeline of N it sends N
// requests in one write and the next N once all N answers came. Sending one
// request for each answer instead would keep N in flight without a gap, but a
// server that answers in several writes would then get its requests in ever
// smaller reads: both sides pay a system call for a handful of requests, and the
// rate falls. Whole batches let every read of the server find N requests, which
// is what drives it hardest; the other connections fill the gap.
//
// # Open loop
//
// With Spec.Arrivals requests come when they are due (see package arrive) and not
// after answers. An arrival takes the connection that is free for longest; when
// none is, it waits, and its wait counts. None is ever left out, and none is
// sent twice: one that meets an error has failed.
//
//	intended      possible  sent              answered
//	   │ no connection │ late │   service time   │
//	   ├───────────────┼──────┼──────────────────┤
//	   │   send lag           │                  │
//	   ├──────────────────────┘                  │
//	   │               response time             │
//	   └─────────────────────────────────────────┘
//
// "Late" is the generator's own part of the send lag, Open.Pacing.
//
// Arrivals belong to the window in which they are due. After it, those that are
// without an answer are waited for, for Spec.Timeout at most, and the unsent are
// still sent; what is left then enters the response times with its age. So a
// server that stalls towards the end shows that it did. Result.Requests counts
// the answers that came within the window, as ever.
//
// In the warm-up arrivals come at the rate with which the plan begins. The plan
// itself begins with the window, and what still waits at that moment is dropped.
//
// The thread is awake 300 microseconds before an arrival is due, and polls until
// then: time.Sleep would be late by a millisecond, and a sleep without the poll
// would miss answers. At 10,000 arrivals a second on a core of its own the p99 of
// Open.Pacing was 3 microseconds, at 100,000 a second 20.
//
// # What is checked
//
// Status and length on every answer. Bodies up to 4 KiB are compared byte for
// byte on every answer, longer ones on a connection's first answer and then on
// one in 64. An answer that equals the last right one in every byte needs no
// parser (see template); everything else goes through the full one.
//
// Connection-level errors (connect, reset, closed, short, malformed, timeout,
// unasked) count once a connection, however many requests were outstanding,
// and the connection is replaced. An answer of wrong status, length or body
// counts as an error, and the connection goes on.
//
// An answer that arrives before its request was written to the end is accepted
// (RFC 9112, section 9.3, allows it); the next request waits for the rest of
// that write. An answer before the first byte of its request is unasked.
//
// # Latency
//
// From just before a batch is handed to the kernel (in an open loop: from the
// intended send) until the read that completed the answer returned, on the
// monotonic clock, read once a readable connection.
// In stream mode it is the wall clock minus the stamp in the event, so server
// and generator must share a clock.
//
// # What a request costs
//
// At 64 connections and one request in flight each, against a responder that
// parses nothing, a profile by cpu-clock puts 94 % of the generator's time into
// the kernel: one send, with the loopback delivery to the server's socket that
// it carries, one receive, and a share of one epoll_pwait for all connections
// that are ready. The system-call stubs take 2.5 %, this package and the
// histogram 3 %, the clock 0.6 %. Pipelined by 16 the shares are the same (93 %
// kernel), at a twelfth to a fifteenth of the cost a request. So there is little
// to gain here but fewer or cheaper system calls.
//
// The thread polls while there is traffic, and sleeps once 100 microseconds
// brought nothing. A thread that sleeps has to be woken by the server's send, on
// the server's CPU time: with two connections and no polling that responder was
// measured at twice the CPU a request and less than half the rate, while at 64
// connections, with both cores full, there is no difference.
// Result.GeneratorCPU leaves empty polls out, so that it still tells how full
// the core is.
package load
