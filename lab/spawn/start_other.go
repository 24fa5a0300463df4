//go:build !linux

package spawn

import (
	"errors"
	"fmt"
	"os/exec"
	"time"
)

func start(cmd *exec.Cmd, _ []int) error {
	return fmt.Errorf("start %s: pinning a process to CPUs: %w; run the comparison on Linux", cmd.Path, errors.ErrUnsupported)
}

// ShortTurns is supported only on Linux.
func ShortTurns(int, time.Duration) error {
	return fmt.Errorf("short turns: %w", errors.ErrUnsupported)
}

func onMainThread() bool { return false }
