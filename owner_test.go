package redline_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"

	"github.com/redline-go/redline"
)

// TestListenerClosedByOwner closes listeners that servers serve on without telling the
// servers, from a goroutine of its own and within a handler. Their addresses are free when
// Close has returned, Serve returns what Accept does, and the connections are served on.
func TestListenerClosedByOwner(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		for _, network := range []string{"tcp", "unix"} {
			for _, within := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%v", network, within), func(t *testing.T) {
					l := listenOn(t, network)
					closeOnce := sync.OnceValue(l.Close)
					r := prepare(t, &redline.Server{Transport: transport, Loops: 2, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if r.URL.Path == "/close" {
							noError(t, closeOnce())
						}
						fmt.Fprint(w, "x")
					})})
					r.addr = l.Addr()
					go func() { r.served <- r.serveOn(l) }()
					t.Cleanup(func() { noError(t, r.Close()) })
					kept := r.dial()
					kept.want("/", "x")
					if within {
						r.dial().want("/close", "x")
					}
					noError(t, closeOnce())
					again, err := net.Listen(network, l.Addr().String())
					if err != nil {
						t.Fatalf("the address is not free: %v", err)
					}
					noError(t, again.Close())
					_, want := l.Accept()
					if err := receive(t, r.served, "Serve returns"); !errors.Is(err, net.ErrClosed) || err.Error() != want.Error() {
						t.Errorf("Serve returns %v, want %v", err, want)
					}
					kept.want("/", "x")
				})
			}
		}
	})
}

// listenOn opens a listener.
func listenOn(t *testing.T, network string) net.Listener {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "socket")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestOneListenerClosedByOwner closes one of two listeners: the other is served on.
func TestOneListenerClosedByOwner(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := prepare(t, &redline.Server{Transport: transport, Native: text("x")})
		var err error
		if r.addr, err = r.Listen("127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		l := listenOn(t, "tcp")
		noError(t, r.Adopt(l))
		r.run(r.Run)
		r.dial().want("/", "x")
		noError(t, l.Close())
		if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
			c.Close()
			t.Error("the listener that was closed is connected to")
		}
		r.dial().want("/", "x")
		select {
		case err := <-r.served:
			t.Errorf("Run returns %v", err)
			r.served <- redline.ErrServerClosed // for the end
		default:
		}
	}, overTLS) // Listen and Adopt have none
}
