//go:build linux

package sockets_test

import (
	"io"
	"net"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// noFiles has no descriptor be had until it is undone.
func noFiles(t *testing.T) (undo func()) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 3, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	}
}

// TestHijackNoDescriptors lets a Hijack fail for lack of descriptors: the connection is
// unchanged, and files opened meanwhile are not affected.
func TestHijackNoDescriptors(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		theirs, taken := make(chan [2]int, 1), make(chan net.Conn, 1)
		addr, made := script(t, d, transport.Config{}, scripted{feed: func(s *scripted, in []byte, out *buf.Queue) (int, error) {
			if in[0] == 'h' {
				nc, err := s.Hijack(nil, out)
				taken <- nc
				return len(in), err
			}
			s.Detach()
			undo := noFiles(t)
			nc, err := s.Hijack(nil, out)
			undo()
			if err == nil {
				t.Error("Hijack has a descriptor when there are none")
				nc.Close()
			}
			pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
			if err != nil {
				return 0, err
			}
			theirs <- pair
			p := make([]byte, 1)
			if _, err := s.Read(p, nil); err != nil {
				return 0, err
			}
			if _, err := out.WriteString("answer to " + string(p)); err != nil {
				return 0, err
			}
			return len(in), s.Flush(out, 0, nil)
		}})
		c := open(t, addr)
		for range 3 {
			send(t, c, "x")
			pair := receive(t, theirs, "Hijack has failed")
			send(t, c, "1")
			want(t, c, "answer to 1")
			for _, fd := range pair {
				if n, err := syscall.Read(fd, make([]byte, 100)); n > 0 || err != syscall.EAGAIN {
					t.Errorf("another socket reads %d bytes, %v", n, err)
				}
			}
			syscall.Close(pair[0])
			syscall.Close(pair[1])
		}
		hijacked(t, c, receive(t, made, "the session is there"), taken)
	})
}

// hijacked has a session's connection hijacked, and wants nothing of it to be left.
func hijacked(t *testing.T, c *net.TCPConn, s *scripted, taken <-chan net.Conn) {
	t.Helper()
	before := s.LocalAddr().String()
	files := openFiles(t)
	send(t, c, "hijack")
	nc := receive(t, taken, "it is hijacked in the end")
	if nc == nil {
		t.Fatal("Hijack fails when there are descriptors")
	}
	defer nc.Close()
	if n := openFiles(t); n > files {
		t.Errorf("%d files are open after Hijack, %d before", n, files)
	}
	for _, got := range []string{s.LocalAddr().String(), nc.LocalAddr().String()} {
		if got != before || got != c.RemoteAddr().String() {
			t.Errorf("the local address is %s, want %s", got, before)
		}
	}
	send(t, nc, "from the handler")
	want(t, c, "from the handler")
	if _, err := s.Read(make([]byte, 1), nil); err != transport.ErrLost {
		t.Errorf("Read on a connection that was hijacked returns %v, want ErrLost", err)
	}
	if n := s.Untaken(); n != 0 {
		t.Errorf("%d bytes are not taken of a connection that was hijacked", n)
	}
}

// TestUseAfterExit has a session end its goroutine while another one has the
// connection too: it finds the connection lost, and reaches nobody else's.
func TestUseAfterExit(t *testing.T) {
	eachDriver(t, func(t *testing.T, d driver) {
		proceed, results := make(chan struct{}), make(chan error, 3)
		addr, made := script(t, d, transport.Config{}, scripted{feed: func(s *scripted, in []byte, out *buf.Queue) (int, error) {
			if in[0] != 'x' {
				_, err := out.WriteString("served")
				return len(in), err
			}
			s.Detach()
			var mu sync.Mutex
			own := new(buf.Queue)
			go func() {
				<-proceed
				mu.Lock()
				defer mu.Unlock()
				_, err := own.WriteString("for nobody")
				results <- err
				results <- s.Flush(own, 0, &mu)
				_, err = s.Read(make([]byte, 1), &mu)
				results <- err
			}()
			runtime.Goexit()
			return 0, nil
		}})
		c := open(t, addr)
		send(t, c, "x")
		s := receive(t, made, "the session is there")
		if err := receive(t, s.closed, "the session is closed"); err != transport.ErrExited {
			t.Errorf("Closed receives %v", err)
		}
		// The number is somebody else's now.
		var others []*net.TCPConn
		for range 4 {
			o := open(t, addr)
			send(t, o, "hello")
			want(t, o, "served")
			others = append(others, o)
		}
		close(proceed)
		for i, what := range []error{nil, transport.ErrLost, transport.ErrLost} {
			if err := receive(t, results, "it finds out"); err != what {
				t.Errorf("call %d returns %v, want %v", i, err, what)
			}
		}
		for _, o := range others {
			send(t, o, "hello")
			want(t, o, "served")
		}
		if b, err := io.ReadAll(c); len(b) > 0 || err == nil {
			t.Errorf("the client reads %q, %v, want a reset", b, err)
		}
	})
}
