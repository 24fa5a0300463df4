//go:build linux

package sys

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cpus is the number of CPUs that the calling thread may use.
func cpus(t *testing.T) int {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	return set.Count()
}

func TestPin(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	undo, err := Pin(0)
	if err != nil {
		t.Fatal(err)
	}
	if n := cpus(t); n != 1 {
		t.Errorf("a pinned thread has %d CPUs", n)
	}
	elsewhere := make(chan bool)
	go func() { elsewhere <- undo() }()
	if <-elsewhere || cpus(t) != 1 {
		t.Error("another thread has undone it")
	}
	if !undo() {
		t.Error("it cannot be undone")
	}
	if _, err := Pin(1000); err == nil {
		t.Error("a CPU that does not exist can be had")
	}
}

// pair returns a connected pair of sockets, through Listen and Accept, with the
// address of the dialing end as Accept tells it.
func pair(t *testing.T, network, address string, c ListenConfig) (accepted int, dialed net.Conn, peer Addr) {
	t.Helper()
	fd, addr, err := Listen(network, address, c)
	if err != nil {
		t.Fatal(err)
	}
	defer Close(fd)
	if _, _, errno := Accept(fd); errno != syscall.EAGAIN {
		t.Fatalf("Accept with nothing to accept: %v", errno)
	}
	if dialed, err = net.Dial(addr.Network(), addr.String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialed.Close() })
	// The dialing end may know of the connection first.
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		accepted, peer, errno := Accept(fd)
		if errno == 0 {
			return accepted, dialed, peer
		}
		if errno != syscall.EAGAIN || time.Now().After(end) {
			t.Fatal(errno)
		}
	}
}

func TestSockets(t *testing.T) {
	for _, c := range []struct{ network, address string }{
		{"tcp4", "127.0.0.1:0"},
		{"tcp6", "[::1]:0"},
		{"tcp", ":0"},
		{"unix", filepath.Join(t.TempDir(), "s")},
	} {
		t.Run(c.network+c.address, func(t *testing.T) {
			fd, conn, peer := pair(t, c.network, c.address, ListenConfig{ReusePort: true, FastOpen: 4, Backlog: 8})
			defer Close(fd)
			if c.network == "unix" {
				if peer.Net().Network() != "unix" || peer.AddrPort().IsValid() {
					t.Errorf("the peer is %v", peer.Net())
				}
			} else {
				if got, want := peer.Net().String(), conn.LocalAddr().String(); got != want {
					t.Errorf("the peer is %s, want %s", got, want)
				}
				local, errno := LocalAddr(fd)
				if got, want := local.String(), conn.RemoteAddr().String(); errno != 0 || got != want {
					t.Errorf("the local address is %s, %v, want %s", got, errno, want)
				}
				if v, err := syscall.GetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY); err != nil || v == 0 {
					t.Errorf("TCP_NODELAY is %d, %v: it is not inherited", v, err)
				}
				if v, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_KEEPALIVE); err != nil || v == 0 {
					t.Errorf("SO_KEEPALIVE is %d, %v: it is not inherited", v, err)
				}
			}
			exchange(t, fd, conn)
		})
	}
	if n := unsafe.Sizeof(Addr{}); n != 24 {
		t.Errorf("an address has %d bytes", n)
	}
}

// exchange sends something each way.
func exchange(t *testing.T, fd int, conn net.Conn) {
	t.Helper()
	b := make([]byte, 100)
	if _, errno := Recv(fd, b); errno != syscall.EAGAIN {
		t.Errorf("Recv with nothing to read: %v", errno)
	}
	if _, err := conn.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	poll, err := NewEpoll()
	if err != nil {
		t.Fatal(err)
	}
	defer Close(int(poll))
	if errno := poll.Add(fd, In|RdHup, 42); errno != 0 {
		t.Fatal(errno)
	}
	events := make([]Event, 4)
	for n := 0; n == 0; {
		var errno syscall.Errno
		if n, errno = poll.Wait(events); errno != 0 {
			t.Fatal(errno)
		}
	}
	if e := &events[0]; int(e.Fd) != fd || e.Gen() != 42 || e.Events != In {
		t.Errorf("event is %+v", *e)
	}
	if n := Unread(fd); n != 5 {
		t.Errorf("%d bytes are unread, want 5", n)
	}
	if n, errno := Recv(fd, b); errno != 0 || string(b[:n]) != "hello" {
		t.Errorf("received %q, %v", b[:n], errno)
	}
	if n, errno := Send(fd, []byte("a"), true); n != 1 || errno != 0 {
		t.Errorf("sent %d, %v", n, errno)
	}
	if n, errno := SendVector(fd, [][]byte{[]byte("bc"), nil, []byte("def")}, false); n != 5 || errno != 0 {
		t.Errorf("sent %d, %v", n, errno)
	}
	if errno := ShutWrite(fd); errno != 0 {
		t.Error(errno)
	}
	got := make([]byte, 0, 10)
	for {
		n, err := conn.Read(b)
		if got = append(got, b[:n]...); err != nil {
			break
		}
	}
	if string(got) != "abcdef" {
		t.Errorf("the other end reads %q", got)
	}
	if _, errno := Send(fd, []byte("x"), false); errno != syscall.EPIPE {
		t.Errorf("Send after shutdown: %v", errno)
	}
}

func TestSendFile(t *testing.T) {
	fd, conn, _ := pair(t, "tcp", "127.0.0.1:0", ListenConfig{})
	defer Close(fd)
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("0123456789"); err != nil {
		t.Fatal(err)
	}
	if n, errno := SendFile(fd, int(f.Fd()), 3, 4); n != 4 || errno != 0 {
		t.Errorf("sent %d, %v", n, errno)
	}
	if n, errno := SendFile(fd, int(f.Fd()), 10, 4); n != 0 || errno != 0 {
		t.Errorf("sent %d behind the end, %v", n, errno)
	}
	b := make([]byte, 10)
	if n, err := conn.Read(b); err != nil || string(b[:n]) != "3456" {
		t.Errorf("the other end reads %q, %v", b[:n], err)
	}
}

func TestDup(t *testing.T) {
	if _, err := Dup(42); err == nil {
		t.Error("a number has a descriptor")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fd, err := Dup(l)
	if err != nil {
		t.Fatal(err)
	}
	defer Close(fd)
	l.Close()
	if _, err := Dup(l); err == nil {
		t.Error("a closed listener has a descriptor")
	}
	if _, err := DupFD(-1); err == nil {
		t.Error("-1 can be duplicated")
	}
	if _, _, errno := Accept(fd); errno != syscall.EAGAIN {
		t.Errorf("Accept on the duplicate: %v", errno)
	}
}

func TestCheckCPUs(t *testing.T) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	for cpu := -1; cpu <= 1024; cpu++ {
		if err := CheckCPUs([]int{cpu}); (err == nil) != (cpu >= 0 && cpu < 1024 && set.IsSet(cpu)) {
			t.Errorf("CPU %d: %v", cpu, err)
		}
	}
	set.Zero()
	for _, c := range []struct {
		cpu  int
		want string
	}{{3, "3"}, {4, "3-4"}, {0, "0,3-4"}, {5, "0,3-5"}, {1023, "0,3-5,1023"}, {1022, "0,3-5,1022-1023"}} {
		set.Set(c.cpu)
		if got := list(&set); got != c.want {
			t.Errorf("with CPU %d: %q, want %q", c.cpu, got, c.want)
		}
	}
}

// TestConn wants a connection of package net to have a descriptor of its own, and the
// one that it is made of to be what it was, also when there are no descriptors left.
func TestConn(t *testing.T) {
	fd, conn, _ := pair(t, "tcp", "127.0.0.1:0", ListenConfig{})
	defer Close(fd)
	for _, spare := range []int{0, 1} {
		if nc, err := fewFiles(t, spare, func() (net.Conn, error) { return Conn(fd) }); err == nil {
			nc.Close()
			t.Errorf("with %d descriptors left a connection has one of its own", spare)
		}
		if _, errno := Send(fd, []byte("still here"), false); errno != 0 {
			t.Fatal(errno)
		}
		b := make([]byte, 20)
		if n, err := conn.Read(b); err != nil || string(b[:n]) != "still here" {
			t.Errorf("the other end reads %q, %v", b[:n], err)
		}
		wantUnblocked(t, fd)
	}
	nc, err := Conn(fd)
	if err != nil {
		t.Fatal(err)
	}
	wantUnblocked(t, fd)
	nc.Close()
	exchange(t, fd, conn)
}

func wantUnblocked(t *testing.T, fd int) {
	t.Helper()
	if n, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err != nil || n&unix.O_NONBLOCK == 0 {
		t.Errorf("the descriptor's flags are %#x, %v: it is blocking", n, err)
	}
}

// fewFiles calls f while no more than spare descriptors can be opened.
func fewFiles(t *testing.T, spare int, f func() (net.Conn, error)) (net.Conn, error) {
	t.Helper()
	next, err := syscall.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	syscall.Close(next) // all below are taken
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: uint64(next + spare), Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	}()
	return f()
}

// TestBlocking wants calls not to wait on a socket that somebody else has made
// blocking: the thread would stop the garbage collector for as long.
func TestBlocking(t *testing.T) {
	fd, conn, _ := pair(t, "tcp", "127.0.0.1:0", ListenConfig{})
	defer Close(fd)
	if err := unix.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	// Should one wait, the other end ends it.
	net := time.AfterFunc(time.Minute, func() { conn.Close() })
	defer net.Stop()
	if _, errno := Recv(fd, make([]byte, 1)); errno != syscall.EAGAIN {
		t.Errorf("Recv with nothing to read: %v", errno)
	}
	b := make([]byte, 1<<20)
	sent := 0
	for _, send := range []func() (int, syscall.Errno){
		func() (int, syscall.Errno) { return Send(fd, b, false) },
		func() (int, syscall.Errno) { return SendVector(fd, [][]byte{b, b}, false) },
	} {
		errno := syscall.Errno(0)
		for n := 0; errno == 0; sent += n {
			n, errno = send()
		}
		if errno != syscall.EAGAIN {
			t.Errorf("sending to a full socket: %v", errno)
		}
	}
	if n := Untaken(fd); n <= 0 || n > sent {
		t.Errorf("%d bytes of %d are not taken", n, sent)
	}
	if n := Untaken(-1); n != 0 {
		t.Errorf("%d bytes are not taken of no socket", n)
	}
	Unblock(fd)
	wantUnblocked(t, fd)
}
