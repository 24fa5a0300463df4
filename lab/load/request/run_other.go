//go:build !linux

package request

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/redline-go/redline/lab/load/spec"
)

// Run generates the load of a spec. It needs epoll: on this system it
// emits and returns an error that wraps errors.ErrUnsupported.
func Run(_ context.Context, _ *spec.Spec, emit func(spec.Event)) error {
	err := fmt.Errorf("generate load on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	emit(spec.Event{Error: err.Error()})
	return err
}
