package gomem

import (
	"errors"
	"fmt"
)

// Errors that [Open] and [Process.Read] wrap.
var (
	// ErrNotGo means that the process runs a program that was not built by Go.
	ErrNotGo = errors.New("not a Go program")
	// ErrGone means that the process has ended, or now runs another program. The caller opens
	// the process that replaces it.
	ErrGone = errors.New("the process has ended or was replaced")
	// ErrPermission means that the kernel does not let the caller read the process.
	ErrPermission = errors.New("not allowed to read the memory of the process: run as its user, or as root (CAP_SYS_PTRACE); " +
		"with kernel.yama.ptrace_scope=1 only an ancestor or root may")
	// ErrStripped means that the binary has no symbol table, and that the addresses cannot be
	// found in its code either.
	ErrStripped = errors.New("the binary is stripped (-ldflags=-s): no symbol table")
	// ErrLayout means that the layout of the runtime's structures is unknown.
	ErrLayout = errors.New("the layout of the Go runtime is unknown")
	// ErrNoProfile means that the runtime of the process does not keep the profile that was asked
	// for, or has recorded nothing. The text says what turns it on.
	ErrNoProfile = errors.New("the process keeps no such profile")
	// ErrTooLarge means that a part of the binary exceeds a limit of this package.
	ErrTooLarge = errors.New("exceeds the limit")
)

// errAddress means that nothing is mapped where a figure should be.
var errAddress = errors.New("address is not mapped")

// tooLarge describes a part of a file that exceeds its limit, in bytes.
func tooLarge(part string, size, limit uint64) error {
	return fmt.Errorf("%s of %d bytes %w of %d", part, size, ErrTooLarge, limit)
}

// layoutError is for addresses that the runtime never frees: if nothing is mapped there, what was
// taken for an address is none.
func layoutError(err error) error {
	if errors.Is(err, errAddress) {
		return fmt.Errorf("%w: %w", ErrLayout, err)
	}
	return err
}
