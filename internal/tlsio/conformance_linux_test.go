//go:build !race

// The race detector has one transport, and all of them without TLS.

package tlsio

import (
	"testing"

	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/epoll"
	"github.com/redline-go/redline/internal/transport/transporttest"
	"github.com/redline-go/redline/internal/transport/uring"
)

func TestConformanceEpoll(t *testing.T) {
	conformance(t, transporttest.Limits{}, func(c transport.Config) (transport.Transport, error) { return epoll.New(c) })
}

func TestConformanceUring(t *testing.T) {
	if err := uring.Probe(); err != nil {
		t.Skip("the kernel does not offer io_uring: ", err)
	}
	conformance(t, transporttest.Limits{}, func(c transport.Config) (transport.Transport, error) { return uring.New(c) })
}
