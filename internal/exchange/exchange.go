package exchange

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// An Exchange is one request with its response, whatever the protocol. It is
// the session's: valid from the call of the handler until that returns, then
// used again for another request.
type Exchange struct {
	Request
	Response
	// Session is the session that the exchange belongs to.
	Session Session
	// Local is at the handler's disposal; the session leaves it alone, so that
	// what hangs there is used again with the exchange.
	Local any
}

// Reset makes the exchange ready for the next request.
func (x *Exchange) Reset() {
	x.Request.Reset()
	x.ResetResponse()
}

// A Handler answers exchanges. It returns when the answer is complete in
// x.Response or sent through x.Session, or has been taken over with Session.Hold.
type Handler interface {
	ServeExchange(x *Exchange)
}

// A Session is what an exchange asks of the session that it belongs to. Unless it
// says otherwise a method is for the goroutine that runs the handler.
//
// Once the client has left, or has been too slow, nothing more can be sent: that
// error comes again from every method that sends, and OnGone's functions are called.
type Session interface {
	Conn

	// ReadBody reads the request's content: io.EOF at its end. It waits for
	// bytes if need be, and asks for them first where the client waits for 100
	// (Continue).
	ReadBody(x *Exchange, p []byte) (n int, err error)

	// SendBody sends x.Body and then p as parts of the body, and the head before
	// the first part. It waits while more than the high-water mark is unsent, and,
	// when p is long, until all of it is sent: p stays the caller's.
	SendBody(x *Exchange, p []byte) error
	// SendFile sends n bytes of f, from offset off, as a part of the body, with
	// what SendBody would send before it. It returns when the kernel has taken
	// them all, or never will: f stays the caller's. A file that ends early cuts
	// the connection.
	SendFile(x *Exchange, f *File, off, n int64) error
	// SendInfo sends an informational answer (1xx) with the lines of x so far.
	SendInfo(x *Exchange, status int) error
	// Flush sends all that was written, without waiting for the peer to take it
	// unless more than the high-water mark is unsent.
	Flush(x *Exchange) error

	// Hold keeps the exchange open after the handler has returned. Then its head
	// is sent, and f called on a goroutine of its own; not when the handler has
	// panicked or taken the connection over, or the head cannot be sent. The session
	// parses nothing more until the Held is closed. Hold is called once.
	Hold(x *Exchange, f func(Held))

	// Hijack takes the connection out of the session. The connection delivers
	// first what had been read and not consumed.
	Hijack(x *Exchange) (net.Conn, error)

	// Detach gives up the event loop: the handler is going to block.
	Detach()
	// Held is the Stretch by which the handler, which returns now, has held up its
	// loop. It is 0 when the handler has given the loop up, or has waited for its client, and
	// when it cannot be told yet, as others were called before it within one feed:
	// if that took long, those of the connection's next feeds are told apart.
	Held() time.Duration
	// Stretch is the longest time for which the handler has neither received content nor
	// sent output since it was called, or since Stretch was: a wait for somebody else is
	// one stretch, while large content comes in many short ones. When all of them
	// together are longer than a millisecond, it is their sum. It is 0 when it is not
	// known: of calls on the loop that receive much it is measured for a part.
	Stretch() time.Duration
	// Release says that nothing is borrowed any more from the memory that the
	// request came in, Head being a copy: it may serve other connections.
	Release()

	// Share says that other goroutines use the exchange at the same time, one
	// at a time as they hold l. A call that waits for the client unlocks l while
	// it waits. With nil the exchange belongs to the handler's goroutine again;
	// nobody must be waiting then.
	Share(l sync.Locker)

	// SetReadDeadline and SetWriteDeadline bound this exchange's waits for
	// content, and for the client to take output, in place of the server's
	// timeouts; waits that have begun too. The zero time is no bound.
	SetReadDeadline(t time.Time)
	SetWriteDeadline(t time.Time)

	// OnGone has f called once when the client goes away while the exchange is
	// open, by another goroutine; if it has gone already, OnGone reports that
	// instead. Who asked before is called as well. Any goroutine may call it, and
	// none once the handler has returned.
	OnGone(f func()) (gone bool)
}

// A Conn is a session's connection, in the eyes of those who are told of it. All
// but Slot is for any goroutine at any time.
type Conn interface {
	// Slot is a place of the connection that is the handler's: nil when the
	// connection is new.
	Slot() *any
	// CloseConn closes the connection: at once if an exchange is in progress, whose
	// client is then taken to have left, and behind the last answer otherwise.
	CloseConn()

	RemoteAddr() net.Addr
	LocalAddr() net.Addr
}

// A File is an open file, for a protocol that hands it on to its transport and
// does no I/O itself.
type File = os.File

// A Held is an exchange whose response goes on after its handler returned. Its
// methods may be called by any goroutine.
type Held interface {
	// Send queues p, which is copied, as a part of the body. It reports
	// ErrGone when the client has left.
	Send(p []byte) error
	// Buffered is the number of bytes queued and not yet taken by the kernel.
	Buffered() int
	// OnDrain has f called once when at most that many bytes are buffered, or
	// the client has left.
	OnDrain(most int, f func())
	// Close ends the body, and with it the exchange.
	Close()
	// Abort ends the connection so that the client, which gets what was sent, can
	// tell that there was more.
	Abort()
}

// Errors of a Session.
var (
	ErrGone        = errors.New("redline: the client has gone")
	ErrTimeout     = errors.New("redline: the client is too slow")
	ErrBodyTooLong = errors.New("redline: request body exceeds the limit")
	ErrBadBody     = errors.New("redline: request body is malformed")
	ErrLength      = errors.New("redline: body exceeds the announced Content-Length")
	ErrNoBody      = errors.New("redline: this status or method has no body")
	ErrHijacked    = errors.New("redline: connection has been hijacked")
)
