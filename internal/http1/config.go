package http1

import (
	"net"
	"time"

	"github.com/redline-go/redline/internal/exchange"
)

// Config is what the sessions of a server share.
type Config struct {
	Handler exchange.Handler
	Limits  exchange.Limits
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
	// Stopping reports that the server shuts down: answers close their
	// connections.
	Stopping func() bool
	// Refused is told of requests that were answered without the handler.
	Refused func(remote net.Addr, status int, reason string)
	// Watched says that somebody may close a connection whose exchange is in
	// progress, by exchange.Conn.
	Watched bool
	// State, if not nil, is told of the connections' states. False ends the
	// connection, without another request served.
	State func(c exchange.Session, s State) bool
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
