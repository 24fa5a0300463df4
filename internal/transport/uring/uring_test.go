//go:build linux

package uring

import (
	"testing"

	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/sockets"
	"github.com/redline-go/redline/internal/transport/transporttest"
)

func TestConformance(t *testing.T) {
	transporttest.Run(t, func(c transport.Config) (transport.Transport, error) { return New(c) }, transporttest.Limits{})
}

// TestConformanceTiny has queues so short that they are full all the time: requests
// wait in the backlog, completions overflow, and buffers run out.
func TestConformanceTiny(t *testing.T) {
	for _, z := range []sizes{
		{requests: 1, completions: 2, buffers: 1, first: 1},
		{requests: 4, completions: 4, buffers: 16, first: 1},
	} {
		transporttest.Run(t, func(c transport.Config) (transport.Transport, error) {
			return sockets.New(c, func(l *sockets.Loop) (sockets.Driver, error) { return newDriver(l, z) })
		}, transporttest.Limits{})
	}
}

func TestProbe(t *testing.T) {
	if err := Probe(); err != nil {
		t.Fatal(err)
	}
}
