package transport

import (
	"time"

	"github.com/redline-go/redline/internal/buf"
)

// A Turner is a session whose loop calls it when there may be something to send, although
// nothing was received. The call takes no memory, so a session that is pushed to needs
// neither a goroutine nor a function for each part of its output.
type Turner interface {
	Session
	// Turn is called like a function of Wake: after [Looped.Turn], and in a walk. What it
	// leaves in out is sent; if the kernel does not accept all of it, Drained is called when
	// it has. Turn must not block. A call without a reason is possible.
	Turn(out *buf.Queue) error
}

// Looped is a connection whose session is a [Turner]. The connections of all transports
// are.
type Looped interface {
	Conn
	Turned
	// Loop returns the connection's loop, which stays the same.
	Loop() Loop
	// At returns the connection as its loop knows it, for Walk: a walk visits it without a
	// message.
	At() Turned
}

// Acked is a connection that can bound the time for which its peer's system acknowledges
// nothing of what was sent.
type Acked interface {
	// SetAckTimeout has the kernel give the connection up when data stays unacknowledged for
	// that long, or the peer's window closed; 0 means as long as the system's own bound. It
	// has no effect where the system cannot do it. Any goroutine may call it at any time.
	SetAckTimeout(d time.Duration)
}

// Turned is what a walk visits. Turn makes the loop call the session's Turn, after Feed has
// returned or left if the connection is being fed; it reports false when the session is
// never called again. Any goroutine may call it, at any time. It takes no memory.
type Turned = interface{ Turn() bool }

// A Loop is the event loop of connections, for code that has something for many of them.
// Loops can be compared. Any goroutine may call the methods, which report false if the loop
// has ended: then the functions are not called, as they are not if it ends before that.
//
// The functions run on the loop, one at a time. They must not block: if one of them takes
// longer than a Feed may, another goroutine takes over the loop, and only the functions that
// follow wait for it. A transport without loops runs them on a goroutine; there Turn is
// called concurrently with them.
type Loop interface {
	// Walk calls next on the loop until more is false, and takes a turn for each result: at
	// once if it is a connection of this loop that is not being fed, and otherwise by its
	// Turn. A nil is skipped. After about 200 us, which it shares with functions of Wake and
	// Later and with timers, the walk lets other events of the loop pass, and then continues. Walks follow each other in the order of the calls of Walk.
	Walk(next func() (at Turned, more bool)) bool
	// Later calls f once, no sooner than after d, precise to about a millisecond.
	Later(d time.Duration, f func()) bool
}
