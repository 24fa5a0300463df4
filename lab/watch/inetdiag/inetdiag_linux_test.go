package inetdiag

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Both families are listed, with addresses, states and the identity of the socket.
func TestEach(t *testing.T) {
	for _, network := range []string{"tcp4", "tcp6"} {
		ln, err := net.Listen(network, "localhost:0")
		if err != nil && network == "tcp6" {
			t.Logf("this machine has no IPv6: %v", err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		inode := inodeOf(t, ln)
		c, err := Open(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for range 2 { // a connection is used again
			if err := c.Each(All, func(s Socket) {
				if s.Inode == inode {
					found++
					if at := netip.MustParseAddrPort(ln.Addr().String()); s.Local != at || s.State != Listen || s.Limit == 0 || s.Cookie == 0 {
						t.Errorf("%+v, listens on %v", s, at)
					}
				}
			}); err != nil {
				t.Error(err)
			}
		}
		if found != 2 {
			t.Errorf("%s: found %d times", network, found)
		}
		if err := errors.Join(c.Close(), ln.Close()); err != nil {
			t.Error(err)
		}
	}
}

func inodeOf(t *testing.T, ln net.Listener) uint32 {
	t.Helper()
	raw, err := ln.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var stat unix.Stat_t
	if inner := raw.Control(func(fd uintptr) { err = unix.Fstat(int(fd), &stat) }); errors.Join(inner, err) != nil {
		t.Fatal(inner, err)
	}
	return uint32(stat.Ino)
}

func TestOpenGone(t *testing.T) {
	if _, err := Open(1 << 30); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a process that does not exist: %v", err)
	}
}

// Sockets in a state that was not asked for are left out.
func TestStates(t *testing.T) {
	c, err := Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for _, states := range []States{All &^ Only(Listen), Only(Listen)} {
		if err := c.Each(states, func(s Socket) {
			if (s.State == Listen) != (states == 1<<Listen) {
				t.Errorf("%b: %+v", states, s)
			}
		}); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(c.Close(), ln.Close()); err != nil {
		t.Error(err)
	}
}

// The sockets of another network namespace are those of that namespace alone, if it may be
// entered.
func TestNamespace(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("this system allows no network namespaces: %v", err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	c, err := Open(cmd.Process.Pid)
	if os.Getuid() != 0 {
		if !errors.Is(err, os.ErrPermission) {
			t.Errorf("without rights: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Each(All, func(s Socket) { t.Errorf("%+v", s) }); err != nil {
		t.Error(err)
	}
	if err := errors.Join(c.Close(), ln.Close()); err != nil {
		t.Error(err)
	}
}

// message is a netlink message.
func message(kind uint16, seq uint32, body ...byte) []byte {
	b := make([]byte, unix.SizeofNlMsghdr, unix.SizeofNlMsghdr+len(body))
	binary.NativeEndian.PutUint32(b, uint32(unix.SizeofNlMsghdr+len(body)))
	binary.NativeEndian.PutUint16(b[4:], kind)
	binary.NativeEndian.PutUint32(b[8:], seq)
	return append(b, body...)
}

func TestParse(t *testing.T) {
	one := make([]byte, messageSize)
	one[0], one[1], one[4], one[5] = unix.AF_INET, byte(Established), 0x1f, 0x90
	refused := binary.NativeEndian.AppendUint32(nil, ^uint32(unix.EPERM)+1)
	short := message(unix.SOCK_DIAG_BY_FAMILY, 7, one...)
	binary.NativeEndian.PutUint32(short, 1000)
	for _, c := range []struct {
		name    string
		in      []byte
		sockets int
		done    bool
		err     error
	}{
		{"nothing", nil, 0, false, nil},
		{"a socket", message(unix.SOCK_DIAG_BY_FAMILY, 7, one...), 1, false, nil},
		{"a socket and the end", append(message(unix.SOCK_DIAG_BY_FAMILY, 7, one...), message(unix.NLMSG_DONE, 7, 0, 0, 0, 0)...), 1, true, nil},
		{"the rest of another list", append(message(unix.SOCK_DIAG_BY_FAMILY, 6, one...), message(unix.NLMSG_DONE, 6)...), 0, false, nil},
		{"refused", message(unix.NLMSG_ERROR, 7, refused...), 0, true, unix.EPERM},
		{"truncated error", message(unix.NLMSG_ERROR, 7), 0, true, errShort},
		{"truncated socket", message(unix.SOCK_DIAG_BY_FAMILY, 7, one[:20]...), 0, true, errShort},
		{"longer than it is", short, 0, true, errShort},
		{"attributes that are cut", message(unix.SOCK_DIAG_BY_FAMILY, 7, append(one, 200, 0, 2, 0)...), 1, false, nil},
	} {
		n := 0
		done, err := parse(c.in, 7, func(s Socket) {
			if n++; s.Local.Port() != 8080 || s.State != Established || s.Informed {
				t.Errorf("%s: %+v", c.name, s)
			}
		})
		if n != c.sockets || done != c.done || !errors.Is(err, c.err) {
			t.Errorf("%s: %d sockets, %v, %v", c.name, n, done, err)
		}
	}
}

// FuzzParse: no datagram makes parse fail otherwise than with an error.
func FuzzParse(f *testing.F) {
	f.Add(message(unix.SOCK_DIAG_BY_FAMILY, 7, make([]byte, messageSize+40)...))
	f.Add(message(unix.NLMSG_ERROR, 7, 1, 2, 3, 4))
	f.Fuzz(func(t *testing.T, b []byte) { _, _ = parse(b, 7, func(Socket) {}) })
}

func BenchmarkEach(b *testing.B) {
	for name, states := range map[string]States{"all": All, "those that listen": Only(Listen)} {
		b.Run(name, func(b *testing.B) {
			c, err := Open(os.Getpid())
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for b.Loop() {
				if err := c.Each(states, func(Socket) { n++ }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)/float64(b.N), "sockets")
			if err := c.Close(); err != nil {
				b.Error(err)
			}
		})
	}
}
