//go:build linux

package uring

import (
	"testing"

	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/transporttest"
)

func TestConformance(t *testing.T) {
	transporttest.Run(t, func(c transport.Config) (transport.Transport, error) { return New(c) }, transporttest.Limits{})
}

func TestProbe(t *testing.T) {
	if err := Probe(); err != nil {
		t.Fatal(err)
	}
}
