package transport

import (
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/learn"
)

// A Session is the protocol's side of one connection: a state machine that is fed with
// bytes. The transport calls its methods one at a time, except as described for Lost.
type Session interface {
	// Feed consumes a prefix of in and returns its length; the transport keeps the rest and
	// feeds it again, followed by more. in is valid until Feed returns and belongs to the
	// session for that time. What Feed leaves in out is sent when it returns, in one write
	// if the socket accepts it. An error closes the connection once out is sent: see
	// ErrClosed.
	//
	// Unconsumed input is fed again without anything new after Pause(false), after Unread,
	// and when all pending output has been sent. While more than Config.HighWater bytes of
	// output are pending, nothing is fed.
	//
	// Feed may take its time. If it does not return within a few milliseconds, another
	// goroutine takes over the loop, and Feed continues as an ordinary goroutine. On a loop that
	// has been taken over often, it begins as one. A Feed
	// that is about to block calls Conn.Detach first. Until Feed has returned, the session
	// is not fed; it can read more bytes itself, with Conn.Read. If it ends its goroutine
	// (runtime.Goexit), the connection is cut. A Feed that has left its connection, by
	// Conn.Leave or [Leaver], counts as returned from then on.
	Feed(in []byte, out *buf.Queue) (n int, err error)

	// EOF reports that the peer has sent its last byte. unread is what Feed has not
	// consumed. The connection stays open for writing until the error returned by EOF, or a
	// later one, closes it. ErrClosed is the usual answer.
	EOF(unread []byte, out *buf.Queue) error

	// Expired reports that the time of SetTimeout has passed while nothing was being fed.
	// It is also called while the connection waits for its output to be sent before it is
	// closed: then an error cuts it, and without an error sending continues until the
	// timeout that Expired has set, 30 s if it has set none.
	Expired(out *buf.Queue) error

	// Drained reports that everything has been sent: Pending is zero again. It is called
	// between the session's other calls, whenever the kernel has accepted what they left in
	// out; it need not be called for a Feed whose output was accepted at once. A session
	// that writes from elsewhere, by Wake, learns from it that it may write more. It is not
	// called after a call has returned an error.
	Drained()

	// Lost reports that the peer has gone (end of stream, reset or hang-up), or that
	// Close(Abrupt) closed the connection, while Feed had not returned. It is called at
	// most once, by another goroutine than Feed's and concurrently with it.
	Lost(err error)

	// Closed is the last call: the connection is gone, and nothing more can be sent. err is
	// nil if the session asked for it.
	Closed(err error)
}

// A Leaver is a session whose connection continues while a Feed blocks: other goroutines call
// the session, and the goroutine of that Feed does something else for it. The transport looks
// the interface up once, when the session has been created. Only such a session may call
// Conn.Leave.
//
// Feed's goroutine and Left race. The session decides it by an atomic compare-and-swap of its
// own, or under a lock of its own, so that exactly one of them wins:
//
//  1. Feed stores that it may be let go, and what Left needs. Until it has taken that back
//     (5), it calls nothing of Conn but Detached, Wake, Close and the addresses.
//  2. Feed reads Conn.Detached. If it is true, Left may have been called before 1: Feed
//     takes it back (5), and calls Leave if it is still about to block. If it is false, Left
//     will be called if Feed does not return in time.
//  3. The watchdog deposes Feed's goroutine: Detached is true from here on.
//  4. The goroutine that takes the loop over calls Left, which compares and swaps, and
//     returns true if it wins.
//  5. Feed compares and swaps, before it uses in, out or the rest of Conn again, and before
//     it returns or calls Leave. If it loses, it has been let go, as if it had called Leave.
//
// So Left may also be called when Feed has not stored anything, has left by itself, or has
// just returned: then it returns false. But it is never called later than the session's next
// call. A transport without loops never calls it: there Detached is always true.
type Leaver interface {
	Session

	// Left reports whether the Feed that has not returned in time lets its connection go, of
	// its input n bytes consumed: see Conn.Leave. It is called at most once for each
	// takeover, by the goroutine that takes the loop over, before that does anything else,
	// and concurrently with Feed. If the result is true, Left may have added to out, which is
	// the queue of that Feed, and may have used what the session's own methods may use of
	// Conn: it stands for the end of Feed. Left must not block, except briefly for a lock
	// that Feed does not hold while it calls Conn or returns.
	Left(out *buf.Queue) (n int, ok bool)
}

// A Lender is a session whose queue may hold output, while Feed runs code that may take long, that
// the peer must not wait for: answers to requests that arrived before the one in progress. Feed and
// Lend race as described for Leaver:
//
//  1. Feed stores that its queue is lent. Until it has taken it back (5), it uses neither the
//     queue nor anything of Conn but Detached, Release, the timeouts and what any goroutine may use.
//  2. Feed reads Conn.Detached. If it is true, Lend may have been called before 1: Feed takes
//     the queue back (5), and sends what is in it.
//  3. The watchdog deposes Feed's goroutine: Detached is true from here on.
//  4. The goroutine that takes the loop over calls Lend, which compares and swaps, and calls
//     send if it wins.
//  5. Feed compares and swaps. If it loses, it waits until send has returned.
//
// Lend is called at most once for each takeover, before the loop does anything else. A
// transport without loops never calls it: there Detached is always true.
type Lender interface {
	Session

	// Lend calls send, which sends what is in the queue of the Feed that has not returned as far
	// as the socket accepts it, if the queue is lent.
	Lend(send func())
}

// A Conn is the session's interface to its connection. Any goroutine may call Wake, Close
// and the addresses at any time; all other methods may be called only within the session's
// own methods and functions run by Wake.
type Conn interface {
	Feeding

	// Wake runs f on the connection's loop, after Feed has returned or left if the connection
	// is being fed, and never after Closed: then it reports false, or drops f. What f leaves
	// in out is sent. f must not block.
	Wake(f func(out *buf.Queue) error) bool

	// SetTimeout sets the time from now until Expired is called, or Read returns
	// ErrDeadline; SetWriteTimeout is the same for Flush and Hijack. Each connection has
	// one of each. It is valid until it is set again, also for waits that have begun. 0
	// means no limit; a negative value has already passed. If the connection is to be
	// closed, SetTimeout applies to sending what remains: see Session.Expired. It costs a
	// store: time is coarse, and timers are kept lazily, precise to about 50 ms.
	SetTimeout(d time.Duration)
	SetWriteTimeout(d time.Duration)

	// Pause(true) stops feeding until Pause(false), also of input that Feed did not
	// consume: what the peer sends waits in the kernel, and so does the peer. Lost is also
	// called if the session is paused and nothing is being fed. Waiting bytes are fed soon
	// after Pause(false).
	Pause(on bool)

	// Pending is the number of bytes accepted for sending that the kernel has not accepted
	// yet.
	Pending() int
	// Untaken is Pending plus what the kernel has accepted and the peer's system has not
	// acknowledged, if that can be known. It costs a system call.
	Untaken() int

	// Close closes the connection: see [Closing]. A session that cuts returns no error,
	// because an error requests an orderly close.
	Close(how Closing)

	LocalAddr() net.Addr
	RemoteAddr() net.Addr
}

// Feeding is the session's interface to its connection that may be used only within Feed.
//
// Several goroutines may use it if every call is made with a lock of the session, l, held,
// and before Feed returns. While one waits in Read, and one in Flush, l is released for the
// others: so one goroutine reads while another writes, and neither blocks the other. All
// other calls keep l while they wait. There may be one wait for input at a time and one for
// room (Flush, Hijack), none when Feed returns, and none for input when Hijack is called.
type Feeding interface {
	// Detach gives up the loop: until the end of Feed the caller is an ordinary goroutine
	// and may block. It costs one hand-over, about 0.3 us. Further calls have no effect. It
	// must not be called between Tail and Commit of out, whose memory is released when it
	// is empty.
	Detach()

	// Detached reports whether the caller no longer leads the loop: it called Detach, or
	// was taken over.
	Detached() bool

	// Watch names what is told if the loop is taken over before Feed returns and before Watch
	// is called again; nil is nobody. It returns what was named before, nil if that has been
	// told. It is told at most once, before the loop continues. Feed may call Watch if
	// Detached was false when it began. It costs an atomic swap.
	Watch(w *Watch) *Watch

	// Leave ends this Feed for the connection, while its goroutine continues as an ordinary
	// one. Only a [Leaver] may call it, on the goroutine of Feed, when nothing waits in Read
	// or Flush. n bytes of in are consumed; the rest is fed again at once, as after
	// Pause(false). out is sent. If the caller still leads the loop, the loop is given up, as
	// by Detach.
	//
	// From here on the session is called by other goroutines, possibly before Leave has
	// returned. The caller uses neither in nor out, and of Conn only what any goroutine may
	// use at any time. Nobody waits for it: what its Feed returns is ignored, and so is the
	// end of the goroutine. Lost may still be called once until the loop has the connection
	// back, as when Feed returns.
	Leave(n int)

	// Release declares that the session will not use in again: it has consumed all of it,
	// given the rest back with Unread, and Feed is going to return len(in). From then on
	// the memory serves other reads, in case Feed runs for long. It costs a store.
	Release()

	// Read reads at least one byte into p, waiting for it if necessary. If it has to wait,
	// it detaches first, and unlocks l, unless l is nil; l is locked again when Read
	// returns, as in sync.Cond.Wait. It may be called only when all of in has been
	// consumed; bytes read here are not fed. Errors: io.EOF, ErrDeadline, ErrLost.
	Read(p []byte, l sync.Locker) (n int, err error)

	// Unread returns bytes that Read delivered and the session does not want now: they are
	// copied and fed first once Feed has returned. It may be called only if Feed is going
	// to return len(in).
	Unread(p []byte)

	// Flush sends the content of out now and returns when at most that many bytes are left
	// unsent. If it has to wait, it detaches first, and handles l as Read does. What others
	// leave in out while it waits is sent as well. It is no error if the connection ends when
	// all was sent, and the caller does not know that yet. Errors: ErrLost, and out and
	// pending output are dropped; ErrDeadline, and pending output stays pending: the session
	// waits again, or cuts.
	Flush(out *buf.Queue, most int, l sync.Locker) error

	// Hijack takes the connection out of the transport: nothing more is fed, and Closed is
	// not called. unread is the part of in that Feed has not consumed; the returned
	// connection delivers it first and is then a [*Hijacked]. Bytes in out are sent first.
	// After an error other than ErrLost the connection is unchanged.
	Hijack(unread []byte, out *buf.Queue) (net.Conn, error)
}

// A Watch is told that a call holds its loop for too long.
type Watch = learn.Watch

// Closing says how a connection is closed.
type Closing uint8

// The ways to close a connection.
const (
	// Orderly closes as soon as Feed has returned and the remaining output is sent.
	Orderly Closing = iota
	// Abrupt closes at once: Lost notifies a running Feed, its waits end, and output that
	// the kernel has not accepted is dropped, and so is what a call that runs leaves in out.
	// The peer gets what the kernel has, and the end of the stream.
	Abrupt
	// Reset is Abrupt with a reset, so that the peer cannot mistake what it has received
	// for everything. Lost does not notify a running Feed.
	Reset
)

// The errors of a connection.
var (
	// ErrClosed asks the transport to close a connection in order: when everything is sent,
	// and at once if nothing is unread. After any other error of the session, or with input
	// unread, the transport shuts the writing side, and reads and drops input, up to 256
	// KiB, for five seconds or until the peer closes too. A peer that is still sending then
	// sees the last answer and not a reset.
	ErrClosed = errors.New("redline: connection closed")
	// ErrDeadline is returned by calls that wait when their timeout has passed.
	ErrDeadline = errors.New("redline: deadline passed")
	// ErrLost is returned when the peer has gone.
	ErrLost = errors.New("redline: peer has gone")
	// ErrExited is passed to Closed if the session has ended its goroutine.
	ErrExited = errors.New("redline: goroutine ended within the session")
	// ErrStopped is returned by Serve after Close.
	ErrStopped = errors.New("redline: transport stopped")
)

// A Config configures a transport.
type Config struct {
	Loops      int                         // event loops; at least 1
	Pin        []int                       // CPU of each loop; nil leaves the placement to the kernel
	NewSession func(Conn) Session          // called on the loop for every accepted connection
	MaxConns   int                         // open connections; beyond it the oldest in the backlog keep waiting
	AcceptRate int                         // connections accepted per second; 0 is no limit
	HighWater  int                         // bytes unsent beyond which a connection is not fed; 0 means 64 KiB
	Takeover   time.Duration               // how long Feed may hold a loop; 0 means 1 ms
	Log        func(msg string, err error) // may block
}

// ListenOptions are the options of a listener.
type ListenOptions struct {
	NewSession  func(Conn) Session // for its connections, instead of Config.NewSession; may be nil
	FastOpen    int                // TCP_FASTOPEN queue length; 0 is off
	DeferAccept bool               // TCP_DEFER_ACCEPT
	Backlog     int                // 0 means the system's limit
}

// A Transport accepts connections and feeds their sessions.
type Transport interface {
	// Listen opens listening sockets: one per loop (SO_REUSEPORT) for TCP, one shared
	// socket for unix.
	Listen(network, address string, o ListenOptions) (net.Addr, error)
	// Adopt listens on an existing listener. The descriptor of a *net.TCPListener or
	// *net.UnixListener is duplicated: the caller's stays open. Other listeners may have
	// their own Accept; transports that do not call it refuse them. A transport that does
	// takes the listener over: it closes it, and Serve returns the error that ends its
	// Accept. Of the options, only NewSession applies.
	Adopt(l net.Listener, o ListenOptions) error
	// Drop closes what Adopt has made of a *net.TCPListener or *net.UnixListener; connections
	// in its backlog are not accepted first. If no listener is left, Serve returns why. It has
	// no effect on one that the transport has taken over.
	Drop(l net.Listener, why error)
	// Serve runs the loops until Close. It returns ErrStopped, or the reason why a loop
	// could not continue, or why the last listener accepts no more.
	Serve() error
	// StopAccepting closes the listening sockets; connections in their backlog
	// are accepted first.
	StopAccepting()
	// Each runs f for the session of every connection that is not being fed, on its loop.
	// It returns when f has been called for all, or stop is closed.
	Each(f func(s Session, out *buf.Queue) error, stop <-chan struct{})
	// Close closes all connections and ends the loops.
	Close() error
	// Stats returns counters without locks.
	Stats() Stats
}

// Stats are counters since the start, summed over the loops.
type Stats struct {
	Open      int64 // connections
	Accepted  uint64
	Refused   uint64 // times that accepting had to wait because of a limit: MaxConns, AcceptRate, descriptors
	Takeovers uint64 // loops taken over because Feed did not return in time
	Detached  uint64 // loops given up by Detach, Leave, Read or Flush
	Spared    uint64 // loops given up before a call, because they had been taken over too often
	Stayed    uint64 // Feeds by a goroutine that had kept the connection since the previous one
	Rounds    uint64 // iterations of the loops: handle what is there, then wait
	Fetches   uint64 // queries of the loops for events of the kernel, without waiting
	BytesIn   uint64
	BytesOut  uint64
	Loops     int
}
