package sys

import (
	"encoding/binary"
	"math"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Recv reads what has arrived at a socket. It does not wait, even if another holder of the
// socket has made it blocking.
func Recv(fd int, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	Received()
	return int(n), 0
}

// largeSend is the number of bytes from which on a send notifies the scheduler. It never waits,
// but copies, cuts into segments and delivers for milliseconds if the peer takes small ones, and
// much longer if the CPU is also wanted by other processes: so it must not hold a processor of
// the scheduler.
const largeSend = 16 << 10

// Send writes to a socket, without waiting and without SIGPIPE. more means that other bytes
// follow at once, so that the kernel may wait for them to fill a segment.
func Send(fd int, p []byte, more bool) (int, syscall.Errno) {
	Sending()
	var n uintptr
	var errno syscall.Errno
	if len(p) < largeSend {
		n, _, errno = syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), flags(more), 0, 0)
	} else {
		n, _, errno = syscall.Syscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), flags(more), 0, 0)
	}
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

func flags(more bool) uintptr {
	if more {
		return unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL | unix.MSG_MORE
	}
	return unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL
}

// MaxVector is the maximum number of buffers of one SendVector.
const MaxVector = 64

// SendVector writes several buffers, up to MaxVector of them, like [Send].
func SendVector(fd int, bufs [][]byte, more bool) (int, syscall.Errno) {
	Sending()
	var iov [MaxVector]unix.Iovec
	k, size := 0, 0
	for _, b := range bufs[:min(len(bufs), MaxVector)] {
		if len(b) > 0 {
			iov[k].Base = unsafe.SliceData(b)
			iov[k].SetLen(len(b))
			size += len(b)
			k++
		}
	}
	msg := unix.Msghdr{Iov: &iov[0]}
	msg.SetIovlen(k)
	var n uintptr
	var errno syscall.Errno
	if size < largeSend {
		n, _, errno = syscall.RawSyscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&msg)), flags(more))
	} else {
		n, _, errno = syscall.Syscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&msg)), flags(more))
	}
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// SendFile sends up to n bytes of file from offset off. It may wait for a disk, so it
// notifies the scheduler. 0 bytes without an error mean the end of the file.
func SendFile(fd, file int, off int64, n int) (int, syscall.Errno) {
	Sending()
	sent, _, errno := syscall.Syscall6(unix.SYS_SENDFILE, uintptr(fd), uintptr(file), uintptr(unsafe.Pointer(&off)), uintptr(n), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(sent), 0
}

// Accept takes a connection from the backlog of a listening socket. The new
// socket is non-blocking and closed on exec.
func Accept(fd int) (int, Addr, syscall.Errno) {
	var sa unix.RawSockaddrAny
	size := uint32(unix.SizeofSockaddrAny)
	n, _, errno := syscall.RawSyscall6(unix.SYS_ACCEPT4, uintptr(fd), uintptr(unsafe.Pointer(&sa)), uintptr(unsafe.Pointer(&size)), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	if errno != 0 {
		return -1, Addr{}, errno
	}
	return int(n), compact(&sa), 0
}

// Close closes a descriptor.
func Close(fd int) {
	// The descriptor is closed with any result, see close(2).
	_, _, _ = syscall.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
}

// ShutWrite tells the peer that no more data will follow.
func ShutWrite(fd int) syscall.Errno { return shutdown(fd, unix.SHUT_WR) }

// ShutBoth ends both directions. Current and later reads and writes fail.
func ShutBoth(fd int) syscall.Errno { return shutdown(fd, unix.SHUT_RDWR) }

// Reset ends both directions at once and drops what is unsent: the peer of a TCP
// connection gets a reset. The descriptor stays valid; reads and writes fail.
func Reset(fd int) {
	// Connecting to AF_UNSPEC dissolves a connection (connect(2)), and unlike SO_LINGER it
	// does not wait for the descriptor to be closed.
	none := syscall.RawSockaddr{Family: unix.AF_UNSPEC}
	_, _, errno := syscall.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&none)), unsafe.Sizeof(none))
	if errno != 0 {
		ShutBoth(fd) // a Unix socket has no reset; if this fails too, it is no longer connected
	}
}

func shutdown(fd, how int) syscall.Errno {
	_, _, errno := syscall.RawSyscall(unix.SYS_SHUTDOWN, uintptr(fd), uintptr(how), 0)
	return errno
}

// NoDelay turns Nagle's algorithm off. Errors do not matter: the socket may be
// of another family.
func NoDelay(fd int) { _ = setInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) }

// SetAckTimeout bounds the time for which the peer's system may leave data unacknowledged, or
// its window closed, before the kernel ends the connection with ETIMEDOUT (TCP_USER_TIMEOUT in
// tcp(7); RFC 9293, 3.8.3). It is rounded up to milliseconds; 0 restores the system's own.
// Errors do not matter: the socket may be of another family.
func SetAckTimeout(fd int, d time.Duration) {
	ms := min((d+time.Millisecond-1)/time.Millisecond, math.MaxInt32)
	_ = setInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int32(ms))
}

const (
	// TemperFrom is the number of bytes to be sent from which on Temper is worth its call.
	TemperFrom = 32 << 10
	// smallSegment is less than any network has, with IPv6 and options.
	smallSegment = 1200
	// unsentSegments are accepted for a peer with small segments, beyond what it takes.
	unsentSegments = 64
)

// Temper bounds what a socket accepts for a peer that takes only small segments. One that has
// never offered a window of more than a kilobyte makes the kernel cut all that the socket accepts,
// half a megabyte, into segments of half of that. Each of them takes a microsecond and more than
// twice its size in memory, which all sockets of the system share. Errors do not matter: the
// socket may be of another family.
func Temper(fd int) {
	var n int32
	size := uint32(unsafe.Sizeof(n))
	_, _, errno := syscall.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, uintptr(unsafe.Pointer(&n)), uintptr(unsafe.Pointer(&size)), 0)
	if errno == 0 && n < smallSegment {
		_ = setInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, unsentSegments*n)
	}
}

func setInt(fd, level, option int, value int32) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(fd), uintptr(level), uintptr(option), uintptr(unsafe.Pointer(&value)), unsafe.Sizeof(value), 0)
	return errno
}

// Unread is the number of bytes that have arrived and have not been read; 0 if the kernel
// does not report it.
func Unread(fd int) int { return queued(fd, unix.SIOCINQ) }

// Untaken is the number of bytes that were sent and that the peer's system has not
// acknowledged; 0 if the kernel does not report it. For a Unix socket it is the memory that
// they take.
func Untaken(fd int) int { return queued(fd, unix.SIOCOUTQ) }

func queued(fd int, call uintptr) int {
	var n int32
	if _, _, errno := syscall.RawSyscall(unix.SYS_IOCTL, uintptr(fd), call, uintptr(unsafe.Pointer(&n))); errno != 0 {
		return 0
	}
	return int(n)
}

// An Addr is an address of a socket, stored in 24 bytes without pointers. The zero value is
// the address of a unix socket without a name.
type Addr struct {
	ip   [16]byte
	zone uint32
	port uint16
	kind uint8 // 4 or 6; 0 is unix
}

// compact converts what the kernel has written.
func compact(sa *unix.RawSockaddrAny) (a Addr) {
	switch sa.Addr.Family {
	case unix.AF_INET:
		in := (*unix.RawSockaddrInet4)(unsafe.Pointer(sa))
		a.kind = 4
		copy(a.ip[:], in.Addr[:])
		a.port = port(in.Port)
	case unix.AF_INET6:
		in := (*unix.RawSockaddrInet6)(unsafe.Pointer(sa))
		a.kind, a.ip, a.zone = 6, in.Addr, in.Scope_id
		a.port = port(in.Port)
	}
	return a
}

// port converts from network byte order.
func port(p uint16) uint16 {
	var b [2]byte
	binary.NativeEndian.PutUint16(b[:], p)
	return binary.BigEndian.Uint16(b[:])
}

// Net returns the address in the form of package net.
func (a Addr) Net() net.Addr {
	if a.kind == 0 {
		return &net.UnixAddr{Net: "unix", Name: "@"} // as package net calls it
	}
	return net.TCPAddrFromAddrPort(a.AddrPort())
}

// AddrPort is the address and port of a TCP socket; IPv4 addresses mapped to IPv6 are
// returned as IPv4. It is not valid for a unix socket.
func (a Addr) AddrPort() netip.AddrPort {
	switch a.kind {
	case 4:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(a.ip[:4])), a.port)
	case 6:
		ip := netip.AddrFrom16(a.ip).Unmap()
		if a.zone != 0 && ip.Is6() {
			ip = ip.WithZone(strconv.FormatUint(uint64(a.zone), 10))
		}
		return netip.AddrPortFrom(ip, a.port)
	}
	return netip.AddrPort{}
}

// LocalAddr asks the kernel for the address of a connected socket, including the name of a
// Unix socket.
func LocalAddr(fd int) (net.Addr, syscall.Errno) {
	sa, size, errno := address(unix.SYS_GETSOCKNAME, fd)
	if errno != 0 {
		return nil, errno
	}
	if sa.Addr.Family == unix.AF_UNIX {
		return &net.UnixAddr{Net: "unix", Name: unixName(&sa, size)}, 0
	}
	return compact(&sa).Net(), 0
}

// PeerAddr asks the kernel for the address of a connected socket's peer.
func PeerAddr(fd int) (Addr, syscall.Errno) {
	sa, _, errno := address(unix.SYS_GETPEERNAME, fd)
	if errno != 0 {
		return Addr{}, errno
	}
	return compact(&sa), 0
}

func address(call uintptr, fd int) (sa unix.RawSockaddrAny, size uint32, errno syscall.Errno) {
	size = unix.SizeofSockaddrAny
	_, _, errno = syscall.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(&sa)), uintptr(unsafe.Pointer(&size)))
	return sa, size, errno
}

// unixName is the name of a Unix socket as package net writes it: "@" represents the first
// byte of a name without a file, and an absent name.
func unixName(sa *unix.RawSockaddrAny, size uint32) string {
	un := (*unix.RawSockaddrUnix)(unsafe.Pointer(sa))
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&un.Path)), len(un.Path))
	raw = raw[:min(max(int(size)-int(unsafe.Offsetof(un.Path)), 0), len(raw))]
	if len(raw) == 0 || raw[0] == 0 {
		return "@" + string(raw[min(1, len(raw)):])
	}
	name, _, _ := strings.Cut(string(raw), "\x00")
	return name
}
