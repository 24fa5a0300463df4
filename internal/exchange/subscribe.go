package exchange

import (
	"net"
	"time"
)

// A Subscriber is a response that continues after its handler has returned, and is written
// by turns on the loop of its connection. The session calls its methods one at a time.
type Subscriber interface {
	// Turn may write, with Subscribed. Its first call follows the head.
	Turn() Verdict
	// Gone is the last call. err is nil if the response has ended as it should.
	Gone(err error)
}

// A Verdict is what becomes of a response after a turn.
type Verdict uint8

// The verdicts.
const (
	Continue Verdict = iota
	End              // the body is complete
	Cut              // it will never be: the client can tell
)

// Subscribed is a session's side of such a response. Any goroutine may call its methods at
// any time, except those that only a turn may call.
type Subscribed interface {
	// Turn makes the loop call the Subscriber's Turn, if the response is open: it reports
	// false when the connection is gone.
	Turned
	// Loop returns the loop of the connection.
	Loop() Loop
	// At returns what the walks of the loop visit for this response.
	At() Turned

	// Put appends a copy of p to the body, PutFrame a part that was prepared. They report
	// false, and append nothing, if more than Config.HighWater bytes would be unsent, unless
	// there are none: Turn is called again when all of them are gone. Only a turn may call
	// them, and Pending.
	Put(p []byte) bool
	PutFrame(f *Frame) bool
	// Pending is the number of bytes that the kernel has not accepted.
	Pending() int

	RemoteAddr() net.Addr
	// SetAckTimeout bounds the time for which the client's system acknowledges nothing of
	// what its connection has sent: see transport.Acked.
	SetAckTimeout(d time.Duration)
}

// A Frame is a part of the bodies of many responses. It does not change.
type Frame struct {
	Body  []byte
	Chunk []byte // Body as a chunk of HTTP/1.1; empty if Body is
}

// Turned is what a walk visits.
type Turned = interface{ Turn() bool }

// A Loop is a loop of a transport: see transport.Loop.
type Loop interface {
	Walk(next func() (at Turned, more bool)) bool
	Later(d time.Duration, f func()) bool
}
