package bpf

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// connect opens connections to an address, and asks on each: ADDRESS CONNECTIONS QUESTIONS.
func connect(line string) string {
	var addr string
	var connections, questions int
	_, err := fmt.Sscan(line, &addr, &connections, &questions)
	check(err)
	answer := make([]byte, 8)
	for range connections {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return "refused"
		}
		for range questions {
			_, err := conn.Write([]byte("question"))
			check(err)
			_, err = io.ReadFull(conn, answer)
			check(err)
		}
		check(conn.Close())
	}
	return "done"
}

// answerAfter is how long the server of the tests thinks.
const answerAfter = 20 * time.Millisecond

// server answers every question.
func server(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			question := make([]byte, 8)
			for {
				if _, err := io.ReadFull(conn, question); err != nil {
					break
				}
				time.Sleep(answerAfter)
				if _, err := conn.Write(question); err != nil {
					break
				}
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = ln.Close(); <-done })
	return ln.Addr().String()
}

// Connections, questions and waits of a peer are exact.
func TestPeers(t *testing.T) {
	c := count(t, "connect", false)
	addr := server(t)
	got, _ := c.during(addr + " 3 5")
	if len(got.Peers) != 1 || got.Peers[0].Name() != addr {
		t.Fatalf("%+v", got.Peers)
	}
	p := got.Peers[0]
	if p.Connects != 3 || p.Established != 3 || p.Failed != 0 || p.Connect.Count() != 3 || p.Sends != 15 || p.SentBytes != 15*8 || p.Receives != 15 || p.ReceivedBytes != 15*8 {
		t.Errorf("%+v", p)
	}
	if n := p.Wait.Count(); n != 15 || p.Wait.Mean() < answerAfter.Seconds() || p.Wait.Quantile(0.5) < 0.85*answerAfter.Seconds() {
		t.Errorf("%d waits, mean %v, median %v", n, p.Wait.Mean(), p.Wait.Quantile(0.5))
	}
	if got.TCP.Sends != 15 || got.TCP.Receives != 15 || got.TCP.Unread.Count() != 15 {
		t.Errorf("%+v", got.TCP)
	}
	// Nobody listens on the port of a socket that is bound alone.
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	closed := "127.0.0.1:" + strconv.Itoa(name.(*unix.SockaddrInet4).Port)
	got, answer := c.during(closed + " 1 1")
	if len(got.Peers) != 1 || got.Peers[0].Name() != closed || got.Peers[0].Connects != 1 || got.Peers[0].Failed != 1 || answer != "refused" {
		t.Errorf("%s: %+v", answer, got.Peers)
	}
}

// playTCP is the other end of the connections of the tests below.
//
//	ip ARGUMENTS  configures the network
//	listen [HOST] begins to listen, and answers the address
//	accept        accepts a connection
//	send N        sends bytes, without waiting for room
//	receive N     receives bytes
//	retransmits   answers what the kernel counted for the connection
//	abort         closes the connection with a reset
//	dns ADDRESS   sends two datagrams, with and without a connected socket
var (
	listener *net.TCPListener
	accepted *net.TCPConn
)

func playTCP(line string) string {
	verb, rest, _ := strings.Cut(line, " ")
	n, _ := strconv.Atoi(rest)
	switch verb {
	case "ip":
		out, err := exec.Command("ip", strings.Fields(rest)...).CombinedOutput()
		if err != nil {
			panic(string(out))
		}
	case "listen":
		ln, err := net.Listen("tcp", cmp.Or(rest, "127.0.0.1")+":0")
		check(err)
		listener = ln.(*net.TCPListener)
		return listener.Addr().String()
	case "accept":
		conn, err := listener.AcceptTCP()
		check(err)
		accepted = conn
	case "send":
		check(accepted.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)))
		if _, err := accepted.Write(make([]byte, n)); err != nil {
			return "blocked"
		}
	case "receive":
		_, err := io.ReadFull(accepted, make([]byte, n))
		check(err)
	case "retransmits":
		return strconv.Itoa(int(retransmits(accepted)))
	case "abort":
		check(accepted.SetLinger(0))
		check(accepted.Close())
	case "dns":
		conn, err := net.Dial("udp", rest)
		check(err)
		_, err = conn.Write([]byte("question"))
		check(err)
		check(conn.Close())
		open, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		check(err)
		to, err := net.ResolveUDPAddr("udp", rest)
		check(err)
		_, err = open.WriteTo([]byte("question"), to)
		check(err)
		check(open.Close())
	}
	return "done"
}

func retransmits(conn *net.TCPConn) (n uint32) {
	raw, err := conn.SyscallConn()
	check(err)
	check(raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		check(err)
		n = info.Total_retrans
	}))
	return n
}

// joined returns a connection to the child.
func joined(t *testing.T, c *counted) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", c.do("listen"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c.do("accept")
	return conn.(*net.TCPConn)
}

// filters returns what makes a socket drop all that arrives, as a bad network does, and what ends
// that.
func filters(t *testing.T, conn *net.TCPConn) (deaf, hear func()) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	drop := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: 0}}
	program := unix.SockFprog{Len: 1, Filter: &drop[0]}
	set := func(option int) {
		t.Helper()
		if err := raw.Control(func(fd uintptr) {
			err = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, option, &program)
		}); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return func() { set(unix.SO_ATTACH_FILTER) }, func() { set(unix.SO_DETACH_FILTER) }
}

// A filter of the receiving socket drops what arrives, as a bad network does: segments that are
// sent again are those that the kernel counts for the connection.
func TestRetransmits(t *testing.T) {
	c := count(t, "tcp", false)
	before := c.now()
	conn := joined(t, c)
	deaf, hear := filters(t, conn)
	deaf()
	c.do("send 100")
	got := c.eventually(before, func(n Counts) bool { return n.TCP.Retransmits >= 3 })
	hear()
	if _, err := io.ReadFull(conn, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	want := c.do("retransmits")
	if got = c.now().Sub(before); fmt.Sprint(got.TCP.Retransmits) != want || got.TCP.Retransmits < 3 {
		t.Errorf("%d segments sent again, the kernel has %s", got.TCP.Retransmits, want)
	}
	// The client opened the connection, so it is no peer.
	if got.Accepts != 1 || got.TCP.Sends != 1 || got.TCP.SentBytes != 100 || len(got.Peers) > 0 {
		t.Errorf("%d accepted, %+v, %+v", got.Accepts, got.TCP, got.Peers)
	}
}

func TestResets(t *testing.T) {
	c := count(t, "tcp", false)
	before := c.now()
	joined(t, c)
	c.do("send 1")
	c.do("abort")
	if got := c.eventually(before, func(n Counts) bool { return n.TCP.ResetsSent > 0 }); got.TCP.ResetsReceived != 0 {
		t.Errorf("%+v", got.TCP)
	}
	before = c.now()
	conn := joined(t, c)
	c.do("send 1")
	if err := errors.Join(conn.SetLinger(0), conn.Close()); err != nil {
		t.Fatal(err)
	}
	got := c.eventually(before, func(n Counts) bool { return n.TCP.ResetsReceived > 0 })
	if got.TCP.ResetsReceived != 1 || got.TCP.ResetsSent != 0 {
		t.Errorf("%+v", got.TCP)
	}
}

// A peer that does not read closes its window.
func TestWindow(t *testing.T) {
	c := count(t, "tcp", false)
	before := c.now()
	joined(t, c)
	for range 20 { // the end of the window is known when it is probed
		if answer := c.do("send 16000000"); answer != "blocked" {
			t.Fatal(answer)
		}
		if c.now().Sub(before).TCP.WindowClosed > 0 {
			return
		}
	}
	t.Errorf("%+v", c.now().Sub(before).TCP)
}

// Sockets that were there before the watch count too, on the right side.
func TestSocketsBefore(t *testing.T) {
	root(t)
	part := play(t, "tcp", 0)
	idle := &counted{child: part, t: t}
	conn := joined(t, idle)
	s, err := Open(Options{PID: part.cmd.Process.Pid, Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	idle.s = s
	before := idle.now()
	if _, err := conn.Write([]byte("12345")); err != nil {
		t.Fatal(err)
	}
	idle.do("receive 5")
	idle.do("send 1")
	got := idle.now().Sub(before)
	if got.TCP.Receives != 1 || got.TCP.ReceivedBytes != 5 || got.TCP.Unread.Count() != 1 || got.TCP.Sends != 1 || len(got.Peers) != 0 {
		t.Errorf("%+v, %+v", got.TCP, got.Peers)
	}
	if err := errors.Join(conn.SetLinger(0), conn.Close()); err != nil {
		t.Fatal(err)
	}
	if got := idle.eventually(before, func(n Counts) bool { return n.TCP.ResetsReceived > 0 }); got.TCP.ResetsReceived != 1 {
		t.Errorf("%+v", got.TCP)
	}
}

func TestLookups(t *testing.T) {
	c := count(t, "tcp", false)
	got, _ := c.during("dns 127.0.0.1:53")
	if got.Lookups != 1 || got.Queries != 1 {
		t.Errorf("%d messages to port 53 by address, %d by connected sockets", got.Lookups, got.Queries)
	}
	if len(got.Peers) != 1 || got.Peers[0].Name() != "udp/127.0.0.1:53" || got.Peers[0].Sends != 1 {
		t.Errorf("%+v", got.Peers)
	}
}

// enterRing submits requests that do nothing to an io_uring, and waits for them.
func enterRing(line string) string {
	n, err := strconv.Atoi(line)
	check(err)
	var params [120]byte // struct io_uring_params
	fd, _, no := unix.Syscall(unix.SYS_IO_URING_SETUP, 64, uintptr(unsafe.Pointer(&params)), 0)
	if no != 0 {
		return no.Error()
	}
	defer func() { check(unix.Close(int(fd))) }()
	field := func(at int) uint32 { return *(*uint32)(unsafe.Pointer(&params[at])) }
	ring, err := unix.Mmap(int(fd), 0, int(field(64)+64*4), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED) // up to the end of the array
	check(err)
	entries, err := unix.Mmap(int(fd), 0x10000000, 64*64, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	check(err)
	tail := (*uint32)(unsafe.Pointer(&ring[field(44)]))
	for range n {
		clear(entries[:64])                                           // IORING_OP_NOP
		*(*uint32)(unsafe.Pointer(&ring[field(64)+4*(*tail&63)])) = 0 // the first entry
		*tail++
		if _, _, no := unix.Syscall6(unix.SYS_IO_URING_ENTER, fd, 1, 1, 1, 0, 0); no != 0 {
			panic(no)
		}
	}
	check(errors.Join(unix.Munmap(ring), unix.Munmap(entries)))
	return "done"
}

func TestUring(t *testing.T) {
	c := count(t, "uring", false)
	got, answer := c.during("50")
	if answer == syscall.EPERM.Error() || answer == syscall.ENOSYS.Error() {
		t.Skip("io_uring is forbidden here: ", answer)
	}
	if got.Calls["io_uring_enter"].Calls != 50 || got.Uring != (Uring{50, 50}) {
		t.Errorf("%s: %d calls, %+v", answer, got.Calls["io_uring_enter"].Calls, got.Uring)
	}
}
