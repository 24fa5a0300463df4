package ring

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// newRing makes a ring that ends with the test, which is skipped where the kernel does
// not have io_uring, or forbids it.
func newRing(t *testing.T, places int) *Ring {
	t.Helper()
	r, err := New(places)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// listen is a server that accepts when it is asked to.
func listen(t *testing.T) *net.TCPListener {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln.(*net.TCPListener)
}

// dial opens a socket in a place and begins to connect it.
func dial(t *testing.T, r *Ring, i int, to net.Addr) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	r.Open(i, fd)
	addr := to.(*net.TCPAddr)
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: addr.Port, Addr: [4]byte(addr.IP.To4())}); err != nil && err != unix.EINPROGRESS {
		t.Fatal(err)
	}
	r.AwaitRoom(i)
}

// until turns the ring until done, and hands everything that happens to see.
func until(t *testing.T, r *Ring, what string, see func(Event), sent func(Sent), done func() bool) {
	t.Helper()
	base := time.Now()
	for !done() {
		now := int64(time.Since(base)) + 1
		if now > int64(30*time.Second) {
			t.Fatalf("%s: not within 30 s", what)
		}
		if err := r.Wait(now, now+int64(time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		for _, s := range r.Sent() {
			sent(s)
		}
		for ev, ok := r.Next(); ok; ev, ok = r.Next() {
			see(ev)
		}
	}
}

func never(t *testing.T) func(Sent) {
	return func(s Sent) { t.Errorf("a send that nobody asked for: %+v", s) }
}

// connect fills places with connections, and returns the other ends.
func connect(t *testing.T, r *Ring, n int) (others []*net.TCPConn) {
	t.Helper()
	ln := listen(t)
	for i := range n {
		dial(t, r, i, ln.Addr())
		c, err := ln.AcceptTCP()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		others = append(others, c)
	}
	// In the order of the places: each was accepted before the next began.
	standing := 0
	until(t, r, "connect", func(ev Event) {
		if !ev.Room || ev.Errno != 0 {
			t.Errorf("%+v in place of room", ev)
		}
		standing++
	}, never(t), func() bool { return standing == n })
	return others
}

func say(t *testing.T, c net.Conn, b []byte) {
	t.Helper()
	if _, err := c.Write(b); err != nil {
		t.Error(err)
	}
}

func TestEcho(t *testing.T) {
	r := newRing(t, 2)
	others := connect(t, r, 2)
	asked := []byte("ping")
	for i := range others {
		r.Receive(i)
		if !r.Send(i, asked) || r.Waiting() != i+1 {
			t.Fatalf("%d sends wait", r.Waiting())
		}
	}
	got, sent := map[int]string{}, 0
	for _, c := range others {
		go func() {
			in := make([]byte, len(asked))
			if _, err := io.ReadFull(c, in); err != nil {
				t.Error(err)
			}
			_, _ = c.Write(append(in, "-pong"...)) // the test misses what does not come
			_ = c.CloseWrite()
		}()
	}
	ends := 0
	until(t, r, "echo", func(ev Event) {
		if ev.Errno != 0 || ev.Room {
			t.Errorf("%+v", ev)
		}
		if len(ev.Data) == 0 {
			ends++
		}
		got[ev.Place] += string(ev.Data)
	}, func(s Sent) {
		if s.N != len(asked) || s.Errno != 0 {
			t.Errorf("%+v", s)
		}
		sent++
	}, func() bool { return ends == 2 })
	if got[0] != "ping-pong" || got[1] != "ping-pong" || sent != 2 {
		t.Errorf("%v, %d sends", got, sent)
	}
}

// What is queued may change as soon as the enter is over, and what is longer than a
// slot is refused.
func TestSendKeepsNothing(t *testing.T) {
	r := newRing(t, 1)
	other := connect(t, r, 1)[0]
	b := bytes.Repeat([]byte("a"), SlotSize)
	if r.Send(0, append(b, 'x')) || r.Send(0, nil) || r.Waiting() != 0 {
		t.Error("a send that has no slot is taken")
	}
	want := bytes.Clone(b)
	r.Send(0, b)
	if err := r.Submit(); err != nil || len(r.Sent()) != 1 || r.Sent()[0].N != len(b) {
		t.Fatalf("%+v, %v", r.Sent(), err)
	}
	clear(b)
	in := make([]byte, len(b))
	if _, err := io.ReadFull(other, in); err != nil || !bytes.Equal(in, want) {
		t.Errorf("the server got other bytes, %v", err)
	}
}

// A socket that takes a part, then nothing, then the rest.
func TestShortSends(t *testing.T) {
	r := newRing(t, 1)
	other := connect(t, r, 1)[0]
	b := make([]byte, SlotSize)
	total, full := 0, false
	for tries := 0; !full; tries++ {
		if tries > 100_000 {
			t.Fatal("the socket is never full")
		}
		for i := range b {
			b[i] = byte((total + i) % 251)
		}
		r.Send(0, b)
		if err := r.Submit(); err != nil {
			t.Fatal(err)
		}
		s := r.Sent()[0]
		if s.Errno != 0 && s.Errno != unix.EAGAIN {
			t.Fatal(s.Errno)
		}
		total += s.N
		full = s.Errno == unix.EAGAIN
	}
	r.AwaitRoom(0)
	r.AwaitRoom(0) // is asked for once
	got := make(chan int)
	go func() {
		n, in := 0, make([]byte, 1<<16)
		for n < total {
			k, err := other.Read(in)
			for i, v := range in[:k] {
				if v != byte((n+i)%251) {
					t.Errorf("byte %d is %d", n+i, v)
					break
				}
			}
			if n += k; err != nil {
				t.Error(err)
				break
			}
		}
		got <- n
	}()
	rooms := 0
	until(t, r, "room", func(ev Event) {
		if !ev.Room {
			t.Errorf("%+v", ev)
		}
		rooms++
	}, never(t), func() bool { return rooms > 0 })
	if n := <-got; n != total || rooms != 1 {
		t.Errorf("%d bytes of %d, %d events", n, total, rooms)
	}
}

// A send to a peer that is gone says so, and the end of the connection does.
func TestSendToNobody(t *testing.T) {
	r := newRing(t, 1)
	other := connect(t, r, 1)[0]
	r.Receive(0)
	if err := other.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	other.Close()
	var errno unix.Errno
	until(t, r, "reset", func(ev Event) { errno = ev.Errno }, never(t), func() bool { return errno != 0 })
	if errno != unix.ECONNRESET {
		t.Errorf("errno %v", errno)
	}
	r.Send(0, []byte("x"))
	if err := r.Submit(); err != nil || r.Sent()[0].Errno != unix.EPIPE || r.Sent()[0].N != 0 {
		t.Errorf("%+v, %v", r.Sent(), err)
	}
}

// A ring that has nothing to do sleeps, and a byte wakes it.
func TestSleep(t *testing.T) {
	r := newRing(t, 1)
	other := connect(t, r, 1)[0]
	r.Receive(0)
	go func() {
		time.Sleep(20 * time.Millisecond)
		_, _ = other.Write([]byte("x")) // the test misses what does not come
	}()
	base, heard := time.Now(), false
	for !heard {
		now := int64(time.Since(base)) + 1
		if now > int64(30*time.Second) {
			t.Fatal("nothing came within 30 s")
		}
		if err := r.Wait(now, now+int64(time.Minute)); err != nil {
			t.Fatal(err)
		}
		for ev, ok := r.Next(); ok; ev, ok = r.Next() {
			heard = heard || string(ev.Data) == "x"
		}
	}
	// And the time asked for.
	for slept := false; !slept; {
		begin := time.Now()
		now := int64(begin.Sub(base))
		if err := r.Wait(now, now+int64(time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		slept = time.Since(begin) >= time.Millisecond
		if time.Since(base) > 30*time.Second {
			t.Fatal("it never slept")
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, n := range []int{0, MaxPlaces + 1} {
		if _, err := New(n); err == nil || !strings.Contains(err.Error(), "1 to 16777216 are possible") {
			t.Errorf("%d places: %v", n, err)
		}
	}
	for errno, want := range map[unix.Errno]string{
		unix.EPERM:  "create io_uring: operation not permitted (errno 1); it is forbidden by the sysctl kernel.io_uring_disabled",
		unix.ENOSYS: "create io_uring: function not implemented (errno 38); this kernel, or the sandbox",
		unix.EINVAL: "create io_uring: invalid argument (errno 22); the kernel is too old for it: Linux 6.1",
		unix.ENOMEM: "ulimit -l",
		unix.EMFILE: "create io_uring: too many open files",
	} {
		if err := unavailable(errno); !strings.Contains(err.Error(), want) || !errors.Is(err, errno) {
			t.Errorf("%v: %v", errno, err)
		}
	}
}
