//go:build linux

package uring

import (
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/sys"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/sockets"
)

// TestBatchAge wants an answer not to wait for the sessions of others when it has waited
// for long already; and the clock not to be read for nothing.
func TestBatchAge(t *testing.T) {
	d := newTestDriver(t, sizes{requests: 64, completions: 64, buffers: 1, first: 1})
	now, asked := int64(1), 0
	d.clock = func() int64 { asked++; return now }
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(pair[0])
	defer syscall.Close(pair[1])
	one, other := d.NewConn(), d.NewConn()
	d.Begin(one)
	if asked != 0 {
		t.Error("the clock is read with nothing in the batch")
	}
	// add puts an answer of one's into the batch.
	add := func() {
		t.Helper()
		e := sys.SQE{
			Op: sys.OpSend, FD: int32(pair[0]), Addr: d.batch.slab.Addr(d.batch.at), Len: 1,
			Arg: sys.SendAll, Flags: sys.SQESkipSuccess, Data: data(kindSend, pair[0], 1),
		}
		if !d.ring.Push(&e) {
			t.Fatal("there is no room")
		}
		d.batch.sends = append(d.batch.sends, send{port: portOf(one), at: d.batch.at, end: d.batch.at + 1})
		d.batch.at++
		one.Batched = true
	}
	sent := func() int {
		b := make([]byte, 100)
		n, errno := sys.Recv(pair[1], b)
		if errno != 0 && errno != syscall.EAGAIN {
			t.Fatal(errno)
		}
		return n
	}
	for round := range 3 {
		now += int64(time.Hour)
		for _, step := range []struct {
			add, later int64
			want       int
		}{
			{1, 0, 0},                // just now
			{1, 50_000, 0},           // two wait
			{1, 49_999, 0},           // three, the first for almost as long as may be
			{0, 1, 3},                // as long as may be
			{0, int64(time.Hour), 0}, // nothing waits
			{1, int64(time.Hour), 0}, // its own time counts, not that of the batch before
			{0, 2 * batchTime, 1},    // and is over
		} {
			for range step.add {
				add()
			}
			now += step.later
			d.Begin(other)
			if n := sent(); n != step.want {
				t.Errorf("round %d, %+v: %d answers are sent", round, step, n)
			}
		}
		// What is the connection's own goes before its session runs.
		add()
		d.Begin(one)
		if n := sent(); n != 1 || one.Batched {
			t.Errorf("%d answers are sent of a connection whose session runs", n)
		}
	}
}

// TestRingFails has the ring fail while the kernel owns a buffer: it is not entered
// again, nothing is waited for, and the memory stays where the kernel may write to.
func TestRingFails(t *testing.T) {
	runtime.LockOSThread() // whose exit from the kernel completes requests
	defer runtime.UnlockOSThread()
	d, err := newDriver(new(sockets.Loop), sizes{requests: 4, completions: 8, buffers: 1, first: 1})
	if err != nil {
		t.Fatal(err)
	}
	fd := d.ring.FD
	defer sys.Close(fd)
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(pair[0])
	defer syscall.Close(pair[1])
	d.start(&sys.SQE{Op: sys.OpRecv, FD: int32(pair[0]), Flags: sys.SQESelectBuffer, Group: bufferGroup, Data: data(kindRecv, 0, 1)})
	if d.enter(); d.failed || d.Drained() {
		t.Fatal("the recv is not in flight")
	}
	d.start(&sys.SQE{Op: sys.OpPollAdd, FD: int32(pair[0]), Arg: sys.PollArg(sys.Out), Data: data(kindPollOut, 0, 1)})
	d.ring.FD = -1 // entering it fails for good
	d.enter()
	d.ring.FD = fd
	if !d.failed || !d.loop.Failed() || !d.Drained() {
		t.Errorf("failed %v, the loop %v, drained %v", d.failed, d.loop.Failed(), d.Drained())
	}
	d.Stop()
	if d.enter(); d.ring.Queued() == 0 {
		t.Error("a ring that has failed is entered again, with requests about descriptors that may be others'")
	}
	d.Close()
	// The kernel goes on.
	if _, errno := sys.Send(pair[1], []byte{42}, false); errno != 0 {
		t.Fatal(errno)
	}
	for end := time.Now().Add(time.Minute); d.buffers.Bytes(0, 1)[0] != 42; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the kernel does not write, and nothing is proven")
		}
		syscall.Getuid()
	}
}

// openFiles is the number of descriptors of the process.
func openFiles(t *testing.T) int {
	t.Helper()
	f, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(f)
}

// A quiet session keeps its connection to itself.
type quiet struct {
	transport.Conn
	release <-chan struct{}
	closed  chan<- error
}

func (q *quiet) Feed(in []byte, _ *buf.Queue) (int, error) {
	q.Detach()
	<-q.release
	return len(in), nil
}
func (q *quiet) EOF([]byte, *buf.Queue) error { return transport.ErrClosed }
func (q *quiet) Expired(*buf.Queue) error     { return transport.ErrClosed }
func (q *quiet) Drained()                     {}
func (q *quiet) Lost(error)                   {}
func (q *quiet) Closed(err error)             { q.closed <- err }

// TestServeRingFails has the ring fail of a transport that serves: Serve says so, and no
// connection and no descriptor is left.
func TestServeRingFails(t *testing.T) {
	warm, err := net.Listen("tcp", "127.0.0.1:0") // the runtime's poller has descriptors too
	if err != nil {
		t.Fatal(err)
	}
	warm.Close()
	before := openFiles(t)
	var d *driver
	release, closed, conns := make(chan struct{}), make(chan error, 4), make(chan transport.Conn, 4)
	tr, err := sockets.New(transport.Config{Loops: 1, NewSession: func(c transport.Conn) transport.Session {
		conns <- c
		return &quiet{c, release, closed}
	}}, func(l *sockets.Loop) (_ sockets.Driver, err error) {
		d, err = newDriver(l, usual)
		return d, err
	})
	if err != nil {
		t.Fatal(err)
	}
	addr, err := tr.Listen("tcp", "127.0.0.1:0", transport.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- tr.Serve() }()
	var clients []net.Conn
	for i := range 3 {
		c, err := net.Dial("tcp", addr.String())
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if i == 0 { // busy, the others idle
			if _, err := io.WriteString(c, "x"); err != nil {
				t.Fatal(err)
			}
		}
		clients = append(clients, c)
	}
	<-conns
	c := <-conns
	<-conns
	c.Wake(func(*buf.Queue) error {
		d.ring.FD = -1
		return transport.ErrClosed
	})
	if err := <-served; err == nil || err == transport.ErrStopped {
		t.Errorf("Serve returns %v", err)
	}
	close(release)
	for _, c := range clients {
		<-closed
		if b, err := io.ReadAll(c); len(b) > 0 || os.IsTimeout(err) {
			t.Errorf("a client reads %q, %v", b, err)
		}
		c.Close()
	}
	for end := time.Now().Add(time.Minute); openFiles(t) > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d files are open, %d before", openFiles(t), before)
		}
	}
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
}
