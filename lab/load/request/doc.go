// Package request makes the load of requests and answers: a closed or open loop over
// many connections of HTTP/1.1 or HTTP/2, in clear or over TLS, driven by one thread
// on raw epoll.
//
// Run connects, warms up until the rate is steady, measures one window, and
// reports what happened as a sequence of [spec.Event] values; package run has the
// phases. It is meant for a process of its own that the parent pinned to one core.
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
// # Scenarios
//
// With Spec.Scenario every connection is a user (package scenario): it asks what the
// user asks next, shows it the answers, and waits for as long as it thinks. A user
// outlives the sockets of its connection, so that a login holds when the server, or
// Spec.PerConnection, ends one; what was outstanding then is lost, and the user
// begins another iteration.
//
// In an open loop an arrival is one request, of the user who is free for longest: the
// steps of a flow take one arrival each, setup takes none, and a user who thinks is
// not free. There have to be enough of them.
//
// Setup is counted for its targets and nowhere else. Result.Targets has the counts of
// each target, its latencies, and the checks that failed under their names. A plan of
// one constant request costs what a Request without a scenario does: an answer that
// equals, byte for byte, one whose checks held needs no further look.
//
// An iteration of a flow lasts from its first request to its last answer, and is counted
// with that (Result.Flows).
//
// # Ramps
//
// With Spec.Ramp only some of the connections of a closed loop take part, the first ones.
// How many is looked up every 20 milliseconds. One that is to leave ends after its last
// answer, at once if it waits for none; its user stops there, and begins another iteration
// if it comes back. Result.Ramp has what came in each step.
//
// # Protocols
//
// HTTP/1.1 in clear takes the short path: a batch goes from its buffer to the socket,
// and what a read brought is compared with the last right answer. All else lies
// beside it, and costs it one byte that is tested (conn.detour):
//
//	batch ──────────────────────▶ socket     HTTP/1.1 in clear
//	batch ─────────────▶ wire ──▶ socket     HTTP/1.1 over TLS
//	requesters ────────▶ wire ──▶ socket     HTTP/2, in clear or over TLS
//
// A connection of HTTP/2 has Spec.Streams requesters, each with one request under way
// at most. They ask and are judged as connections of HTTP/1.1 are: an arrival of an
// open loop takes the requester that is free for longest, and of a scenario each is a
// user. A requester needs a permit first, because the server says how many streams
// there may be; those without one wait in a queue. What the answers of one read lead
// to leaves in one write, and so do the arrivals of one turn.
//
// Before its first request a connection makes its handshakes: TLS, then HTTP/2's
// settings (see package wire). It is not established until then, and what goes wrong is
// told like a connect that failed. An answer of HTTP/2 that is late costs its stream;
// the connection is replaced when nothing came on it at all since. Each request that a
// connection takes with it counts, so that a server which ends connections is not let
// off with one error for a hundred requests.
//
// # Connections
//
// Spec.PerConnection replaces a connection after so many answers (whole batches with
// a pipeline), Spec.ConnectRate bounds how many begin in a second, and Spec.Sources
// names the addresses that they come from, in turn. To the loopback, more than 10,000
// connections get as many source addresses as they need by themselves. Closing first
// leaves a port behind for a minute (TIME-WAIT; a second on the loopback), which
// bounds the rate of fresh connections by 28,000 ports an address.
//
// Spec.Slow makes clients read or write at a number of bytes a second, in steps of a
// hundredth. A slow reader's receive buffer is small, or the kernel would take at once
// what the client is slow to ask for. Spec.Timeout counts for the whole answer all the
// same.
//
// A body that the scenario streams is made piece by piece, and what the socket does
// not take is made again when it does: uploads of any size by any number of
// connections share one buffer of 256 KiB.
//
// # What is checked
//
// Status and length on every answer. Bodies up to 4 KiB are compared byte for
// byte on every answer, longer ones on a connection's first answer and then on
// one in 64. An answer that equals the last right one in every byte needs no
// parser (see h1.Template); everything else goes through the full one. With a
// scenario it is the scenario's checks that decide, on the first 256 KiB of a body.
//
// Connection-level errors (connect, reset, closed, short, malformed, header, chunk,
// endless, timeout, unasked) count once a connection, however many requests were
// outstanding, and the connection is replaced. An answer of wrong status, length or
// body, or one that fails a check, counts as an error, and the connection goes on.
// A connection that the server ends while nothing is asked of it is no error:
// Result.Dropped counts them.
//
// An answer that arrives before its request was written to the end is accepted
// (RFC 9112, section 9.3, allows it) and counted in Result.Early; the next request
// waits for the rest of that write. An answer before the first byte of its request is
// unasked.
//
// Whatever a server sends, no more is kept of it than a head of 64 KiB, and the
// 256 KiB for checks, on connections whose answer is not complete. A run is given up
// when connects are refused for two seconds, or when there was no right answer for
// half as long again as Spec.Timeout; with Spec.Persist it is not. If a tick of the
// window was over, there is a Result, whose GaveUp has the reason.
//
// Server processes may end. Their CPU time is that until then, and Result.Gone names
// them; a process that takes the place of one is not looked for.
//
// # Latency
//
// From just before a batch is handed to the kernel (in an open loop: from the
// intended send) until the read that completed the answer returned, on the
// monotonic clock, read once a readable connection.
// The time to the first byte is from the same send. Connecting is in neither: it has
// its own histogram. In an open loop an arrival that waits for a fresh connection
// counts that wait.
//
// Subscribers of streams (Spec.Listen) are package subscribe's; of theirs the requests
// are events, and the latency is the wall clock minus the stamp in the event, so that
// server and generator must share a clock.
//
// # What a request costs
//
// At 64 connections and one request in flight each, against a responder that
// parses nothing, a profile by cpu-clock puts 94 % of the generator's time into
// the kernel: one send, with the loopback delivery to the server's socket that
// it carries, one receive, and a share of one epoll_pwait for all connections
// that are ready. The system-call stubs take 2.5 %, this package and the
// histogram 3 %, the clock 0.6 %. Pipelined by 16 the shares are the same (93 %
// kernel), at a twelfth to a fifteenth of the cost a request. Only fewer or
// cheaper system calls would reduce it much (ADR 14: io_uring was tried).
//
// The thread polls while there is traffic, and sleeps once 100 microseconds
// brought nothing. A thread that sleeps has to be woken by the server's send, on
// the server's CPU time: with two connections and no polling that responder was
// measured at twice the CPU a request and less than half the rate, while at 64
// connections, with both cores full, there is no difference.
// Result.GeneratorCPU leaves empty polls out, so that it still tells how full
// the core is.
package request
