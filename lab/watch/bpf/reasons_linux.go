package bpf

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// An obstacle is a reason why eBPF cannot be used, with what to do about it.
type obstacle struct {
	text string
	err  error
}

func (o *obstacle) Error() string {
	if o.err == nil {
		return o.text
	}
	return o.text + " (" + o.err.Error() + ")"
}
func (o *obstacle) Unwrap() []error { return []error{ErrUnavailable, o.err} }

// hostPIDs is the inode of the machine's own namespace of process ids, the same on every machine.
const hostPIDs = "pid:[4026531836]"

// namespace returns an error if this process does not see the ids that the kernel's events have.
func namespace() error {
	if name, err := os.Readlink("/proc/self/ns/pid"); err == nil && name != hostPIDs {
		return &obstacle{text: "redline runs in a container with process ids of its own: run it on the host, or in a container with --pid=host"}
	}
	return nil
}

// explain adds the probable reason to an error of the kernel.
func explain(err error) error {
	if _, types := os.Stat("/sys/kernel/btf/vmlinux"); types != nil && !errors.Is(err, unix.EPERM) {
		return &obstacle{"this kernel has no description of its types (BTF): use a kernel with CONFIG_DEBUG_INFO_BTF", err}
	}
	var refused *ebpf.VerifierError
	switch {
	case errors.Is(err, unix.ENOSYS):
		return &obstacle{"this kernel has no eBPF: use a kernel with CONFIG_BPF_SYSCALL", err}
	case errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) && !errors.As(err, &refused):
		return &obstacle{forbidden(procfs.Host), nil}
	case errors.As(err, &refused), errors.Is(err, ebpf.ErrNotSupported):
		return &obstacle{"this kernel refuses the programs: use Linux 5.15 or later", shorten(err)}
	}
	return &obstacle{"eBPF does not work", shorten(err)}
}

// shorten drops the verifier's log.
func shorten(err error) error {
	text, _, _ := strings.Cut(err.Error(), "\n")
	if len(text) > 300 {
		text = text[:300]
	}
	return errors.New(strings.ToValidUTF8(text, "?"))
}

// needed are the capabilities for eBPF, besides CAP_SYS_ADMIN, which includes them.
const needed = 1<<unix.CAP_BPF | 1<<unix.CAP_PERFMON

// forbidden returns why eBPF is forbidden.
func forbidden(fs procfs.FS) string {
	lines, err := fs.Lines("proc", "self", "status")
	if err == nil {
		field := procfs.Value(lines, "CapEff")
		if len(field) > 0 {
			have, err := strconv.ParseUint(field[0], 16, 64)
			if err == nil && have&(1<<unix.CAP_SYS_ADMIN) == 0 && have&needed != needed {
				return "eBPF is not permitted: run as root, or with the capabilities CAP_BPF and CAP_PERFMON; --no-bpf watches without it"
			}
		}
	}
	if text, err := fs.Text("sys", "kernel", "security", "lockdown"); err == nil && strings.Contains(text, "[confidentiality]") {
		return "the kernel is locked down (lockdown=confidentiality), which forbids eBPF; --no-bpf watches without it"
	}
	if procfs.Number(lines, "Seccomp") > 0 {
		return "a seccomp filter forbids bpf(2), as in most containers: run on the host, or allow it (docker run --security-opt seccomp=unconfined); --no-bpf watches without it"
	}
	return fmt.Sprintf("the kernel forbids eBPF to user %d, although it has the capabilities: look for a security module; --no-bpf watches without it", os.Geteuid())
}
