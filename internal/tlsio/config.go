package tlsio

import (
	"crypto/tls"
	"net"
	"time"

	"github.com/redline-go/redline/internal/transport"
)

// Config is shared by the sessions of a server's listeners.
type Config struct {
	// TLS is the configuration of crypto/tls. It must not be changed.
	TLS *tls.Config
	// NewSession is called on the loop, when the handshake is complete, with what it has
	// negotiated.
	NewSession func(c transport.Conn, state *tls.ConnectionState) transport.Session
	// Handshakes bounds the handshakes of all connections together.
	Handshakes *Handshakes
	// Timeout bounds a handshake, from accept to its end, including the time in the queue
	// of Handshakes; 0 means none.
	Timeout time.Duration
	// HighWater is the number of bytes of records that may wait for a client; at most one
	// record more does. 0 means 64 KiB.
	HighWater int
	// Failed, if not nil, is called on the loop for every handshake that has failed, unless
	// the server itself has ended the connection.
	Failed func(remote net.Addr, cause Cause, err error)
	// Panicked, if not nil, is called when a function of TLS panics during a handshake,
	// which then fails.
	Panicked func(remote net.Addr, value any, stack []byte)
}

// A Cause is the reason why a handshake has failed.
type Cause uint8

// The causes.
const (
	Timeout   Cause = iota // it has taken longer than Config.Timeout
	Refused                // too many handshakes wait
	Gone                   // the client has closed the connection
	Alert                  // the client has sent an alert, for example because it does not trust the certificate
	Version                // the client supports no version that the server accepts
	PlainHTTP              // the client has sent an HTTP request
	Other                  // anything else, for example no certificate for the client's name
	Causes                 // number of causes
)

// highWater is the default of Config.HighWater.
const highWater = 64 << 10

// waiting is the number of bytes of records that may wait for a client.
func (c *Config) waiting() int {
	if c.HighWater <= 0 {
		return highWater
	}
	return c.HighWater
}
