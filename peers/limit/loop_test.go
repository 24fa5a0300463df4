//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/peers/internal/subject"
)

const patience = 2 * time.Minute // of every wait; nothing is expected to take it

// startLoop runs the subject in this process. Its connections have a small
// send buffer, so that writes are partial.
func startLoop(t *testing.T) string {
	t.Helper()
	config := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) error {
		var failed error
		err := conn.Control(func(fd uintptr) {
			failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, 16<<10)
		})
		if err != nil {
			return err
		}
		return failed
	}}
	ln, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return addr
}

func dial(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return conn.(*net.TCPConn)
}

func readAnswers(t *testing.T, in *bufio.Reader, n int) {
	t.Helper()
	for i := range n {
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("answer %d of %d: %v", i+1, n, err)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatalf("body of answer %d of %d: %v", i+1, n, err)
		}
		if string(body) != subject.Hello || answer.StatusCode != http.StatusOK {
			t.Fatalf("answer %d of %d is %s with %q", i+1, n, answer.Status, body)
		}
		if _, err := http.ParseTime(answer.Header.Get("Date")); err != nil {
			t.Fatalf("answer %d of %d: %v", i+1, n, err)
		}
	}
	if in.Buffered() > 0 {
		t.Fatalf("%d bytes that no request asked for", in.Buffered())
	}
}

// TestSlowReader sends much and reads nothing until the server has stopped taking
// it, so that answers are owed in every state there is.
func TestSlowReader(t *testing.T) {
	const requests = 40_000
	conn := dial(t, startLoop(t))
	request := "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	stuck := make(chan struct{})
	written := make(chan error, 1)
	go func() {
		burst := []byte(strings.Repeat(request, requests))
		// About 100 KB first: their answers alone fill both buffers.
		if _, err := conn.Write(burst[:100_000]); err != nil {
			close(stuck)
			written <- err
			return
		}
		close(stuck)
		_, err := conn.Write(burst[100_000:])
		written <- err
	}()
	<-stuck
	readAnswers(t, bufio.NewReaderSize(conn, 777), requests)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
}

// TestRudeClients leaves in the ways that clients do, and asks after each whether
// the loop still serves the others.
func TestRudeClients(t *testing.T) {
	addr := startLoop(t)
	witness := dial(t, addr)
	in := bufio.NewReader(witness)
	burst := []byte(strings.Repeat(head, 20_000))
	tests := []struct {
		name  string
		leave func(t *testing.T, conn *net.TCPConn)
	}{
		{"closes at once", func(*testing.T, *net.TCPConn) {}},
		{"closes within a head", func(t *testing.T, conn *net.TCPConn) {
			if _, err := conn.Write(burst[:20]); err != nil {
				t.Error(err)
			}
		}},
		{"resets at once", func(_ *testing.T, conn *net.TCPConn) { conn.SetLinger(0) }},
		{"resets while answers are owed", func(t *testing.T, conn *net.TCPConn) {
			if _, err := conn.Write(burst[:100_000]); err != nil {
				t.Error(err)
			}
			conn.SetLinger(0)
		}},
		{"half closes and reads on", func(t *testing.T, conn *net.TCPConn) {
			if _, err := conn.Write(burst[:3*len(head)]); err != nil {
				t.Error(err)
			}
			if err := conn.CloseWrite(); err != nil {
				t.Error(err)
			}
			readAnswers(t, bufio.NewReader(conn), 3)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for range 20 {
				conn := dial(t, addr)
				test.leave(t, conn)
				conn.Close()
			}
			if _, err := witness.Write([]byte(head + head)); err != nil {
				t.Fatal(err)
			}
			readAnswers(t, in, 2)
		})
	}
}

func TestAnswers(t *testing.T) {
	then := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	a := newAnswers(then)
	one := string(a.take(1))
	want := "HTTP/1.1 200 OK\r\nServer: limit\r\nDate: Fri, 02 Jan 2026 03:04:05 GMT\r\n" +
		"Content-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"
	if one != want {
		t.Fatalf("answer is\n%q, want\n%q", one, want)
	}
	for _, n := range []int{2, 3, 16, 4096, 5} {
		if got := string(a.take(n)); got != strings.Repeat(one, n) {
			t.Errorf("%d answers are not %d times one", n, n)
		}
	}
	a.refresh(then.Add(time.Hour))
	later := strings.Replace(want, "03:04", "04:04", 1)
	if got := string(a.take(100)); got != strings.Repeat(later, 100) {
		t.Errorf("after an hour the answers begin\n%.200q", got)
	}
	if allocs := testing.AllocsPerRun(100, func() { a.refresh(then); a.take(4096) }); allocs != 0 {
		t.Errorf("%v allocations, want none", allocs)
	}
}

// TestDateMoves asks until the date is another one than at first.
func TestDateMoves(t *testing.T) {
	conn := dial(t, startLoop(t))
	in := bufio.NewReader(conn)
	date := func() string {
		if _, err := io.WriteString(conn, head); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Fatal(err)
		}
		return answer.Header.Get("Date")
	}
	// The connection's deadline ends a loop in vain.
	for first := date(); date() == first; {
		time.Sleep(50 * time.Millisecond)
	}
}

// TestCollectionsEnd wants the garbage collector to come to its end beside a loop that
// blocks in the kernel and is not woken by its clients.
func TestCollectionsEnd(t *testing.T) {
	addr := startLoop(t)
	for range 3 {
		collected := make(chan struct{})
		go func() {
			runtime.GC()
			close(collected)
		}()
		select {
		case <-collected:
		case <-time.After(patience):
			t.Fatal("a collection does not end")
		}
	}
	conn := dial(t, addr)
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	readAnswers(t, bufio.NewReader(conn), 1)
}

// TestLoopGivesItsPBack wants GOMAXPROCS to be what it was when the loop has ended.
func TestLoopGivesItsPBack(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	t.Run("loop", func(t *testing.T) {
		conn := dial(t, startLoop(t))
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		readAnswers(t, bufio.NewReader(conn), 1)
		if now := runtime.GOMAXPROCS(0); now != before+1 {
			t.Errorf("GOMAXPROCS is %d beside a loop, want %d", now, before+1)
		}
	})
	if now := runtime.GOMAXPROCS(0); now != before {
		t.Errorf("GOMAXPROCS is %d after the loop, was %d", now, before)
	}
}

// TestPublishToGone publishes while subscribers reset their connections: the walk may find out
// before the loop sees their events.
func TestPublishToGone(t *testing.T) {
	addr := startLoop(t)
	publisher := dial(t, addr)
	answers := bufio.NewReader(publisher)
	body := `{"ts":1,"seq":1,"text":"x"}`
	for range 300 {
		var gone []*net.TCPConn
		for range 4 {
			c := dial(t, addr)
			io.WriteString(c, "GET /events?topic=t HTTP/1.1\r\nHost: x\r\n\r\n")
			if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			c.SetLinger(0)
			gone = append(gone, c)
		}
		fmt.Fprintf(publisher, "POST /publish?topic=t HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		for _, c := range gone {
			c.Close()
		}
		answer, err := http.ReadResponse(answers, nil)
		if err != nil || answer.StatusCode != http.StatusNoContent {
			t.Fatal(answer, err)
		}
	}
}
