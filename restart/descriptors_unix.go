//go:build unix

package restart

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// closeOnExec keeps a descriptor from processes that this one starts.
func closeOnExec(fd int) { syscall.CloseOnExec(fd) }

// duplicate returns a file on a listener's socket, to be passed on.
//
// The file returned by the listener's method File does not work: package os sets it to
// blocking when a process inherits it, and with it the socket, from which this process
// still accepts.
func duplicate(l net.Listener) (*os.File, error) {
	conn, ok := l.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("a %T has no descriptor", l)
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	dup := -1
	var cause error
	err = raw.Control(func(fd uintptr) {
		syscall.ForkLock.RLock() // no process is started in between
		defer syscall.ForkLock.RUnlock()
		if dup, cause = syscall.Dup(int(fd)); cause == nil {
			syscall.CloseOnExec(dup)
		}
	})
	if err = errors.Join(err, cause); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(dup), "listener"), nil
}
