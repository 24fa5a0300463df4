package exchange

import (
	"net"
	"sync/atomic"
	"time"
)

// Config is shared by the sessions of a server, whatever their protocol.
type Config struct {
	Handler Handler
	Limits  Limits
	// Server is the value of the Server field; empty sends none.
	Server string
	// The deadlines; 0 means none. HeaderTimeout bounds a head, from its first byte or from
	// accept; ReadTimeout a whole request, from its first byte; WriteTimeout a whole
	// answer, from the end of the request's head; StallTimeout each wait for content, or
	// for the peer to accept output; IdleTimeout the time between requests.
	HeaderTimeout, ReadTimeout, WriteTimeout, StallTimeout, IdleTimeout time.Duration
	// HighWater is the number of unsent bytes of an answer beyond which its writer waits.
	HighWater int
	// Stopping reports that the server shuts down: answers close their
	// connections.
	Stopping func() bool
	// Refused is called for requests that were answered without the handler.
	Refused func(remote net.Addr, status int, reason string)
	// Watched means that a connection may be closed while its exchange is in progress, by
	// Conn.
	Watched bool
	// State, if not nil, is called when the state of a connection changes. If it returns
	// false, the connection ends without serving another request.
	State func(c Conn, s State) bool
	// MaxStreams is the number of exchanges that one client may have in progress on one
	// connection of HTTP/2.
	MaxStreams int
	// ExtendedConnect announces and accepts extended CONNECT (RFC 8441) over HTTP/2.
	ExtendedConnect bool
	// Streams counts what happens on connections of HTTP/2. It may be nil.
	Streams *StreamCounters
}

// StreamCounters count what happens on connections of HTTP/2.
type StreamCounters struct {
	Open    atomic.Int64  // connections, now
	Streams atomic.Uint64 // opened by clients
	Left    atomic.Uint64 // reset by clients
	Reset   atomic.Uint64 // reset by the server because of an error
	Refused atomic.Uint64 // beyond the limit of concurrent streams
	Failed  atomic.Uint64 // connections that ended with an error of the protocol
	Abusive atomic.Uint64 // those of them that ended because they cost more than they achieved
	// Windows and Heads are what all connections have taken of the memory that they share, in bytes.
	Windows, Heads atomic.Int64
}

// HeadTimeout is how long a head may take: with a ReadTimeout, at most as long as the whole
// request.
func (c *Config) HeadTimeout() time.Duration {
	if c.ReadTimeout > 0 && (c.HeaderTimeout <= 0 || c.ReadTimeout < c.HeaderTimeout) {
		return c.ReadTimeout
	}
	return c.HeaderTimeout
}

// A State is the current activity of a connection.
type State int

// The states, in the order of net/http's.
const (
	StateNew State = iota
	StateActive
	StateIdle
	StateHijacked
	StateClosed
)
