//go:build !twin

package main

import (
	"net"
	"net/http"
)

// backlog is how many connections may wait.
const backlog = 16

type gate struct {
	net.Listener
	access *access
}

// admit lets in who may connect.
func admit(_ *http.Server, ln net.Listener, a *access) net.Listener {
	return &gate{Listener: ln, access: a}
}

// Accept returns the next connection that is admitted.
func (g *gate) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if g.access.allows(c.RemoteAddr()) {
			return c, nil
		}
		_ = c.Close()
	}
}
