//go:build !unix

package restart

import (
	"errors"
	"net"
	"os"
)

// closeOnExec does nothing: no descriptor is passed on here.
func closeOnExec(int) {}

// duplicate fails: no descriptor can be passed on here.
func duplicate(net.Listener) (*os.File, error) { return nil, errors.ErrUnsupported }
