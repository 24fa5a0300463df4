package probe

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"golang.org/x/sys/unix"

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
	return withoutSystemd(procfs.Host, pids), nil
}

// withoutSystemd leaves systemd out, which keeps the sockets that it has opened for services
// (systemd.socket(5)) and serves none itself.
func withoutSystemd(fs procfs.FS, pids []int) []int {
	if len(pids) > 0 && pids[0] == 1 {
		if name, err := fs.Fields("proc", "1", "comm"); err == nil && slices.Equal(name, []string{"systemd"}) {
			return pids[1:]
		}
	}
	return pids
}

// ListeningUnix returns the process that began to listen on the socket at the other end of
// conn (SO_PEERCRED, unix(7)). It is 0 if that is a process of another namespace, or the first
// one: systemd listens for others.
func ListeningUnix(conn *net.UnixConn) (pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	inner := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(inner, err); err != nil {
		return 0, fmt.Errorf("find the server's process: %w", err)
	}
	if cred.Pid == 1 {
		return 0, nil
	}
	return int(cred.Pid), nil
}
