package probe

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// Listening returns the processes that listen on a TCP port in the network namespace of
// this process, in order. The list is empty if there are none, or if all of them belong to
// other users.
func Listening(port int) ([]int, error) {
	inodes, err := listeners(procfs.Host, os.Getpid(), port)
	if err != nil || len(inodes) == 0 {
		return nil, err
	}
	all, err := procfs.Host.PIDs()
	if err != nil {
		return nil, fmt.Errorf("find the processes of port %d: %w", port, err)
	}
	var pids []int
	for _, pid := range all {
		fds, err := sockets(pid, inodes)
		switch {
		case procfs.Gone(err), errors.Is(err, os.ErrPermission):
		case err != nil:
			return nil, fmt.Errorf("find the processes of port %d: %w", port, err)
		case len(fds) > 0:
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}
