//go:build !linux

package audience

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/redline-go/redline/lab/load"
)

// Run is load.Run for a specification whose connections are subscribers. It needs
// epoll: on this system it emits and returns an error that wraps errors.ErrUnsupported.
func Run(_ context.Context, _ *load.Spec, emit func(load.Event)) error {
	err := fmt.Errorf("hold subscribers on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	emit(load.Event{Error: err.Error()})
	return err
}
