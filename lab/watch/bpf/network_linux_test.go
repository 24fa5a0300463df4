package bpf

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

// The two ends of a link, in a block for documentation that nobody routes.
const (
	nearAddr = "198.51.100.1"
	farAddr  = "198.51.100.2"
)

// ip runs iproute2.
func ip(t *testing.T, line string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v, %s", line, err, out)
	}
}

// lose drops all packets that arrive at an interface until the returned function is called.
func lose(t *testing.T, name string) (stop func()) {
	t.Helper()
	device, err := net.InterfaceByName(name)
	if err != nil {
		t.Fatal(err)
	}
	const drop = 1 // XDP_DROP
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, drop), asm.Return()}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := link.AttachXDP(link.XDPOptions{Program: p, Interface: device.Index})
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Over a network that loses packets, and from a network namespace of its own, retransmissions
// and waits are those of the process.
func TestNetwork(t *testing.T) {
	root(t)
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("ip is not installed: apt-get install iproute2")
	}
	c := playWith(t, "tcp", &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET})
	near, far := fmt.Sprintf("rl%dn", os.Getpid()), fmt.Sprintf("rl%df", os.Getpid())
	ip(t, fmt.Sprintf("link add %s type veth peer name %s netns %d", near, far, c.cmd.Process.Pid))
	t.Cleanup(func() { ip(t, "link del "+near) }) // both ends; before the child's namespace ends
	ip(t, fmt.Sprintf("addr add %s/30 dev %s", nearAddr, near))
	ip(t, "link set "+near+" up")
	c.do(fmt.Sprintf("ip addr add %s/30 dev %s", farAddr, far))
	c.do("ip link set " + far + " up")

	s, err := Open(Options{PID: c.cmd.Process.Pid})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	counted := &counted{c, t, s}
	before := counted.now()
	conn, err := net.DialTimeout("tcp", c.do("listen "+farAddr), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	c.do("accept")
	stop := lose(t, near)
	c.do("send 100")
	counted.eventually(before, func(n Counts) bool { return n.TCP.Retransmits >= 2 })
	stop()
	if _, err := io.ReadFull(conn, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	want := c.do("retransmits")
	if got := counted.now().Sub(before).TCP; fmt.Sprint(got.Retransmits) != want || got.Retransmits < 2 || got.SentBytes != 100 {
		t.Errorf("%+v; the kernel has %s segments sent again", got, want)
	}
}
