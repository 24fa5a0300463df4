package wire

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Config is the configuration of a Dialer.
type Config struct {
	Addr        string       // host:port of the server, numeric; or "unix:" and the path of its socket, or @ and its name
	Connections int          // number of connections at the same time
	Congestion  string       // TCP congestion control; empty leaves the default
	Sources     []netip.Addr // used in turn; empty: see Loopback
	ReadBuffer  int          // SO_RCVBUF of the first SlowReaders connections, bytes
	SlowReaders int          // connections with that buffer
}

// Dialer opens sockets to one address.
type Dialer struct {
	To      unix.Sockaddr // for connect(2)
	config  Config
	sources []unix.Sockaddr
	family  int
}

// NewDialer validates the configuration as far as possible without a socket.
func NewDialer(c Config) (*Dialer, error) {
	if path, is := strings.CutPrefix(c.Addr, "unix:"); is {
		if err := CheckPath(path); err != nil {
			return nil, err
		}
		return &Dialer{To: &unix.SockaddrUnix{Name: path}, config: c, family: unix.AF_UNIX}, nil
	}
	addr, err := netip.ParseAddrPort(c.Addr)
	if err != nil {
		return nil, fmt.Errorf("parse address: %w", err)
	}
	d := &Dialer{To: sockaddr(addr.Addr(), addr.Port()), config: c, family: unix.AF_INET6}
	if addr.Addr().Unmap().Is4() {
		d.family = unix.AF_INET
	}
	sources := c.Sources
	if len(sources) == 0 {
		sources = Loopback(addr.Addr(), c.Connections, 1)
	}
	for _, a := range sources {
		if a.Unmap().Is4() != (d.family == unix.AF_INET) {
			return nil, fmt.Errorf("source address %v is of another family than the server's %v", a, addr.Addr())
		}
		d.sources = append(d.sources, sockaddr(a, 0))
	}
	return d, nil
}

func sockaddr(a netip.Addr, port uint16) unix.Sockaddr {
	if a = a.Unmap(); a.Is4() {
		return &unix.SockaddrInet4{Port: int(port), Addr: a.As4()}
	}
	return &unix.SockaddrInet6{Port: int(port), Addr: a.As16()}
}

// Socket creates a socket for the connection with this index, not yet connected. The caller
// must close it.
func (d *Dialer) Socket(index int) (int, error) {
	fd, err := unix.Socket(d.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open socket: %w", err)
	}
	if err := d.configure(fd, index); err != nil {
		return -1, discard(fd, err)
	}
	return fd, nil
}

func (d *Dialer) configure(fd, index int) error {
	if d.family != unix.AF_UNIX {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
			return fmt.Errorf("set TCP_NODELAY: %w", err)
		}
	}
	if d.config.Congestion != "" {
		if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, d.config.Congestion); err != nil {
			return fmt.Errorf("set congestion control %q (available: %s): %w", d.config.Congestion, congestionControls(), err)
		}
	}
	if d.config.ReadBuffer > 0 && index < d.config.SlowReaders {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, d.config.ReadBuffer); err != nil {
			return fmt.Errorf("set SO_RCVBUF: %w", err)
		}
	}
	if len(d.sources) == 0 {
		return nil
	}
	// The kernel chooses the port at connect(2), when the destination is known: a port can
	// then be used for several connections to different servers.
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1); err != nil {
		return fmt.Errorf("set IP_BIND_ADDRESS_NO_PORT: %w", err)
	}
	if err := unix.Bind(fd, d.sources[index%len(d.sources)]); err != nil {
		return fmt.Errorf("bind source address: %w", err)
	}
	return nil
}

// discard closes fd after the error err, and returns err.
func discard(fd int, err error) error {
	_ = unix.Close(fd)
	return err
}

// congestionControls lists the algorithms that the kernel currently offers.
func congestionControls() string {
	b, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil {
		return "unknown: " + err.Error()
	}
	return strings.TrimSpace(string(b))
}

// The calls below are RawSyscalls: they never block, so the scheduler need not be notified.
// The buffers must not be empty.

// Receive is a non-blocking recv(2).
func Receive(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

// Send is a non-blocking send(2); if the peer has closed the connection there is no signal.
func Send(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	return int(n), errno
}

// Poll is epoll_wait without waiting; it uses epoll_pwait because arm64 has no other call.
func Poll(epfd int, events []unix.EpollEvent) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epfd),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	return int(n), errno
}
