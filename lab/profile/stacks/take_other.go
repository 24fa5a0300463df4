//go:build !linux

package stacks

import (
	"context"
	"errors"
	"fmt"
)

// Take exists on Linux only.
func Take(_ context.Context, o Options) (*Taken, error) {
	if _, err := o.check(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("take stacks of processes, only Linux has perf_event_open: %w", errors.ErrUnsupported)
}
