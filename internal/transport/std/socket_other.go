//go:build !unix

package std

import "net"

// receive waits for bytes.
func receive(nc net.Conn) ([]byte, error) { return receiveAny(nc) }

// send writes the beginning of p.
func send(nc net.Conn, p []byte) (int, error) { return sendAny(nc, p) }
