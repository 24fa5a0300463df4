package load

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// portsPerSource is how many connections share one source address when the
// server is on the loopback interface; the default port range has 28,000.
const portsPerSource = 10_000

// dialer opens sockets towards one address.
type dialer struct {
	addr       netip.AddrPort
	to         unix.Sockaddr
	family     int
	congestion string
	rotate     bool // the server has an IPv4 loopback address, any of which may be a source
}

func newDialer(spec *Spec) (*dialer, error) {
	addr, err := netip.ParseAddrPort(spec.Addr)
	if err != nil {
		return nil, fmt.Errorf("parse address: %w", err)
	}
	d := &dialer{addr: addr, congestion: spec.Congestion}
	if ip := addr.Addr().Unmap(); ip.Is4() {
		d.family, d.to = unix.AF_INET, &unix.SockaddrInet4{Port: int(addr.Port()), Addr: ip.As4()}
		d.rotate = ip.IsLoopback() && spec.Connections > portsPerSource
	} else {
		d.family, d.to = unix.AF_INET6, &unix.SockaddrInet6{Port: int(addr.Port()), Addr: ip.As16()}
	}
	return d, nil
}

// socket makes a socket for the connection with this index, not yet connected.
func (d *dialer) socket(index int) (int, error) {
	fd, err := unix.Socket(d.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return -1, fmt.Errorf("open socket: %w", err)
	}
	if err := d.configure(fd, index); err != nil {
		return -1, discard(fd, err)
	}
	return fd, nil
}

func (d *dialer) configure(fd, index int) error {
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return fmt.Errorf("set TCP_NODELAY: %w", err)
	}
	if d.congestion != "" {
		if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, d.congestion); err != nil {
			return fmt.Errorf("set congestion control %q (available: %s): %w", d.congestion, congestionControls(), err)
		}
	}
	if d.rotate {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1); err != nil {
			return fmt.Errorf("set IP_BIND_ADDRESS_NO_PORT: %w", err)
		}
		from := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, byte(1 + index/portsPerSource)}}
		if err := unix.Bind(fd, from); err != nil {
			return fmt.Errorf("bind source address: %w", err)
		}
	}
	return nil
}

// discard closes fd after err made it useless; err is the news.
func discard(fd int, err error) error {
	_ = unix.Close(fd)
	return err
}

// congestionControls lists what the kernel offers at present.
func congestionControls() string {
	b, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil {
		return "unknown: " + err.Error()
	}
	return strings.TrimSpace(string(b))
}

// The calls below are RawSyscalls: they never wait, so the scheduler need not
// be told. The buffers are never empty.

func receive(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

func send(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	return int(n), errno
}

// pollNow is epoll_wait without waiting; epoll_pwait because arm64 has no other.
func pollNow(epfd int, events []unix.EpollEvent) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epfd),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	return int(n), errno
}
