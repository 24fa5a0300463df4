//go:build twin

package main

import (
	"bufio"
	"fmt"
	"net"
)

func dial(addr string) (*conn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("connect to store: %w", err)
	}
	tcp := c.(*net.TCPConn)
	return &conn{c: tcp, r: bufio.NewReader(tcp)}, nil
}

// lookup asks for a key.
func (c *conn) lookup(key string) (string, error) {
	if _, err := fmt.Fprintf(c.c, "get %d\n%s", len(key), key); err != nil {
		return "", fmt.Errorf("send request: %w", err)
	}
	return c.value()
}
