//go:build !linux

package epoll

import (
	"errors"
	"fmt"

	"github.com/redline-go/redline/internal/transport"
)

// A Transport moves bytes with epoll, which this system does not have.
type Transport struct{ transport.Transport }

// New returns an error that wraps [errors.ErrUnsupported].
func New(transport.Config) (*Transport, error) {
	return nil, fmt.Errorf("create epoll transport: %w", errors.ErrUnsupported)
}
