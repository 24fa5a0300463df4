//go:build !linux

package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

// Run generates the load that spec asks for. It needs epoll: on this system it
// emits and returns an error that wraps errors.ErrUnsupported.
func Run(_ context.Context, _ *Spec, emit func(Event)) error {
	err := fmt.Errorf("generate load on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	emit(Event{Error: err.Error()})
	return err
}
