package redline_test

import (
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// A severer closes all connections of a server from within a handler, as httptest's
// CloseClientConnections does.
type severer struct {
	mu    sync.Mutex
	conns []net.Conn
}

func (s *severer) state(c net.Conn, state http.ConnState) {
	if state == http.StateNew {
		s.mu.Lock()
		s.conns = append(s.conns, c)
		s.mu.Unlock()
	}
}

func (s *severer) sever() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
}

// ServeHTTP implements http.Handler.
func (s *severer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/inline":
		s.sever()
	case "/later":
		s.sever()
		time.Sleep(20 * time.Millisecond)
	case "/flush":
		s.sever()
		w.(http.Flusher).Flush()
	}
	io.WriteString(w, "x")
}

// wantSevered wants the answer ahead of a request, and none to that. Whether both requests are sent
// together does not matter, unless a goroutine of its own has to write the first answer.
func wantSevered(t *testing.T, addr net.Addr, secure, together bool, path string) {
	t.Helper()
	nc, err := net.Dial("tcp", addr.String())
	noError(t, err)
	if secure {
		nc, err = handshake(nc)
		noError(t, err)
	}
	c := bounded(t, nc, time.Now())
	defer c.Close()
	if together {
		c.ask("/", path)
	} else {
		c.ask("/")
	}
	if _, body := c.answer(); body != "x" {
		t.Errorf("%s: %q ahead of it", path, body)
	}
	if !together {
		c.ask(path)
	}
	if b, _ := io.ReadAll(c.r); len(b) > 0 {
		t.Errorf("%s: the client gets %q after the connection was closed", path, b)
	}
}

// TestSever gives nothing more to the client of a handler that has closed the connection by what
// ConnState was given. It runs the same on net/http.
func TestSever(t *testing.T) {
	paths := []string{"/inline", "/later", "/flush"}
	onEach(t, func(t *testing.T, transport redline.Transport) {
		for _, path := range paths {
			s := new(severer)
			r := serve(t, &redline.Server{Transport: transport, Handler: s, ConnState: s.state})
			wantSevered(t, r.addr, r.secure, transport != redline.TransportStd, path)
		}
	})
	t.Run("net/http", func(t *testing.T) {
		for _, path := range paths {
			s := new(severer)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			noError(t, err)
			server := &http.Server{Handler: s, ConnState: s.state}
			go server.Serve(l)
			wantSevered(t, l.Addr(), false, true, path)
			server.Close()
		}
	})
}
