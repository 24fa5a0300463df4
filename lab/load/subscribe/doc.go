// Package subscribe generates the load of subscribers to event streams. One thread holds
// tens of thousands of connections; each sends one request and then reads.
//
//	 sockets ── Loop ──▶ book ──▶ h1.Parser ──▶ sse.Reader ──▶ Recorder
//	(epoll)      ▲        │ head, chunks        events, ids    delay, gap, lag
//	             └────────┘
//	   which subscriber connects, which closes
//
// The book holds the state of all subscribers. It uses neither sockets nor clocks, so
// that tests can supply both. Loop is the epoll loop under it. TLS and HTTP/2 add lines
// between the two: connections (see package wire) that several subscribers may share.
// Without TLS and HTTP/2, lines use no memory.
//
// # A subscriber's life
//
//	waiting ──▶ connecting ──▶ asking ──▶ standing
//	   ▲            │            │           │        204: retired, for good
//	   └────────────┴────────────┴───────────┘
//	            error, or the stream's end
//
// A subscriber is standing (it receives events) once the head of a valid answer has
// arrived: status 200, no content coding, and for server-sent events their media type.
// When its stream ends, it reconnects as browsers do (HTML, section 9.2.3): after the time
// in the server's retry field, or else Subscribe.Retry, with the id of the last event in
// Last-Event-ID. There is no backoff: the rate of reconnects is part of the load. After
// status 204 it does not reconnect.
//
// Over HTTP/2 a subscriber is a stream. It ends with the stream (END_STREAM, RST_STREAM)
// or with the connection, which it shares with Options.Share-1 others. It reconnects on
// the same connection if that is still open. After GOAWAY, existing streams continue to
// their ends, but the connection takes no new ones. The same applies to a connection on
// which nothing arrived while a subscriber timed out.
//
// # What is counted
//
// A connection error is counted under its [Kind], once for each subscriber on the
// connection, or once if there is none. A regular end of a stream (the last chunk, the
// announced length, or, without either, the end of the connection, over TLS after
// close_notify) is an error only if Subscribe.Ends is not set. Package sse parses records
// and ids: missed and duplicated ids are counted per subscriber, across its connections.
//
// The distribution of gaps has no gap that is still open at the window's end, so a server
// that stopped sending would look good there. Result.Quiet and Result.Silence report such
// gaps.
//
// # Crowds
//
// Subscribers may be divided among topics, leave and join again as new ones (Churn), or hardly
// read (Slow; their figures are apart). On WebSockets messages are records; pings are answered.
//
// # Publishing
//
// Publishers run on the same loop, so events are stamped by the clock that they are received by,
// and what was published is known: ids that a subscriber does not receive are missed, also before
// its first event and after its last. An event's time is when it was due. Events of a topic are
// published in order, one after the answer to another. One that fails is not repeated.
//
// # Lag
//
// While the loop handles one socket, all others wait. The lag of a read is the time since
// the loop last knew that the socket had nothing to read. It is an upper bound on the time
// from readable to read, and therefore on the generator's own part of a delay. It counts once for each
// event of the read. After a wait in which the thread was not run, nothing is known of its end.
//
// # Memory
//
// All reads share one buffer, and records are not stored. A subscriber uses a fixed-size
// element of one slice and the bytes of its last event id. A head that arrives in pieces
// is kept until it is complete, for at most 256 connections at a time. TLS and HTTP/2 add
// the state that packages wire, tlsclient and h2 keep for a connection.
//
// # A run
//
// Package run implements the phases. All subscribers connect. The warm-up begins when each
// has stood at least once, or when no more connect; the result reports how many are
// missing. Subscribers read events while other generators are not ready.
package subscribe
