// Package request generates load from requests and answers: a closed or open loop over
// many connections of HTTP/1.1 or HTTP/2, in clear or over TLS, driven by one thread
// on raw epoll.
//
// Run connects, warms up until the rate is steady, measures one window, and
// reports the results as a sequence of [spec.Event] values; package run has the
// phases. It is meant to run in a process of its own that the parent pinned to one core.
//
// # What is in flight
//
// With Spec.Pipeline at 1 a connection sends its next request when the answer
// to the last one is complete and right. With a pipeline of N it sends N
// requests in one write, and the next N after all N answers. Sending one
// request for each answer would keep N in flight without a gap, but a
// server that answers in several writes would then receive its requests in ever
// smaller reads: both sides pay a system call for a few requests, and the
// rate falls. With whole batches every read of the server finds N requests, which
// is the highest load; the other connections fill the gap.
//
// # Open loop
//
// With Spec.Arrivals requests are sent when they are due (see package arrive),
// independently of answers. An arrival takes the connection that has been free longest.
// If none is free, it waits, and the wait is part of its response time. No arrival is
// dropped, and one that meets an error has failed. One that meets the end of its connection
// is sent again, once, if that is safe (retry_linux.go), and remains due when it was.
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
// Arrivals belong to the window in which they are due. After the window, the loop sends
// those that are still unsent, and waits for missing answers, for at most Spec.Timeout.
// Arrivals that remain unanswered enter the response times with their age, so that a
// stall near the end of the window is visible. Result.Requests counts the answers
// received within the window.
//
// During the warm-up arrivals have the rate with which the plan begins. The plan
// itself begins with the window; arrivals that wait at that moment are dropped.
//
// The thread wakes 300 microseconds before an arrival is due, and polls until
// then: time.Sleep would be late by a millisecond, and sleeping without polling
// would miss answers. At 10,000 arrivals a second on a dedicated core the p99 of
// Open.Pacing was 3 microseconds, at 100,000 a second 20.
//
// # Scenarios
//
// With Spec.Scenario every connection is a user (package scenario): it sends the
// requests of the user, passes the answers to it, and pauses for its think time. A user
// survives the sockets of its connection, so that a login stays valid when the server, or
// Spec.PerConnection, ends one. Outstanding answers are lost then, and the user
// begins another iteration.
//
// In an open loop an arrival is one request, of the user that has been free longest: each
// step of a flow takes one arrival, setup takes none, and a user that thinks is
// not free. There must be enough users for the rate.
//
// Setup is counted only for its targets. Result.Targets has the counts of
// each target, its latencies, and the failed checks by name. A plan of
// one constant request costs as much as a Request without a scenario: an answer that
// equals, byte for byte, one whose checks passed is not checked again.
//
// An iteration of a flow lasts from its first request to its last answer, and is counted
// when that arrives (Result.Flows).
//
// # Ramps
//
// With Spec.Ramp only the first n connections of a closed loop are active; n is updated
// every 20 milliseconds. A connection that becomes inactive ends after its last
// answer, at once if it waits for none. Its user stops there, and begins another iteration
// when the connection becomes active again. Result.Ramp has the counts of each step.
//
// # Protocols
//
// HTTP/1.1 in clear takes the short path: a batch goes from its buffer to the socket,
// and each read is compared with the last right answer. The other protocols branch off
// this path, which costs it the test of one byte (conn.detour):
//
//	batch ──────────────────────▶ socket     HTTP/1.1 in clear
//	batch ─────────────▶ wire ──▶ socket     HTTP/1.1 over TLS
//	requesters ────────▶ wire ──▶ socket     HTTP/2, in clear or over TLS
//
// A connection of HTTP/2 has Spec.Streams requesters, each with at most one request under
// way. They send and are checked like connections of HTTP/1.1: an arrival of an
// open loop takes the requester that has been free longest, and in a scenario each
// requester is a user. A requester needs a permit first, because the server limits the
// number of streams; requesters without a permit wait in a queue. The requests that
// follow the answers of one read leave in one write, and so do the arrivals of one turn.
//
// Before its first request a connection makes its handshakes: TLS, then HTTP/2's
// settings (see package wire). It is established after that, and a handshake error is
// reported like a failed connect. A late answer of HTTP/2 resets its stream;
// the connection is replaced if it has received nothing since. Each request that is
// lost with a connection counts, so that a server which closes connections does not
// get one error for a hundred requests.
//
// # Connections
//
// Spec.PerConnection replaces a connection after so many answers (whole batches with
// a pipeline), Spec.ConnectRate limits the connects per second, and Spec.Sources
// names the source addresses, used in turn. To the loopback, more than 10,000
// connections get as many source addresses as they need automatically. The side that
// closes first keeps a port for a minute (TIME-WAIT; a second on the loopback), which
// limits the rate of fresh connections: there are 28,000 ports per address.
//
// Spec.Slow limits the bytes per second that clients read or write, in steps of a
// hundredth of a second. A slow reader has a small receive buffer; otherwise the kernel
// would accept at once what the client reads slowly. Spec.Timeout still applies to the
// whole answer.
//
// A body that the scenario streams is generated piece by piece. A piece that the socket
// does not accept is generated again later: uploads of any size by any number of
// connections share one buffer of 256 KiB.
//
// # What is checked
//
// Status and length on every answer. Bodies up to 4 KiB are compared byte for
// byte on every answer, longer ones on a connection's first answer and then on
// one in 64. An answer that equals the last right one in every byte needs no
// parser (see h1.Template); all others go through the full one. With a
// scenario the scenario's checks decide, on the first 256 KiB of a body.
//
// Connection-level errors (connect, reset, closed, short, malformed, header, chunk,
// endless, timeout, unasked) count once per connection, however many requests were
// outstanding, and the connection is replaced. An answer of wrong status, length or
// body, or one that fails a check, counts as an error, and the connection stays in use.
// A connection that the server closes while no request is outstanding is no error:
// Result.Dropped counts them. Neither is a request that the server refused or left behind
// with its connection, if another one answers it: Result.Retried counts these.
//
// An answer that arrives before its request is completely written is accepted
// (RFC 9112, section 9.3, allows it) and counted in Result.Early; the next request
// waits for the rest of that write. An answer before the first byte of its request is
// unasked.
//
// Memory does not depend on what a server sends: a head of at most 64 KiB, and the
// 256 KiB for checks, on connections whose answer is not complete. The run ends early
// when connects are refused for two seconds, or when there was no right answer for
// 1.5 times Spec.Timeout; with Spec.Persist it does not. If a tick of the
// window is complete, there is a Result, whose GaveUp has the reason.
//
// Server processes may end. Their CPU time is counted until then, and Result.Gone names
// them; a process that replaces one is not looked for.
//
// # Latency
//
// From just before a batch is passed to the kernel (in an open loop: from the
// intended send) until the read that completed the answer returned, on the
// monotonic clock, read once per readable connection.
// The time to the first byte is from the same send. Connecting is in neither: it has
// its own histogram. In an open loop an arrival that waits for a fresh connection
// includes that wait.
//
// Package subscribe has the subscribers of streams (Spec.Listen). Their requests
// are events, and their latency is the wall clock minus the stamp in the event, so that
// server and generator must share a clock.
//
// # What a request costs
//
// At 64 connections and one request in flight each, against a responder that
// parses nothing, a profile by cpu-clock attributes 94 % of the generator's time to
// the kernel: one send, including the loopback delivery to the server's socket,
// one receive, and a share of one epoll_pwait for all connections
// that are ready. The system-call stubs take 2.5 %, this package and the
// histogram 3 %, the clock 0.6 %. Pipelined by 16 the shares are the same (93 %
// kernel), at a twelfth to a fifteenth of the cost per request. Only fewer or
// cheaper system calls would reduce it much (ADR 14: io_uring was tried).
//
// The thread polls while there is traffic, and sleeps after 100 microseconds
// without any. A sleeping thread is woken by the server's send, on
// the server's CPU time: with two connections and no polling that responder was
// measured at twice the CPU per request and less than half the rate, while at 64
// connections, with both cores full, there is no difference.
// Result.GeneratorCPU excludes empty polls, so that it still shows how busy
// the core is.
package request
