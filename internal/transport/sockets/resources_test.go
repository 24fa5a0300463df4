//go:build linux

package sockets_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/epoll"
	"github.com/redline-go/redline/internal/transport/uring"
)

// A driver is one of those that the loop is tested with.
type driver struct {
	name   string
	create func(transport.Config) (transport.Transport, error)
}

var drivers = []driver{
	{"epoll", func(c transport.Config) (transport.Transport, error) { return epoll.New(c) }},
	{"uring", func(c transport.Config) (transport.Transport, error) { return uring.New(c) }},
}

var tests = []struct {
	name string
	run  func(*testing.T, driver)
}{
	{"IdleMemory", testIdleMemory},
	{"RequestAllocs", testRequestAllocs},
	{"NoDescriptors", testNoDescriptors},
	{"ShortSends", testShortSends},
	{"ShortFile", testShortFile},
	{"Pin", testPin},
	{"SlowLog", testSlowLog},
}

func TestResources(t *testing.T) {
	for _, d := range drivers {
		for _, test := range tests {
			t.Run(d.name+"/"+test.name, func(t *testing.T) { test.run(t, d) })
		}
	}
}

// constant answers each byte with the same text.
type constant struct{}

var answer = []byte("HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nHello, World!")

func (constant) Feed(in []byte, out *buf.Queue) (int, error) {
	for range in {
		out.Commit(append(out.Tail(len(answer)), answer...))
	}
	return len(in), nil
}
func (constant) EOF([]byte, *buf.Queue) error { return transport.ErrClosed }
func (constant) Expired(*buf.Queue) error     { return transport.ErrClosed }
func (constant) Drained()                     {}
func (constant) Lost(error)                   {}
func (constant) Closed(error)                 {}

// serve runs a transport for the time of a test.
func serve(tb testing.TB, d driver, c transport.Config) string {
	tb.Helper()
	if c.NewSession == nil {
		c.NewSession = func(transport.Conn) transport.Session { return constant{} }
	}
	t, err := d.create(c)
	if err != nil {
		tb.Fatal(err)
	}
	addr, err := t.Listen("tcp", "127.0.0.1:0", transport.ListenOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- t.Serve() }()
	tb.Cleanup(func() {
		if err := t.Close(); err != nil {
			tb.Error(err)
		}
		if err := <-done; !errors.Is(err, transport.ErrStopped) {
			tb.Error(err)
		}
	})
	return addr.String()
}

// dial opens a connection for the time of a test.
func dial(tb testing.TB, addr string) int {
	tb.Helper()
	fd := connect(tb, addr)
	tb.Cleanup(func() { syscall.Close(fd) })
	return fd
}

// connect opens a connection without a net.Conn, whose memory would be measured
// too. The caller closes it.
func connect(tb testing.TB, addr string) int {
	tb.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		tb.Fatal(err)
	}
	a, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	if err := syscall.Connect(fd, &syscall.SockaddrInet4{Port: a.Port, Addr: [4]byte(a.IP.To4())}); err != nil {
		tb.Fatal(err)
	}
	tv := syscall.NsecToTimeval(int64(2 * time.Minute))
	if err := syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &tv); err != nil {
		tb.Fatal(err)
	}
	return fd
}

// ask sends one byte and reads the answer.
func ask(tb testing.TB, fd int, scratch []byte) {
	tb.Helper()
	if _, err := syscall.Write(fd, scratch[:1]); err != nil {
		tb.Fatal(err)
	}
	for got := 0; got < len(answer); {
		n, err := syscall.Read(fd, scratch[got:])
		if errors.Is(err, syscall.EINTR) {
			continue // with a timeout it is not restarted
		}
		if err != nil || n == 0 {
			tb.Fatalf("read %d bytes, %v", n, err)
		}
		got += n
	}
}

// testIdleMemory pins what an idle connection costs that has been served.
func testIdleMemory(t *testing.T, d driver) {
	const conns, bound = 1000, 300
	addr := serve(t, d, transport.Config{Loops: 1, Takeover: time.Hour}) // without more hands, which have buffers
	scratch := make([]byte, 1024)
	ask(t, dial(t, addr), scratch)
	before := heap()
	fds := make([]int, conns)
	for i := range fds {
		fds[i] = connect(t, addr)
		defer syscall.Close(fds[i])
		ask(t, fds[i], scratch)
	}
	if each := int64(heap()-before) / conns; each > bound {
		t.Errorf("an idle connection takes %d bytes of the heap, want %d at most", each, bound)
	}
}

// heap is the memory in use after a collection.
func heap() uint64 {
	for range 3 {
		runtime.GC() // pools are emptied by the second
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// testRequestAllocs pins that a request allocates nothing.
func testRequestAllocs(t *testing.T, d driver) {
	addr := serve(t, d, transport.Config{Loops: 1})
	scratch := make([]byte, 1024)
	fd := dial(t, addr)
	if n := testing.AllocsPerRun(500, func() { ask(t, fd, scratch) }); n >= 1 {
		t.Errorf("%v allocations a request", n)
	}
}

// testNoDescriptors lets accept fail for lack of descriptors: the transport continues when
// some are free again.
func testNoDescriptors(t *testing.T, d driver) {
	late, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(late)
	// A multishot accept keeps to the limit of when it was armed: set it first.
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	few := syscall.Rlimit{Cur: uint64(late) + 40, Max: before.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	}()
	var mu sync.Mutex
	var logs strings.Builder
	addr := serve(t, d, transport.Config{Loops: 1, Log: func(msg string, err error) {
		mu.Lock()
		defer mu.Unlock()
		logs.WriteString(msg + ": " + err.Error() + "\n")
	}})
	scratch := make([]byte, 1024)
	fd := dial(t, addr)
	ask(t, fd, scratch)
	// Take what is left below the limit.
	var taken []int
	for {
		n, err := syscall.Dup(late)
		if err != nil {
			break
		}
		taken = append(taken, n)
	}
	a, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		t.Error(err)
	}
	if err := syscall.Connect(late, &syscall.SockaddrInet4{Port: a.Port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Error(err)
	}
	ask(t, fd, scratch) // those that are there are served
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		mu.Lock()
		ok := strings.Contains(logs.String(), syscall.EMFILE.Error())
		mu.Unlock()
		if ok {
			break
		}
		if time.Now().After(end) {
			t.Error("nothing is logged")
			break
		}
	}
	for _, n := range taken {
		syscall.Close(n)
	}
	ask(t, late, scratch)
}

// large answers each byte with 8000 bytes of its own value.
type large struct{ constant }

func (large) Feed(in []byte, out *buf.Queue) (int, error) {
	for _, b := range in {
		out.Commit(append(out.Tail(8000), bytes.Repeat([]byte{b}, 8000)...))
	}
	return len(in), nil
}

// testShortSends has a client ask, again and again, that does not read yet: sends
// are short, and refused, and nothing may be lost or change places.
func testShortSends(t *testing.T, d driver) {
	const asks = 1000
	addr := serve(t, d, transport.Config{Loops: 1, NewSession: func(transport.Conn) transport.Session { return large{} }})
	var wg sync.WaitGroup
	for range 4 {
		fd := dial(t, addr)
		if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF, 128<<10); err != nil {
			t.Fatal(err)
		}
		if err := syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for i := range asks {
				if _, err := syscall.Write(fd, []byte{byte(i)}); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(100 * time.Microsecond) // mostly one answer at a time
			}
			scratch := make([]byte, 64<<10)
			for got := 0; got < asks*8000; {
				n, err := syscall.Read(fd, scratch)
				if errors.Is(err, syscall.EINTR) {
					continue
				}
				if err != nil || n == 0 {
					t.Errorf("%d bytes, then %d, %v", got, n, err)
					return
				}
				for i, b := range scratch[:n] {
					if b != byte((got+i)/8000%256) {
						t.Errorf("byte %d is %d, want %d", got+i, b, byte((got+i)/8000))
						return
					}
				}
				got += n
			}
		})
	}
	wg.Wait()
}

// shortFile sends a file range that the file does not have.
type shortFile struct {
	constant
	name   string
	closed chan error
}

func (s *shortFile) Feed(in []byte, out *buf.Queue) (int, error) {
	f, err := os.Open(s.name)
	if err != nil {
		return 0, err
	}
	out.File(f, 0, 100, func() { f.Close() })
	return len(in), nil
}

func (s *shortFile) Closed(err error) { s.closed <- err }

func testShortFile(t *testing.T, d driver) {
	name := t.TempDir() + "/short"
	if err := os.WriteFile(name, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	addr := serve(t, d, transport.Config{Loops: 1, NewSession: func(transport.Conn) transport.Session {
		return &shortFile{name: name, closed: closed}
	}})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(c); err != nil || !bytes.Equal(b, []byte("short")) {
		t.Errorf("read %q, %v", b, err)
	}
	if err := <-closed; err == nil {
		t.Error("Closed receives nil")
	}
}

// testPin serves on pinned loops, with a handler that is taken over.
func testPin(t *testing.T, d driver) {
	addr := serve(t, d, transport.Config{Loops: 2, Pin: []int{0}})
	scratch := make([]byte, 1024)
	for range 10 {
		ask(t, dial(t, addr), scratch)
	}
	logged := make(chan string, 4)
	addr = serve(t, d, transport.Config{Loops: 1, Pin: []int{1000}, Log: func(msg string, _ error) { logged <- msg }})
	ask(t, dial(t, addr), scratch)
	receive(t, logged, "a CPU that does not exist is logged")
}

// testSlowLog serves while what is logged is not written.
func testSlowLog(t *testing.T, d driver) {
	release, logged := make(chan struct{}), make(chan string, 100)
	addr := serve(t, d, transport.Config{Loops: 1, Pin: []int{1000}, Log: func(msg string, _ error) {
		<-release
		logged <- msg
	}})
	scratch := make([]byte, 1024)
	for range 10 {
		ask(t, dial(t, addr), scratch)
	}
	close(release)
	receive(t, logged, "it is written")
}

func BenchmarkRequest(b *testing.B) {
	for _, d := range drivers {
		b.Run(d.name, func(b *testing.B) { benchmarkRequest(b, d) })
	}
}

func benchmarkRequest(b *testing.B, d driver) {
	addr := serve(b, d, transport.Config{Loops: 1})
	scratch := make([]byte, 1024)
	fd := dial(b, addr)
	b.ReportAllocs()
	for b.Loop() {
		ask(b, fd, scratch)
	}
}
