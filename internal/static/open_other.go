//go:build !unix

package static

import "os"

const openFlags = os.O_RDONLY

// serious reports whether an error concerns the system, not the name.
func serious(error) bool { return false }
