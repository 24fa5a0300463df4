//go:build !race

// The race detector has the suite once, with rings of the usual size.

package uring

import (
	"testing"

	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/sockets"
	"github.com/redline-go/redline/internal/transport/transporttest"
)

// TestConformanceTiny has queues so short that they are full all the time: requests
// wait in the backlog, completions overflow, and buffers run out. One of them is without
// multishot recvs, as with older kernels.
func TestConformanceTiny(t *testing.T) {
	for _, z := range []sizes{
		{requests: 1, completions: 2, buffers: 1, first: 1},
		{requests: 4, completions: 4, buffers: 16, first: 1, quiet: 1},
	} {
		transporttest.Run(t, func(c transport.Config) (transport.Transport, error) {
			return sockets.New(c, func(l *sockets.Loop) (sockets.Driver, error) {
				d, err := newDriver(l, z)
				if err == nil {
					d.limits = z.requests == 1 && d.limits // the other as on older kernels
				}
				return d, err
			})
		}, transporttest.Limits{})
	}
}
