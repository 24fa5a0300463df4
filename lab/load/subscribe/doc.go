// Package subscribe makes the load of subscribers. It holds those of event streams: tens of thousands of
// connections on one thread, each of which asks once and listens then.
//
//	 sockets ── Loop ──▶ book ──▶ h1.Parser ──▶ sse.Reader ──▶ Recorder
//	(epoll)      ▲        │ head, chunks        events, ids    delay, gap, lag
//	             └────────┘
//	      who connects next, who hangs up
//
// The book is what there is to know about subscribers: it has no socket and no
// clock, so that tests give it both. Loop is the epoll loop under it. With TLS or
// HTTP/2 there are lines between the two, connections (see package wire) that several
// subscribers may share; without them their memory is not there.
//
// # A subscriber's life
//
//	waiting ──▶ connecting ──▶ asking ──▶ standing
//	   ▲            │            │           │        204: retired, for good
//	   └────────────┴────────────┴───────────┘
//	            error, or the stream's end
//
// A subscriber stands from the head of a right answer on: status 200, no coding of
// the content, and for server-sent events their media type. When its stream ends it
// comes back as browsers do (HTML, section 9.2.3): after the time that the server
// asked for in the field retry, or Subscribe.Retry, with the id of the last event in
// Last-Event-ID. Waits do not grow: how often it comes back is part of the load.
// Status 204 tells it not to.
//
// Over HTTP/2 a subscriber is a stream. Its end is the stream's (END_STREAM, RST_STREAM)
// or the connection's, which it shares with Options.Share-1 others; these it comes back
// to, if their connection is still there. A connection that the server leaves with
// GOAWAY keeps those who stand on it to the ends of their streams, and takes nobody
// else. Nor does one on which nothing came while a subscriber waited for too long.
//
// # What is counted
//
// An error of a connection is counted once for each subscriber on it, under its
// [Kind]; what goes wrong on one that has nobody on it, once. A stream that the
// server ends in order (its last chunk, its announced length, or the end of a
// connection that had neither, of TLS after its close_notify) is one only with
// Subscribe.Ends unset. Records and ids
// are package sse's affair: missed and duplicated ids are counted by subscriber,
// across its connections.
//
// A gap that has not ended cannot be in the distribution of gaps, and a server that
// falls silent would look well there. Result.Quiet and Result.Silence tell of those.
//
// # Lag
//
// What the loop does with one socket is waiting time of all others. The lag of a
// read is the time since the loop last knew that the socket had nothing to read: it
// is an upper bound on the time from readable to read, and the part of a delay that
// may be the generator's own.
//
// # Memory
//
// All reads share one buffer, and nothing of a record is kept. A subscriber is a
// place in one slice, of a fixed size, and the bytes of its last event id; a head
// that came in pieces is kept until it is whole, for at most 256 connections at a
// time. TLS and HTTP/2 add what packages wire, tlsc and h2 keep of a connection.
//
// # A run
//
// Package run has the phases. All subscribers connect, and the warm-up begins when each
// has stood once, or no more come: who is missing then is the result's affair. While
// other generators are waited for, the subscribers listen.
package subscribe
