//go:build !linux

package uring

import (
	"errors"
	"fmt"

	"github.com/redline-go/redline/internal/transport"
)

// A Transport moves bytes with io_uring, which this system does not have.
type Transport struct{ transport.Transport }

// New returns an error that wraps [errors.ErrUnsupported].
func New(transport.Config) (*Transport, error) {
	return nil, fmt.Errorf("create io_uring transport: %w", errors.ErrUnsupported)
}

// Probe returns an error that wraps [errors.ErrUnsupported].
func Probe() error {
	return fmt.Errorf("probe io_uring: %w", errors.ErrUnsupported)
}
