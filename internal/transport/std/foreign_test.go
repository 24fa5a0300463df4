//go:build !race

// The goroutines and locks are those of TestConformance, which the race detector has. What differs is
// how bytes are read and written.

package std

import (
	"net"
	"testing"

	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/transporttest"
)

// wrapping is a transport whose listeners are all foreign.
type wrapping struct{ *Transport }

func (w wrapping) Listen(network, address string, o transport.ListenOptions) (net.Addr, error) {
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	wrap := func(nc net.Conn) net.Conn { return over{nc} }
	return l.Addr(), w.Adopt(&foreign{Listener: l, wrap: wrap, fail: make(chan error)}, o)
}

// TestConformanceForeign is the suite on connections that are more than a socket.
func TestConformanceForeign(t *testing.T) {
	transporttest.Run(t, func(c transport.Config) (transport.Transport, error) {
		w, err := New(c)
		return wrapping{w}, err
	}, transporttest.Limits{LostBehindData: true, NoTakeover: true})
}
