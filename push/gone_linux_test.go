package push_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

// onEach runs a test on the loops of each transport, and over TLS with HTTP/2.
func onEach(t *testing.T, f func(t *testing.T, s *redline.Server)) {
	for _, transport := range []redline.Transport{redline.TransportUring, redline.TransportEpoll, redline.TransportStd} {
		t.Run(string(transport), func(t *testing.T) { f(t, &redline.Server{Transport: transport}) })
	}
	t.Run("HTTP/2", func(t *testing.T) { f(t, &redline.Server{TLSConfig: certificate()}) })
}

// TestAckTimeout: the kernel knows how long a subscriber's system may acknowledge nothing.
func TestAckTimeout(t *testing.T) {
	const userTimeout = 18 // TCP_USER_TIMEOUT, tcp(7)
	for _, c := range []struct {
		o    push.Options
		want int // milliseconds
	}{
		{push.Options{}, 40_000},
		{push.Options{Heartbeat: 30 * time.Second}, 60_000},
		{push.Options{Heartbeat: time.Second}, 30_000}, // WriteTimeout
		{push.Options{Heartbeat: -1}, 600_000},
		{push.Options{AckTimeout: 5 * time.Second}, 5_000},
		{push.Options{AckTimeout: -1}, 0},
	} {
		t.Run(strconv.Itoa(c.want), func(t *testing.T) {
			onEach(t, func(t *testing.T, s *redline.Server) {
				hub := pushtest.Hub(t, c.o)
				s.Native = hub.Handler(nil).Serve
				at := serve(t, s)
				pushtest.Open(t, at, on("t"))
				pushtest.Until(t, "the client has joined", func() bool { return hub.Stats().Subscribers == 1 })
				found := 0
				for _, fd := range accepted(t, at) {
					found++
					if got, err := syscall.GetsockoptInt(fd, syscall.IPPROTO_TCP, userTimeout); err != nil || got != c.want {
						t.Errorf("TCP_USER_TIMEOUT is %d ms (%v), want %d", got, err, c.want)
					}
				}
				if found != 1 {
					t.Errorf("%d connections of the server", found)
				}
			})
		})
	}
}

func on(topics ...string) pushtest.Query { return pushtest.Query{Topics: topics} }

// accepted returns the descriptors of the connections that a server of this process has.
func accepted(t *testing.T, at string) (found []int) {
	t.Helper()
	_, port, err := net.SplitHostPort(at[strings.LastIndex(at, "/")+1:])
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		fd, _ := strconv.Atoi(e.Name())
		own, err := syscall.Getsockname(fd)
		if err != nil {
			continue
		}
		_, err = syscall.Getpeername(fd) // an error: it listens
		if v4, ok := own.(*syscall.SockaddrInet4); ok && err == nil && strconv.Itoa(v4.Port) == port {
			found = append(found, fd)
		}
	}
	return found
}

// TestVanished: a client whose link is cut, so that nothing comes from it and nothing reaches
// it, not even the end of its connection, is noticed after a heartbeat and AckTimeout. Without
// that the kernel tries for a quarter of an hour.
func TestVanished(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("name spaces need root; TestAckTimeout wants the option to be set")
		return
	}
	onEach(t, func(t *testing.T, s *redline.Server) {
		far := newFar(t)
		hub := pushtest.Hub(t, push.Options{Heartbeat: 100 * time.Millisecond, AckTimeout: 500 * time.Millisecond})
		s.Native, s.StallTimeout = hub.Handler(nil).Serve, -1
		at := serveOn(t, s, far.here+":0")
		over := pushtest.NewTransport()
		over.DialContext = far.dial
		stream := pushtest.Open(t, at, pushtest.Query{Topics: []string{"t"}, Over: over})
		pushtest.Publish(t, hub, "t", "x")
		stream.Want("x")
		far.ip("link set " + far.inner + " down")
		pushtest.Until(t, "the client is gone", func() bool { return hub.Stats().Subscribers == 0 })
	})
}

// A far is a network name space at the other end of a link.
type far struct {
	t            *testing.T
	here         string // the address of this end
	outer, inner string // interfaces
	jobs         chan func()
}

// newFar makes a name space, which lasts as long as the thread that belongs to it.
func newFar(t *testing.T) *far {
	t.Helper()
	f := &far{
		t: t, here: "10.99.213.1", jobs: make(chan func()),
		outer: fmt.Sprintf("rp%do", os.Getpid()), inner: fmt.Sprintf("rp%di", os.Getpid()),
	}
	made := make(chan error)
	thread := 0
	aside(func() {
		thread = syscall.Gettid()
		made <- syscall.Unshare(syscall.CLONE_NEWNET)
		for job := range f.jobs {
			job()
		}
	})
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { close(f.jobs) })
	t.Cleanup(func() { _ = ip("link del " + f.outer) })
	for _, line := range []string{
		fmt.Sprintf("link add %s type veth peer name %s netns %d", f.outer, f.inner, thread),
		"addr add " + f.here + "/24 dev " + f.outer,
		"link set " + f.outer + " up",
	} {
		if err := ip(line); err != nil {
			t.Fatal(err)
		}
	}
	f.ip("addr add 10.99.213.2/24 dev "+f.inner, "link set "+f.inner+" up")
	return f
}

// aside calls f on a thread that ends with it. It is not the main thread of the process, which
// cannot end.
func aside(f func()) {
	go func() {
		runtime.LockOSThread()
		if syscall.Gettid() != os.Getpid() {
			f() // the thread is never unlocked, and so ends with the goroutine
			return
		}
		locked := make(chan struct{})
		go func() {
			runtime.LockOSThread() // another thread, because the main one is locked
			close(locked)
			f()
		}()
		<-locked
		runtime.UnlockOSThread()
	}()
}

func ip(line string) error {
	if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", line, err, out)
	}
	return nil
}

// ip runs commands of ip in the name space.
func (f *far) ip(lines ...string) {
	f.t.Helper()
	done := make(chan error)
	f.jobs <- func() {
		var err error
		for _, line := range lines {
			err = errors.Join(err, ip(line))
		}
		done <- err
	}
	if err := <-done; err != nil {
		f.t.Fatal(err)
	}
}

// dial connects from the name space.
func (f *far) dial(_ context.Context, network, address string) (conn net.Conn, err error) {
	done := make(chan bool)
	f.jobs <- func() {
		conn, err = net.DialTimeout(network, address, pushtest.Patience)
		close(done)
	}
	<-done
	return conn, err
}
