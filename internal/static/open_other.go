//go:build !unix

package static

import "os"

const openFlags = os.O_RDONLY

// serious reports whether an error is the system's trouble, not the name's.
func serious(error) bool { return false }
