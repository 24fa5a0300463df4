package http1

import (
	"net"
	"sync"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/exchange"
)

// Conn is what a session asks of its connection. A transport's connections are
// of this form; the meaning of each method is told there.
type Conn interface {
	Wake(f func(out *buf.Queue) error) bool
	Detach()
	Detached() bool
	Release()
	Read(p []byte, l sync.Locker) (n int, err error)
	Unread(p []byte)
	Flush(out *buf.Queue, most int) error
	AwaitRoom(l sync.Locker, most int) error
	SetTimeout(d time.Duration)
	SetWriteTimeout(d time.Duration)
	Pause()
	Resume()
	Pending() int
	Hijack(unread []byte, out *buf.Queue) (net.Conn, error)
	Close(now bool)
	LocalAddr() net.Addr
	RemoteAddr() net.Addr
}

// Config is what the sessions of a server share.
type Config struct {
	Handler exchange.Handler
	Limits  exchange.Limits
	// Closed is the error with which a session asks its transport to close the
	// connection in good order.
	Closed error
	// Server is the value of the Server field; empty sends none.
	Server string
	// The deadlines; 0 means none. HeaderTimeout is for a head, from its first
	// byte or from accept; ReadTimeout for a whole request, from its first byte;
	// WriteTimeout for a whole answer, from the end of the request's head;
	// StallTimeout for each wait for content, or for the peer to take output;
	// IdleTimeout between requests.
	HeaderTimeout, ReadTimeout, WriteTimeout, StallTimeout, IdleTimeout time.Duration
	// HighWater is how many unsent bytes of an answer make its writer wait.
	HighWater int
	// Late is the error of a client that has not taken its answer in time.
	Late error
	// Stopping reports that the server shuts down: answers close their
	// connections.
	Stopping func() bool
	// Refused is told of requests that were answered without the handler.
	Refused func(remote net.Addr, status int, reason string)
	// State, if not nil, is told of the connections' states. False ends the
	// connection, without another request served.
	State func(c exchange.Host, s State) bool
	// Secure says that the connections are encrypted.
	Secure bool
}

// A State is what a connection is doing, for those who count.
type State int

// The states, in the order of net/http's.
const (
	StateNew State = iota
	StateActive
	StateIdle
	StateHijacked
	StateClosed
)
