//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package tickets

import (
	"errors"
	"fmt"
	"os"
)

// errSystem is the error of all files: neither their access nor a lock can be checked.
var errSystem = fmt.Errorf("share ticket keys through a file on this system: %w; use a function", errors.ErrUnsupported)

func openOwn(string) (*os.File, error) { return nil, errSystem }

func lock(string) (func(), error) { return nil, errSystem }
