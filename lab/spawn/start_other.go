//go:build !linux

package spawn

import (
	"errors"
	"fmt"
	"os/exec"
)

func start(cmd *exec.Cmd, _ []int) error {
	return fmt.Errorf("start %s: pinning a process to CPUs: %w; run the comparison on Linux", cmd.Path, errors.ErrUnsupported)
}

func onMainThread() bool { return false }
