package exchange

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/internal/learn"
)

// An Exchange is one request with its response, for any protocol. It belongs to the
// session: it is valid from the call of the handler until the handler returns, and is then
// reused for another request.
type Exchange struct {
	Request
	Response
	// Session is the session that the exchange belongs to.
	Session Session
	// Local is for the handler. The session leaves it alone, so its value is reused with
	// the exchange.
	Local any
}

// Reset makes the exchange ready for the next request.
func (x *Exchange) Reset() {
	x.Request.Reset()
	x.ResetResponse()
}

// A Handler answers exchanges. It returns when the answer is complete in x.Response, sent
// through x.Session, or taken over with Session.Hold.
type Handler interface {
	ServeExchange(x *Exchange)
}

// A Session is the interface of an exchange to the session that it belongs to. Unless
// stated otherwise, only the goroutine that runs the handler may call a method.
//
// Once the client has left, or has been too slow, nothing more can be sent: every method
// that sends returns the same error again, and the functions of OnGone are called.
type Session interface {
	Conn

	// Connection is the connection that the exchange arrived on. Unlike the Session of an
	// exchange, which may serve another one later, it is the same as long as the connection
	// lives.
	Connection() Conn

	// ReadBody reads the request's content: io.EOF at its end. It waits for bytes if
	// necessary, and first sends 100 (Continue) if the client waits for it.
	ReadBody(x *Exchange, p []byte) (n int, err error)

	// SendBody sends x.Body and then p as parts of the body, and the head before the first
	// part. It waits while more than the high-water mark is unsent and, if p is long, until
	// all of it is sent: the caller keeps ownership of p.
	SendBody(x *Exchange, p []byte) error
	// SendFile sends n bytes of f, from offset off, as part of the body, after the output
	// that SendBody would send before it. It returns when the kernel has accepted them all,
	// or never will; f stays with the caller. If the file ends early, the connection is
	// cut.
	SendFile(x *Exchange, f *File, off, n int64) error
	// SendInfo sends an informational answer (1xx) with the lines of x so far.
	SendInfo(x *Exchange, status int) error
	// Flush sends everything that was written. It waits for the peer only if more than the
	// high-water mark is unsent.
	Flush(x *Exchange) error

	// Hold keeps the exchange open after the handler has returned. Then its head is sent,
	// and f is called on its own goroutine, unless the handler has panicked or taken the
	// connection over, or the head cannot be sent. The session parses nothing more until
	// the Held is closed. Hold may be called once.
	Hold(x *Exchange, f func(Held))

	// Subscribe keeps the exchange open after the handler has returned. Then its head is sent,
	// and to writes the body by turns on the loop of the connection. Neither the exchange nor
	// the memory of the request are needed any more. If the handler panics or takes the
	// connection over, or the head cannot be sent, to is told that it is gone. Subscribe may be
	// called once, and not beside Hold; the caller sets Response.Subscribed.
	Subscribe(x *Exchange, to Subscriber) Subscribed

	// Hijack takes the connection out of the session. The connection first delivers bytes
	// that had been read and not consumed.
	Hijack(x *Exchange) (net.Conn, error)

	// Detach gives up the event loop, because the handler is about to block.
	Detach()
	// Watch names what is told, until Held is called, if the loop is taken over because the
	// handler does not return; nil is nobody. It has no effect if other handlers were called
	// earlier in the same feed, and it is not known which of them took how long.
	Watch(w *learn.Watch)
	// Held is the Stretch for which the handler, which is now returning, has held its loop.
	// It is 0 if the handler has given the loop up or has waited for its client, and if its
	// Watch was told. It is also 0 if it is unknown, because other handlers were called
	// earlier in the same feed; if that feed took long, the handlers of the connection's next
	// feeds are timed separately.
	Held() time.Duration
	// Stretch is the longest time for which the handler has neither received content nor
	// sent output since it was called, or since the last call of Stretch. A wait for
	// another service is one stretch, while large content arrives in many short ones. If
	// all of them together are longer than a millisecond, it is their sum. It is 0 if it is
	// not known: of calls on the loop that receive a lot, only some are measured.
	Stretch() time.Duration
	// Release declares that nothing is borrowed any more from the memory in which the
	// request arrived, because Head is a copy: the memory may serve other connections.
	Release()

	// Share declares that several goroutines use the exchange, one at a time, each holding
	// l. A call that waits for the client unlocks l while it waits. With nil the exchange
	// belongs to the handler's goroutine again; no goroutine may be waiting then.
	Share(l sync.Locker)

	// SetReadDeadline and SetWriteDeadline bound this exchange's waits for content, and for
	// the client to accept output. They replace the server's timeouts, also for waits that
	// have begun. The zero time means no bound.
	SetReadDeadline(t time.Time)
	SetWriteDeadline(t time.Time)

	// OnGone registers f, which another goroutine calls once if the client leaves while the
	// exchange is open. If the client has already left, OnGone reports that instead.
	// Functions registered earlier are called as well. Any goroutine may call it, but not
	// after the handler has returned.
	OnGone(f func()) (gone bool)
}

// A Conn is a session's connection as seen by hooks. Any goroutine may call its methods at
// any time, except TLS.
type Conn interface {
	// TLS returns the state of the connection's encryption, the same one each time, and nil
	// without encryption. Only the goroutine that runs the handler may call it.
	TLS() *TLSState
	// Slot is a variable of the connection for handlers: empty when the connection is new.
	// The handlers of several exchanges and hooks may use it at the same time.
	Slot() *atomic.Value
	// CloseConn closes the connection: at once if an exchange is in progress, whose client
	// then counts as having left, and otherwise after the last answer.
	CloseConn()

	RemoteAddr() net.Addr
	LocalAddr() net.Addr
}

// A File is an open file, for a protocol that passes it to its transport and does no I/O
// itself.
type File = os.File

// TLSState describes an encrypted connection, for a protocol that does not encrypt itself.
type TLSState = tls.ConnectionState

// A Held is an exchange whose response continues after its handler has returned. Any
// goroutine may call its methods.
type Held interface {
	// Send queues a copy of p as part of the body. It returns ErrGone if the client has
	// left.
	Send(p []byte) error
	// Buffered is the number of bytes queued and not yet accepted by the kernel.
	Buffered() int
	// OnDrain registers f, which is called once when at most that many bytes are buffered,
	// or the client has left.
	OnDrain(most int, f func())
	// Close ends the body, and with it the exchange.
	Close()
	// Abort ends the connection in such a way that the client, which gets what was sent,
	// can tell that the response is incomplete.
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
	ErrAborted     = errors.New("redline: the response was given up by its handler")
	ErrHijacked    = errors.New("redline: connection has been hijacked")
	ErrNoHijack    = fmt.Errorf("redline: the connection serves other requests, too (HTTP/2): hijack: %w", errors.ErrUnsupported)
)

// TLSOf returns the state of TLS of a connection of a transport, nil if it has none.
func TLSOf(c any) *TLSState {
	if c, ok := c.(interface{ TLS() *TLSState }); ok {
		return c.TLS()
	}
	return nil
}
