package transport

import (
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redline-go/redline/internal/buf"
)

// A Session is the protocol's side of one connection: a state machine that is
// fed with bytes. The transport calls its methods one at a time, with the
// exceptions that Lost names.
type Session interface {
	// Feed consumes a prefix of in and returns its length; the rest is kept by
	// the transport and comes again, at the front of more. in is valid until
	// Feed returns and belongs to the session for that time. What Feed leaves in
	// out is sent when it returns, everything in one write where the socket
	// takes it. An error closes the connection once out is sent: see ErrClosed.
	//
	// What was not consumed is fed again without anything new after Pause(false),
	// after Unread, and when the output that was pending has all been sent. While
	// more than Config.HighWater bytes of output are pending nothing is fed.
	//
	// Feed may take its time. When it does not return within a few
	// milliseconds, another goroutine takes over the loop, and Feed goes on where
	// it is, as an ordinary goroutine. A Feed that knows that it will block says
	// so with Conn.Detach first. Until it has returned the session is fed
	// nothing; it can ask for more bytes itself, with Conn.Read. When it ends its
	// goroutine (runtime.Goexit) the connection is cut.
	Feed(in []byte, out *buf.Queue) (n int, err error)

	// EOF says that the peer has sent its last byte. unread is what Feed has not
	// consumed. The connection stays open for writing until EOF's error, or the
	// next one, closes it. ErrClosed is the usual answer.
	EOF(unread []byte, out *buf.Queue) error

	// Expired says that the time of SetTimeout is over while nothing was being fed.
	// It is also called while the connection waits to be closed until everything is
	// sent: then an error cuts it, and without one the sending goes on until the
	// timeout that Expired has set, 30 s if it has set none.
	Expired(out *buf.Queue) error

	// Drained says that everything has been sent: Pending is zero again. It is
	// called between the session's other calls, whenever what they have left in
	// out is taken by the kernel; only of a Feed whose output was taken at once
	// it need not tell. A session that writes from elsewhere, by Wake, learns
	// from it that it may write more. Not called when a call has returned an
	// error.
	Drained()

	// Lost says that the peer has gone (end of stream, reset or hang-up), or that
	// the connection was closed by Close(Abrupt), while Feed had not returned. It is
	// called at most once, by another goroutine than Feed's, at the same time as it.
	Lost(err error)

	// Closed is the last call: the connection is gone, nothing more can be sent.
	// err is nil when the session asked for it.
	Closed(err error)
}

// A Conn is what a session can ask of its connection. Wake, Close and the
// addresses may be used by any goroutine at any time; all else only inside of
// the session's own methods and of functions run by Wake.
type Conn interface {
	Feeding

	// Wake runs f on the connection's loop, after Feed has returned if it is
	// being fed, and never after Closed: then it reports false, or drops f. What
	// f leaves in out is sent. f must not block.
	Wake(f func(out *buf.Queue) error) bool

	// SetTimeout sets how long it is from now until Expired is called, or Read
	// returns ErrDeadline; SetWriteTimeout is the same for Flush and Hijack. One of
	// each a connection, that holds until it is set again, for waits that have begun
	// too. 0 is for ever; what is less is over already. When the connection is to be
	// closed, SetTimeout is for the sending of what is left: see Session.Expired. It
	// costs a store: time is coarse, and timers are kept lazily, precise to about
	// 50 ms.
	SetTimeout(d time.Duration)
	SetWriteTimeout(d time.Duration)

	// Pause(true) stops feeding until Pause(false), also what Feed did not consume:
	// what the peer sends waits in the kernel, and the peer with it. Lost is told
	// also when the session is paused and nothing is being fed. Bytes that are
	// waiting are fed soon after Pause(false).
	Pause(on bool)

	// Pending is the number of bytes accepted for sending that the kernel has
	// not taken yet.
	Pending() int
	// Untaken is Pending, and what the kernel has taken and the peer's system has
	// not acknowledged, where that can be known. It costs a system call.
	Untaken() int

	// Close closes the connection: see [Closing]. A session that cuts returns no
	// error: that would ask for good order.
	Close(how Closing)

	LocalAddr() net.Addr
	RemoteAddr() net.Addr
}

// Feeding is what a session can ask of its connection within Feed only.
//
// Several goroutines may use it if a lock of the session's, l, is held for every
// call, and before Feed returns. For as long as one waits in Read, and one in Flush,
// l is free for the others: so one goroutine reads while another writes, and neither
// holds the other up. All other calls keep l while they wait. There may be one wait
// for input at a time and one for room (Flush, Hijack), none when Feed returns, and
// none for input when Hijack is called.
type Feeding interface {
	// Detach gives up the loop: from here to the end of Feed the caller is an
	// ordinary goroutine and may block. It costs one hand-over, about 0.3 us.
	// Calling it again does nothing. Not between Tail and Commit of out, whose
	// memory is let go of when it is empty.
	Detach()

	// Detached reports whether the caller no longer leads the loop: it called
	// Detach, or was taken over.
	Detached() bool

	// Release says that the session will not touch in again: it has consumed all
	// of it, given the rest back with Unread, and Feed is going to return len(in).
	// The memory serves other reads from then on, should Feed go on for long.
	// It costs a store.
	Release()

	// Read reads at least one byte into p, waiting for it if need be: it
	// detaches first when it has to wait, and then unlocks l, unless that is nil,
	// which is locked again when it returns, as sync.Cond.Wait does. Only when all
	// of in has been consumed: bytes read here are not fed. Errors: io.EOF,
	// ErrDeadline, ErrLost.
	Read(p []byte, l sync.Locker) (n int, err error)

	// Unread gives back bytes that Read brought and the session does not want
	// now: they are copied and fed first once Feed has returned. Only when Feed is
	// going to return len(in).
	Unread(p []byte)

	// Flush sends what is in out now and returns when at most that many bytes are
	// left unsent, waiting if need be, with l as Read does: it detaches first when it
	// has to wait. What others leave in out while it waits is sent as well. Errors:
	// ErrLost, and out and what was pending are dropped; ErrDeadline, and what is
	// pending stays so: the session waits on, or cuts.
	Flush(out *buf.Queue, most int, l sync.Locker) error

	// Hijack takes the connection out of the transport: nothing more is fed, Closed
	// is not called. unread is what Feed has not consumed of in, for the returned
	// connection to deliver first: it is a [*Hijacked] then. Bytes in out are sent
	// first. After an error that is not ErrLost the connection is what it was
	// before.
	Hijack(unread []byte, out *buf.Queue) (net.Conn, error)
}

// Closing says how a connection is closed.
type Closing uint8

// The ways to close a connection.
const (
	// Orderly is as soon as Feed has returned and what was left to send is sent.
	Orderly Closing = iota
	// Abrupt is at once: a Feed that runs is told by Lost, its waits end, and what
	// the kernel has not taken is dropped. The peer gets what the kernel has, and the
	// end.
	Abrupt
	// Reset is Abrupt with a reset, so that the peer cannot take what it has got for
	// all there was. A Feed that runs is not told by Lost.
	Reset
)

// The errors of a connection.
var (
	// ErrClosed asks the transport to close a connection in good order: when
	// everything is sent, and at once if nothing is unread. After any other error
	// of the session, or with input unread, the transport shuts the writing side
	// and reads and drops what comes, up to 256 KiB, for five seconds or until the
	// peer closes too, so that one that is still sending sees the last answer and
	// not a reset.
	ErrClosed = errors.New("redline: connection closed")
	// ErrDeadline is returned by what waits when its timeout is over.
	ErrDeadline = errors.New("redline: deadline passed")
	// ErrLost is returned when the peer has gone.
	ErrLost = errors.New("redline: peer has gone")
	// ErrExited is what Closed is told when the session has ended its goroutine.
	ErrExited = errors.New("redline: goroutine ended within the session")
	// ErrStopped is what Serve returns after Close.
	ErrStopped = errors.New("redline: transport stopped")
)

// A Config says how a transport is to run.
type Config struct {
	Loops      int                         // event loops; at least 1
	Pin        []int                       // CPU of each loop; nil leaves the placement to the kernel
	NewSession func(Conn) Session          // called on the loop for every accepted connection
	MaxConns   int                         // open connections; beyond it the oldest waiting in the backlog wait on
	AcceptRate int                         // connections accepted a second; 0 is no limit
	HighWater  int                         // bytes unsent beyond which a connection is not fed; 0 means 64 KiB
	Takeover   time.Duration               // how long Feed may hold a loop; 0 means 1 ms
	Log        func(msg string, err error) // may block
}

// ListenOptions are the options of listening sockets.
type ListenOptions struct {
	FastOpen    int  // TCP_FASTOPEN queue length; 0 is off
	DeferAccept bool // TCP_DEFER_ACCEPT
	Backlog     int  // 0 means the system's limit
}

// A Transport accepts connections and feeds their sessions.
type Transport interface {
	// Listen opens listening sockets, one a loop (SO_REUSEPORT) where the
	// network is TCP, one shared where it is unix.
	Listen(network, address string, o ListenOptions) (net.Addr, error)
	// Adopt listens on a given listener. The descriptor of a *net.TCPListener or
	// *net.UnixListener is duplicated: the caller's stays open. Others may have an
	// Accept of their own, and are refused by transports that do not call it. One
	// that does takes the listener over: it closes it, and Serve returns what ends
	// its Accept.
	Adopt(l net.Listener) error
	// Serve runs the loops until Close. It returns ErrStopped, or why a loop
	// could not go on, or why the last listener accepts no more.
	Serve() error
	// StopAccepting closes the listening sockets; connections in their backlog
	// are accepted first.
	StopAccepting()
	// Each runs f for the session of every connection that is not being fed, on its
	// loop. It returns when f was called for all, or the context-like channel is
	// closed.
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
	Refused   uint64 // times that accepting had to wait for a limit: MaxConns, AcceptRate, descriptors
	Takeovers uint64 // loops taken over because Feed did not return in time
	Detached  uint64 // loops given up by Detach, Read or Flush
	Stayed    uint64 // Feeds by a goroutine that had kept the connection since the one before
	Rounds    uint64 // of loops: handle what there is, wait
	Fetches   uint64 // of loops: ask the kernel for events, without waiting
	BytesIn   uint64
	BytesOut  uint64
	Loops     int
}
