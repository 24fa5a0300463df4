//go:build linux

package uring

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/sys"
)

// newTestDriver returns a driver without a loop.
func newTestDriver(t *testing.T, z sizes) *driver {
	t.Helper()
	d, err := newDriver(nil, z)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.Close()
		sys.Close(d.ring.FD)
	})
	return d
}

// TestStale wants completions to be ignored that are about connections which are
// gone, and their buffers to be used again.
func TestStale(t *testing.T) {
	d := newTestDriver(t, sizes{requests: 4, completions: 8, buffers: 4, first: 4})
	c := d.NewConn() // its generation is 0
	for _, ports := range [][]*port{nil, {portOf(c)}} {
		d.ports = ports
		for id := range 4 {
			e := sys.CQE{Data: data(kindRecv, 0, 7), Res: 10, Flags: sys.CQEBuffer | sys.CQEMore | uint32(id)<<16}
			if ev, ok := d.complete(&e); ok {
				t.Errorf("%d ports: event %+v", len(ports), ev)
			}
			if p := portOf(c); p.has() || d.piece != nil {
				t.Error("bytes of a connection that is gone are kept")
			}
		}
	}
	for _, k := range []kind{kindPollIn, kindPollOut, kindPollGone, kindCancel, kindSend} {
		d.flying = 1
		if ev, ok := d.complete(&sys.CQE{Data: data(k, 0, 7), Res: 1}); ok {
			t.Errorf("kind %d: event %+v", k, ev)
		}
	}
}

// TestBacklog wants no request to be lost when the queue is full and the kernel
// does not take it.
func TestBacklog(t *testing.T) {
	d := newTestDriver(t, sizes{requests: 2, completions: 64, buffers: 1, first: 1})
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(pair[0])
	defer syscall.Close(pair[1])
	const polls = 20
	d.backlog = make([]sys.SQE, 0, polls)
	for i := range polls {
		e := sys.SQE{Op: sys.OpPollAdd, FD: int32(pair[0]), Arg: sys.PollArg(sys.Out), Data: uint64(i + 1)}
		if i < 7 {
			d.backlog = append(d.backlog, e) // as if the kernel had refused
			continue
		}
		d.push(&e)
	}
	next := uint64(1)
	for range 100 {
		d.enter()
		for e, ok := d.ring.Pop(); ok; e, ok = d.ring.Pop() {
			if e.Data != next || e.Res <= 0 {
				t.Errorf("completion %d, result %d, want %d", e.Data, e.Res, next)
			}
			next++
		}
	}
	if next != polls+1 || len(d.backlog) != 0 {
		t.Errorf("%d polls have completed, %d wait, want %d and 0", next-1, len(d.backlog), polls)
	}
}

// TestEarly wants early bytes to come before the end, and both before the socket.
func TestEarly(t *testing.T) {
	d := newTestDriver(t, sizes{requests: 2, completions: 8, buffers: 1, first: 1})
	c := d.NewConn()
	p := portOf(c)
	p.direct(false)
	b := make([]byte, 4)
	if n, errno := d.Read(c, b); n != 0 || errno != syscall.EAGAIN {
		t.Errorf("Read with nothing is %d, %v", n, errno)
	}
	p.keep([]byte("one"))
	p.keep([]byte("two"))
	p.after.Store(endOfStream)
	p.direct(true)
	var got []byte
	for {
		n, errno := d.Read(c, b)
		if errno != 0 {
			t.Fatal(errno)
		}
		if n == 0 {
			break
		}
		got = append(got, b[:n]...)
	}
	if !bytes.Equal(got, []byte("onetwo")) {
		t.Errorf("Read reads %q", got)
	}
	p.after.Store(uint32(syscall.ECONNRESET))
	if _, errno := d.Read(c, b); errno != syscall.ECONNRESET {
		t.Errorf("Read after a reset is %v", errno)
	}
	p.keep([]byte("left"))
	if got := d.Early(c); string(got) != "left" {
		t.Errorf("Early is %q", got)
	}
}

func TestReason(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind Kind
	}{
		{os.NewSyscallError("io_uring_setup", syscall.EPERM), Forbidden},
		{os.NewSyscallError("io_uring_setup", syscall.ENOSYS), Unsupported},
		{fmt.Errorf("register: %w", syscall.EINVAL), Unsupported},
		{syscall.ENOMEM, Memory},
		{errors.New("odd"), Other},
	} {
		var e *Error
		if err := reason(c.err); !errors.As(err, &e) || e.Kind != c.kind || !errors.Is(err, c.err) {
			t.Errorf("reason(%v) is %v", c.err, err)
		}
	}
}

// TestSendCompletes pins what batches stand on: a send completes within the call
// that submits it, silently if everything is sent, and else it says what is.
func TestSendCompletes(t *testing.T) {
	d := newTestDriver(t, sizes{requests: 4, completions: 8, buffers: 1, first: 1})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fd, err := sys.Dup(c)
	if err != nil {
		t.Fatal(err)
	}
	defer sys.Close(fd)
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	const size = 10_000
	sent, want := 0, -1
	for range 10_000 {
		d.push(&sys.SQE{
			Op: sys.OpSend, FD: int32(fd), Addr: d.batch.slab.Addr(0), Len: size,
			Arg: sys.SendAll, Flags: sys.SQESkipSuccess, Data: data(kindSend, fd, 1),
		})
		d.enter()
		if d.ring.Queued() != 0 {
			t.Fatal("a send is left in the queue")
		}
		if e, ok := d.ring.Pop(); ok {
			if e.Res >= size || e.Res == 0 || e.Res < 0 && syscall.Errno(-e.Res) != syscall.EAGAIN {
				t.Fatalf("a send that is short has result %d", e.Res)
			}
			want = sent + int(max(e.Res, 0))
			break
		}
		sent += size
	}
	if want < 0 {
		t.Fatal("the socket is never full")
	}
	got, err := io.CopyN(io.Discard, peer, int64(want))
	if err != nil {
		t.Fatal(err)
	}
	if err := peer.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := peer.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes have come, %d were to, and then %d: %v", got, want, n, err)
	}
	if e, ok := d.ring.Pop(); ok {
		t.Errorf("a send completes later: %+v", e)
	}
}

// TestOnce wants the kernel to receive one piece, and no more before it is asked to,
// of connections that are new, or whose handler has read from the socket.
func TestOnce(t *testing.T) {
	d := newTestDriver(t, sizes{requests: 2, completions: 8, buffers: 1, first: 1})
	c := d.NewConn() // its descriptor is no socket
	p := portOf(c)
	d.limits = true // whatever this kernel can
	multishot := func() bool {
		d.backlog = make([]sys.SQE, 1, 2) // nothing is pushed past it
		d.recv(p)
		p.direct(true)
		multishot := d.backlog[1].Ioprio == sys.RecvMultishot
		if multishot != (d.backlog[1].Limit == earlyMost) {
			t.Errorf("multishot is %v, the limit %d", multishot, d.backlog[1].Limit)
		}
		return multishot
	}
	if multishot() {
		t.Error("the first recv of a connection is multishot")
	}
	for range 2 {
		if !multishot() {
			t.Error("those that follow are not")
		}
	}
	if _, errno := d.Read(c, make([]byte, 1)); errno == 0 {
		t.Error("Read reads from a descriptor that is not a socket")
	}
	for i := range bulk {
		if multishot() {
			t.Errorf("recv %d after a handler has read is multishot", i)
		}
	}
	if !multishot() {
		t.Error("it is never again")
	}
	p.keep([]byte("nobody has wanted this"))
	if multishot() {
		t.Error("the recv after unwanted bytes is multishot")
	}
	p.once, d.limits = 0, false
	if multishot() {
		t.Error("a recv without a limit is multishot")
	}
	d.backlog = nil
}
