//go:build !unix

package std

import (
	"bytes"
	"net"
)

// receive waits for bytes.
func receive(nc net.Conn) ([]byte, error) {
	p := make([]byte, readSize)
	n, err := nc.Read(p)
	return bytes.Clone(p[:n]), err
}
