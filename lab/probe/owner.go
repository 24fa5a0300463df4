package probe

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
)

// OwnerOfSocket finds the process that listens on a control socket.
func OwnerOfSocket(path string) (pid int, err error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return 0, err
	}
	pid, err = ListeningUnix(conn)
	if err = errors.Join(err, conn.Close()); err == nil && pid == 0 {
		err = errors.New("the process that listens there is unknown; name it with --pid")
	}
	return pid, err
}

// OwnerOfURL finds the process of this machine that listens on the port of a URL.
func OwnerOfURL(base string) (int, error) {
	u, err := url.Parse(base)
	if err != nil {
		return 0, err
	}
	port := 80
	if u.Scheme == "https" {
		port = 443
	}
	if text := u.Port(); text != "" {
		if port, err = strconv.Atoi(text); err != nil {
			return 0, err
		}
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return 0, errors.New("the process may be on another machine; if it is on this one, name it with --pid")
	}
	pids, err := Listening(port)
	if err != nil {
		return 0, err
	}
	// Of a parent with children that share the port, the parent.
	for _, pid := range pids {
		tree := Tree(pid)
		if !slices.ContainsFunc(pids, func(other int) bool { return !slices.Contains(tree, other) }) {
			return pid, nil
		}
	}
	if len(pids) == 0 {
		return 0, fmt.Errorf("the process that listens on port %d is unknown, perhaps because it is another user's; run as root, or name it with --pid", port)
	}
	return 0, fmt.Errorf("the processes %v listen on port %d; name one with --pid", pids, port)
}
