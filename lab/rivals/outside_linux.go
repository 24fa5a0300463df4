package rivals

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/probe"
)

// cpuTime returns the CPU time of a process and its descendants so far. It does not include
// descendants that have ended.
func cpuTime(pid int) (time.Duration, error) {
	var sum time.Duration
	tree := probe.Tree(pid)
	for i, p := range tree {
		// The clock of the whole process: CPUCLOCK_SCHED of its id, see
		// linux/posix-timers_types.h.
		var ts unix.Timespec
		err := unix.ClockGettime(int32(^p<<3|2), &ts)
		switch {
		case err == nil:
			sum += time.Duration(ts.Nano())
		case i == 0 || !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ESRCH):
			return 0, fmt.Errorf("read the CPU clock of process %d: %w", p, err)
		}
	}
	if len(tree) == 0 {
		return 0, fmt.Errorf("read the CPU clock of process %d: it has ended", pid)
	}
	return sum, nil
}

// A tally counts the bytes that a server's connections have sent and the peers have
// acknowledged, as counted by the kernel, so neither side can misreport them.
type tally struct {
	port  int
	sum   uint64
	known map[[8]byte]uint64 // by the socket's cookie, which is never reused
}

func newTally(port int) *tally { return &tally{port: port, known: map[[8]byte]uint64{}} }

// Offsets and sizes of struct inet_diag_req_v2 and struct inet_diag_msg, linux/inet_diag.h.
const (
	diagRequest  = 56 // bytes of the request
	diagMessage  = 72 // bytes of a response message, before its attributes
	diagPort     = 4  // of the local port, network byte order
	diagCookie   = 44 // of the cookie, two words of 4 bytes
	diagTCPInfo  = 2  // INET_DIAG_INFO
	establishedB = 1 << 1
)

// read returns the bytes of all connections seen so far. It does not include what a
// connection sent after the last reading before it was closed.
func (t *tally) read() (uint64, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return 0, fmt.Errorf("read the server's sockets: %w", err)
	}
	defer unix.Close(fd) //nolint:errcheck // no written data can be lost
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 5}); err != nil {
		return 0, fmt.Errorf("read the server's sockets: %w", err)
	}
	if err := unix.Sendto(fd, t.request(), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, fmt.Errorf("read the server's sockets: %w", err)
	}
	buf := make([]byte, 1<<16)
	for {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("read the server's sockets: %w", err)
		}
		done, err := t.take(buf[:n])
		if err != nil || done {
			return t.sum, err
		}
	}
}

// request returns a request for the connections of the port with their TCP counters.
func (t *tally) request() []byte {
	b := make([]byte, unix.SizeofNlMsghdr+diagRequest)
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	binary.NativeEndian.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	r := b[unix.SizeofNlMsghdr:]
	r[0], r[1], r[2] = unix.AF_INET, unix.IPPROTO_TCP, 1<<(diagTCPInfo-1)
	binary.NativeEndian.PutUint32(r[4:], establishedB)
	binary.BigEndian.PutUint16(r[8:], uint16(t.port))
	return b
}

// take adds the messages in b.
func (t *tally) take(b []byte) (done bool, err error) {
	for len(b) >= unix.SizeofNlMsghdr {
		size := int(binary.NativeEndian.Uint32(b))
		if size < unix.SizeofNlMsghdr || size > len(b) {
			return false, errors.New("read the server's sockets: a damaged message")
		}
		body := b[unix.SizeofNlMsghdr:size]
		switch binary.NativeEndian.Uint16(b[4:]) {
		case unix.NLMSG_DONE:
			return true, nil
		case unix.NLMSG_ERROR:
			if len(body) < 4 {
				return false, errors.New("read the server's sockets: a damaged message")
			}
			return false, fmt.Errorf("read the server's sockets: %w", unix.Errno(-int32(binary.NativeEndian.Uint32(body))))
		default:
			t.add(body)
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	return false, nil
}

// add adds one connection.
func (t *tally) add(msg []byte) {
	if len(msg) < diagMessage || int(binary.BigEndian.Uint16(msg[diagPort:])) != t.port {
		return
	}
	cookie := [8]byte(msg[diagCookie:])
	const acked = unsafe.Offsetof(unix.TCPInfo{}.Bytes_acked)
	for a := msg[diagMessage:]; len(a) >= unix.SizeofNlAttr; {
		size := int(binary.NativeEndian.Uint16(a))
		if size < unix.SizeofNlAttr || size > len(a) {
			return
		}
		value := a[unix.SizeofNlAttr:size]
		if binary.NativeEndian.Uint16(a[2:]) == diagTCPInfo && len(value) >= int(acked)+8 {
			sent := binary.NativeEndian.Uint64(value[acked:])
			t.sum += sent - t.known[cookie]
			t.known[cookie] = sent
		}
		a = a[min((size+3)&^3, len(a)):]
	}
}
