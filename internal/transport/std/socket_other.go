//go:build !unix

package std

import (
	"net"
	"syscall"
)

// receive waits for bytes.
func receive(nc net.Conn, _ syscall.RawConn) ([]byte, error) { return receiveAny(nc) }

// send writes the beginning of p.
func send(nc net.Conn, _ syscall.RawConn, p []byte) (int, error) { return sendAny(nc, p) }
