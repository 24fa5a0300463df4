//go:build unix

package static

import (
	"errors"
	"os"
	"syscall"
)

// openFlags does not wait for the open, and acquires no controlling terminal.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY

// serious reports whether an error concerns the system, not the name.
func serious(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
