package probe

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// SetCongestion sets TCP_CONGESTION on the sockets with which the processes listen on a TCP
// port, on all of them if several share it (SO_REUSEPORT). Connections accepted from then
// on inherit it. The processes are not involved:
//
//  1. /proc/PID/net/tcp lists the listening sockets, by inode.
//  2. /proc/PID/fd maps inodes to descriptors of a process.
//  3. pidfd_getfd duplicates the descriptor into this process (Linux 5.6).
//  4. setsockopt on the duplicate acts on the socket, and getsockopt verifies.
//
// The error is a [*CongestionError]. It wraps [ErrNotListening] if there is no socket.
func SetCongestion(pids []int, port int, algorithm string) error {
	found := 0
	var last error
	for _, pid := range pids {
		fds, err := listening(pid, port)
		if procfs.Gone(err) {
			continue
		}
		if errors.Is(err, os.ErrPermission) {
			last = &CongestionError{Port: port, Algorithm: algorithm, PID: pid, Need: needAccess, Err: err}
			continue // another socket on the port may be ours
		}
		for _, fd := range fds {
			if err == nil {
				var need string
				if need, err = setOne(pid, fd, algorithm); err != nil {
					return &CongestionError{Port: port, Algorithm: algorithm, PID: pid, Need: need, Err: err}
				}
				found++
			}
		}
		if err != nil {
			return &CongestionError{Port: port, Algorithm: algorithm, PID: pid, Err: err}
		}
	}
	if last == nil && found == 0 {
		last = &CongestionError{Port: port, Algorithm: algorithm, Err: ErrNotListening}
	}
	return last
}

const needAccess = "the same user and, where kernel.yama.ptrace_scope is not 0, a process started from here; or CAP_SYS_PTRACE"

// listening returns the descriptors of the process that listen on the port.
func listening(pid, port int) ([]int, error) {
	inodes, err := listeners(procfs.Host, pid, port)
	if err != nil || len(inodes) == 0 {
		return nil, err
	}
	return sockets(pid, inodes)
}

// sockets returns the descriptors of the process for the sockets with these inodes.
func sockets(pid int, inodes map[string]bool) ([]int, error) {
	dir := procfs.Host.Path("proc", strconv.Itoa(pid), "fd")
	names, err := procfs.Host.Names("proc", strconv.Itoa(pid), "fd")
	if err != nil {
		return nil, err
	}
	var fds []int
	for _, name := range names {
		target, err := os.Readlink(dir + "/" + name)
		if procfs.Gone(err) {
			continue // closed in the meantime
		}
		if err != nil {
			return nil, err
		}
		inode, ok := strings.CutPrefix(target, "socket:[")
		if !ok || !inodes[strings.TrimSuffix(inode, "]")] {
			continue
		}
		fd, err := strconv.Atoi(name)
		if err != nil {
			return nil, err
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

// listeners returns the inodes of the sockets that listen on the port in the network
// namespace of the process.
//
// The kernel writes the table one page at a time, and can omit a socket if others are
// opened and closed between two pages, so a socket that is not found is looked for again.
func listeners(fs procfs.FS, pid, port int) (inodes map[string]bool, err error) {
	for range listenerTries {
		if inodes, err = listenersOnce(fs, pid, port); err != nil || len(inodes) > 0 {
			break
		}
	}
	return inodes, err
}

const listenerTries = 5

func listenersOnce(fs procfs.FS, pid, port int) (map[string]bool, error) {
	all, err := fs.TCPSockets(strconv.Itoa(pid))
	if err != nil {
		return nil, err
	}
	inodes := map[string]bool{}
	for _, s := range all {
		if s.Listening() && int(s.Port) == port {
			inodes[s.Inode] = true
		}
	}
	return inodes, nil
}

// setOne sets the algorithm on a descriptor of another process. With an error it returns
// what is required, if known.
func setOne(pid, fd int, algorithm string) (need string, err error) {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return needed(err, "Linux 5.6"), fmt.Errorf("pidfd_open: %w", err)
	}
	defer func() { err = errors.Join(err, unix.Close(pidfd)) }()
	own, err := unix.PidfdGetfd(pidfd, fd, 0)
	if err != nil {
		return needed(err, needAccess), fmt.Errorf("pidfd_getfd: %w", err)
	}
	defer func() { err = errors.Join(err, unix.Close(own)) }()
	if err := unix.SetsockoptString(own, unix.IPPROTO_TCP, unix.TCP_CONGESTION, algorithm); err != nil {
		return needed(err, "root, or the algorithm in net.ipv4.tcp_allowed_congestion_control"), fmt.Errorf("setsockopt: %w", err)
	}
	now, err := unix.GetsockoptString(own, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	if err != nil {
		return "", fmt.Errorf("getsockopt: %w", err)
	}
	if now != algorithm {
		return "", fmt.Errorf("the socket has %q after it was set", now)
	}
	return "", nil
}

// needed returns the requirement that an error of the kernel indicates; permission is the
// answer if a permission is missing.
func needed(err error, permission string) string {
	switch {
	case errors.Is(err, unix.ENOSYS):
		return "Linux 5.6 and a sandbox that allows pidfd_getfd"
	case errors.Is(err, unix.ENOENT):
		return "a kernel with that algorithm; see net.ipv4.tcp_available_congestion_control, and modprobe tcp_NAME"
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return permission
	}
	return ""
}
