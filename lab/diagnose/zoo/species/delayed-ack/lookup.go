//go:build !twin

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
	if err := tcp.SetNoDelay(false); err != nil {
		return nil, fmt.Errorf("configure connection: %w", err)
	}
	return &conn{c: tcp, r: bufio.NewReader(tcp)}, nil
}

// lookup asks for a key.
func (c *conn) lookup(key string) (string, error) {
	if _, err := fmt.Fprintf(c.c, "get %d\n", len(key)); err != nil {
		return "", fmt.Errorf("send request: %w", err)
	}
	if _, err := c.c.Write([]byte(key)); err != nil {
		return "", fmt.Errorf("send key: %w", err)
	}
	return c.value()
}
