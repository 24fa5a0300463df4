//go:build unix

package static

import (
	"errors"
	"os"
	"syscall"
)

// openFlags opens nothing that has to be waited for, and no terminal to be ours.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY

// serious reports whether an error is the system's trouble, not the name's.
func serious(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
