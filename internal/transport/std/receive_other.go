//go:build !unix

package std

import "net"

// receive waits for bytes.
func receive(nc net.Conn) ([]byte, error) { return receiveAny(nc) }
