//go:build unix

package advice

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a command a process group of its own, so that its end ends the compilers that it
// started, which hold its output open.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
