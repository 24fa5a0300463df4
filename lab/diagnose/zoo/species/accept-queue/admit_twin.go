//go:build twin

package main

import (
	"net"
	"net/http"
)

// backlog is how many connections may wait.
const backlog = 1024

type peer string

func (peer) Network() string  { return "tcp" }
func (p peer) String() string { return string(p) }

// admit lets in who may connect. The question is asked with the first request.
func admit(srv *http.Server, ln net.Listener, a *access) net.Listener {
	next := srv.Handler
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.allows(peer(r.RemoteAddr)) {
			http.Error(w, "not admitted", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
	return ln
}
