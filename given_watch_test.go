package redline

import (
	"errors"
	"net"
	"sync/atomic"
	"testing"
)

// TestWaiterSleeps waits in the way in which the server learns that a listener was closed:
// connections do not wake it, and Close does, which waits for it.
func TestWaiterSleeps(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	raw := waiter(l)
	if raw == nil {
		t.Fatalf("a %T cannot be waited for: servers do not notice that it is closed", l)
	}
	var over atomic.Bool
	var wrote error
	looks := 0
	begun, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- raw.Control(func(uintptr) {
			wrote = raw.Write(func(uintptr) bool {
				if looks++; looks == 1 {
					close(begun)
				}
				return false
			})
			over.Store(true)
		})
	}()
	<-begun
	for range 20 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		s, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		c.Close()
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if !over.Load() {
		t.Error("Close does not wait")
	}
	if err := <-ended; err != nil || !errors.Is(wrote, net.ErrClosed) || looks != 1 {
		t.Errorf("Control returns %v, Write %v after %d looks", err, wrote, looks)
	}
}
