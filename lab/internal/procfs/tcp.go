package procfs

import (
	"strconv"
	"strings"
)

// TCPSocket is a line of /proc/PID/net/tcp or tcp6, see proc_pid_net(5).
type TCPSocket struct {
	Port      uint16 // local
	State     uint8  // as in linux/tcp_states.h
	ReadQueue uint32 // bytes; of a listener the connections that wait for accept
	Inode     string // 0 if no process has the socket
}

// Listening reports whether the socket is a listener.
func (s TCPSocket) Listening() bool { return s.State == 0x0A }

// TCPSockets reads the TCP sockets in the network namespace of a process (an id, or self). The
// kernel writes the table one page at a time, and can omit a socket if others are opened and
// closed between two pages.
func (f FS) TCPSockets(process string) ([]TCPSocket, error) {
	var found []TCPSocket
	for _, table := range []string{"tcp", "tcp6"} {
		lines, err := f.Lines("proc", process, "net", table)
		if table == "tcp6" && Gone(err) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return nil, err
		}
		for _, line := range lines {
			if s, ok := parseTCP(line); ok {
				found = append(found, s)
			}
		}
	}
	return found, nil
}

// parseTCP reads a line; the head of the table is none.
func parseTCP(line string) (s TCPSocket, ok bool) {
	const local, state, queues, inode = 1, 3, 4, 9 // columns
	words := strings.Fields(line)
	if len(words) <= inode {
		return s, false
	}
	hex := func(text string, bits int) uint64 {
		n, err := strconv.ParseUint(text, 16, bits)
		ok = ok && err == nil
		return n
	}
	ok = true
	_, waiting, _ := strings.Cut(words[queues], ":")
	s = TCPSocket{
		Port: uint16(hex(words[local][strings.LastIndexByte(words[local], ':')+1:], 16)), State: uint8(hex(words[state], 8)),
		ReadQueue: uint32(hex(waiting, 32)), Inode: words[inode],
	}
	return s, ok
}
