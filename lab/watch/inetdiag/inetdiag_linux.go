package inetdiag

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Attributes of an answer, and bits of a request minus one (linux/inet_diag.h).
const (
	attributeInfo    = 2
	attributeMemory  = 7
	memoryDropsIndex = 8 // SK_MEMINFO_DROPS
)

const (
	requestSize = 56 // struct inet_diag_req_v2
	messageSize = 72 // struct inet_diag_msg
	patience    = time.Second
	mostReads   = 1 << 16 // of one list; each has dozens of sockets
)

// Conn is a netlink connection to the sockets of one network namespace. It is not safe for
// concurrent use.
type Conn struct {
	fd  int
	seq uint32
	buf []byte
}

// Open connects to the network namespace of a process. The error wraps [os.ErrPermission] if
// that is another one than the caller's, and the caller is not root. The caller must close
// the Conn.
func Open(pid int) (*Conn, error) {
	path := "/proc/" + strconv.Itoa(pid) + "/ns/net"
	theirs, err := os.Readlink(path)
	if err != nil {
		return nil, fmt.Errorf("find the network namespace: %w", err)
	}
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return nil, fmt.Errorf("find the own network namespace: %w", err)
	}
	if own == theirs {
		return open()
	}
	return openIn(path)
}

// openIn opens the connection on a thread that enters the namespace and ends.
func openIn(path string) (c *Conn, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		var ns *os.File
		if ns, err = os.Open(path); err != nil {
			return
		}
		if err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			err = fmt.Errorf("enter the network namespace %s: %w", path, err)
		}
		if err = errors.Join(err, ns.Close()); err == nil {
			c, err = open()
		}
	}()
	<-done
	return c, err
}

func open() (*Conn, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, fmt.Errorf("open netlink socket: %w", err)
	}
	limit := unix.NsecToTimeval(int64(patience))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit); err != nil {
		return nil, errors.Join(fmt.Errorf("limit the wait for netlink: %w", err), unix.Close(fd))
	}
	return &Conn{fd: fd, buf: make([]byte, 64<<10)}, nil
}

// Close closes the connection.
func (c *Conn) Close() error { return unix.Close(c.fd) }

// Each calls f for every TCP socket in one of the states, of IPv4 and then of IPv6. It takes
// about a microsecond for each: those in TIME_WAIT are often the most by far.
func (c *Conn) Each(states States, f func(Socket)) error {
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		if err := c.list(family, states, f); err != nil {
			return fmt.Errorf("list TCP sockets: %w", err)
		}
	}
	return nil
}

func (c *Conn) list(family byte, states States, f func(Socket)) error {
	c.seq++
	order := binary.NativeEndian
	request := make([]byte, unix.SizeofNlMsghdr+requestSize)
	order.PutUint32(request[0:], uint32(len(request)))
	order.PutUint16(request[4:], unix.SOCK_DIAG_BY_FAMILY)
	order.PutUint16(request[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	order.PutUint32(request[8:], c.seq)
	body := request[unix.SizeofNlMsghdr:]
	body[0], body[1] = family, unix.IPPROTO_TCP
	body[2] = 1<<(attributeInfo-1) | 1<<(attributeMemory-1)
	order.PutUint32(body[4:], uint32(states))
	if err := unix.Sendto(c.fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	for range mostReads {
		n, _, err := unix.Recvfrom(c.fd, c.buf, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		done, err := parse(c.buf[:n], c.seq, f)
		if done || err != nil {
			return err
		}
	}
	return errors.New("the kernel's list does not end")
}

var errShort = errors.New("truncated message")

// parse reads the messages of a datagram. done reports the end of the list. Answers to other
// requests are ignored: they are the rest of a list that was given up.
func parse(b []byte, seq uint32, f func(Socket)) (done bool, err error) {
	order := binary.NativeEndian
	for len(b) >= unix.SizeofNlMsghdr {
		size, kind, number := int(order.Uint32(b)), order.Uint16(b[4:]), order.Uint32(b[8:])
		if size < unix.SizeofNlMsghdr || size > len(b) {
			return true, errShort
		}
		body := b[unix.SizeofNlMsghdr:size]
		b = b[min((size+3)&^3, len(b)):]
		if number != seq {
			continue
		}
		switch kind {
		case unix.NLMSG_DONE:
			return true, nil
		case unix.NLMSG_ERROR:
			if len(body) < 4 {
				return true, errShort
			}
			return true, unix.Errno(-int32(order.Uint32(body)))
		case unix.SOCK_DIAG_BY_FAMILY:
			if len(body) < messageSize {
				return true, errShort
			}
			f(socket(body))
		}
	}
	return false, nil
}

// socket reads struct inet_diag_msg and its attributes.
func socket(b []byte) Socket {
	order := binary.NativeEndian
	s := Socket{
		State: State(b[1]), Local: netip.AddrPortFrom(address(b[0], b[8:]), binary.BigEndian.Uint16(b[4:])), Cookie: uint64(order.Uint32(b[44:])) | uint64(order.Uint32(b[48:]))<<32,
		ReadQueue: order.Uint32(b[56:]), Limit: order.Uint32(b[60:]), Inode: order.Uint32(b[68:]),
	}
	for b = b[messageSize:]; len(b) >= 4; {
		size, kind := int(order.Uint16(b)), order.Uint16(b[2:])
		if size < 4 || size > len(b) {
			break
		}
		value := b[4:size]
		b = b[min((size+3)&^3, len(b)):]
		switch {
		case kind == attributeMemory && len(value) >= 4*(memoryDropsIndex+1):
			s.Drops = order.Uint32(value[4*memoryDropsIndex:])
		case kind == attributeInfo:
			s.inform(value)
		}
	}
	return s
}

// address reads an address of a family.
func address(family byte, b []byte) netip.Addr {
	if family == unix.AF_INET {
		return netip.AddrFrom4([4]byte(b))
	}
	return netip.AddrFrom16([16]byte(b)).Unmap()
}

// inform reads struct tcp_info, of which old kernels have only a beginning.
func (s *Socket) inform(value []byte) {
	var info unix.TCPInfo
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&info)), unsafe.Sizeof(info)), value)
	if len(value) < int(unsafe.Offsetof(info.Segs_in)) {
		return
	}
	s.Informed = true
	s.Retransmits, s.SegmentsSent, s.RTTMicros = info.Total_retrans, info.Segs_out, info.Rtt
}
