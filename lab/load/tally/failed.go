package tally

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/redline-go/redline/lab/load/tlsc"
)

// HandshakeFailed classifies and explains the error of a connection that ended before its
// first request could be sent. If c is nil or its handshake is complete, the connection
// waited for the server's HTTP/2 settings. The error is as for tlsc.Explain.
func HandshakeFailed(c *tlsc.Conn, err error) (Kind, error) {
	if c == nil || c.Ready() && !errors.Is(err, tlsc.ErrNoHTTP2) {
		return failedHTTP2(err)
	}
	return KindTLS, tlsc.Explain(err)
}

func failedHTTP2(err error) (Kind, error) {
	if errno, is := errors.AsType[syscall.Errno](err); is {
		if errno == syscall.ETIMEDOUT {
			return KindTimeout, errors.New("HTTP/2: no settings of the server in time")
		}
		return KindReset, fmt.Errorf("begin HTTP/2: %w", err)
	}
	if errors.Is(err, tlsc.ErrClosed) {
		return KindClosed, errors.New("HTTP/2: the server closed the connection at once; it may not support HTTP/2")
	}
	return KindTLS, tlsc.Explain(err)
}
