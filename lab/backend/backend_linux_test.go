package backend

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// patience bounds every wait. The tests check no durations, except that no answer comes
// before it is due.
const patience = time.Minute

func start(t *testing.T) string {
	t.Helper()
	return startWith(t, Serve)
}

func startWith(t *testing.T, serve func(context.Context, string) error) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "wait")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, path) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, ErrQuestion) {
			t.Error(err)
		}
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("the socket is still there: %v", err)
		}
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		conn, err := net.Dial("unix", path)
		if err == nil {
			conn.Close()
			return path
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func dial(t *testing.T, path string) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return conn
}

func question(d time.Duration) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(d)) }

func send(t *testing.T, conn net.Conn, d time.Duration) {
	t.Helper()
	if _, err := conn.Write(question(d)); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, conn net.Conn, want time.Duration) {
	t.Helper()
	var word [wordSize]byte
	if _, err := io.ReadFull(conn, word[:]); err != nil {
		t.Fatal(err)
	}
	if got := binary.LittleEndian.Uint64(word[:]); got != uint64(want) {
		t.Errorf("answer %d, want %d", got, want)
	}
}

func TestAnswersAreNeverEarly(t *testing.T) {
	conn := dial(t, start(t))
	for _, d := range []time.Duration{0, 60 * time.Microsecond, 700 * time.Microsecond, 5 * time.Millisecond} {
		for range 20 {
			asked := time.Now()
			send(t, conn, d)
			receive(t, conn, d)
			if took := time.Since(asked); took < d {
				t.Errorf("answered after %v, want at least %v", took, d)
			}
		}
	}
}

// TestShortOnesOvertake asks for a long delay first. A round in which it passes tells nothing.
func TestShortOnesOvertake(t *testing.T) {
	path := start(t)
	for range 20 {
		long, short := dial(t, path), dial(t, path)
		asked := time.Now()
		send(t, long, Longest)
		send(t, short, time.Millisecond)
		receive(t, short, time.Millisecond)
		long.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, err := long.Read(make([]byte, 1))
		if time.Since(asked) >= Longest {
			continue
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the long delay is answered with the short one: %v", err)
		}
		long.SetReadDeadline(time.Now().Add(patience))
		receive(t, long, Longest)
		return
	}
	t.Errorf("a short delay took %v in 20 rounds", Longest)
}

// TestClientsThatLeave closes connections before their answer is due, so that the
// descriptor's number is reused by then.
func TestClientsThatLeave(t *testing.T) {
	path := start(t)
	for range 50 {
		leaver := dial(t, path)
		send(t, leaver, 2*time.Millisecond)
		leaver.Close()
		next := dial(t, path)
		send(t, next, 5*time.Millisecond)
		receive(t, next, 5*time.Millisecond)
		next.Close()
	}
}

// TestRequests sends questions with the client of net/http.
func TestRequests(t *testing.T) {
	path := startWith(t, ServeHTTP)
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: patience}
	for range 3 {
		for i, want := range Parts {
			asked := time.Now()
			resp, err := client.Get(fmt.Sprintf("http://backend/part?n=%d&wait=2ms", i+1))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || string(body) != want || resp.StatusCode != http.StatusOK {
				t.Errorf("part %d: %s, %q, %v", i+1, resp.Status, body, err)
			}
			if took := time.Since(asked); took < 2*time.Millisecond {
				t.Errorf("answered after %v, want at least 2ms", took)
			}
		}
	}
}

func TestNoQuestion(t *testing.T) {
	const end = " HTTP/1.1\r\nHost: a\r\n\r\n"
	for _, test := range []struct {
		bytes []byte
		serve func(context.Context, string) error
	}{
		{[]byte("GET / "), Serve},
		{question(Longest + 1), Serve},
		{[]byte("GET /part?n=0&wait=1ms" + end), ServeHTTP},
		{[]byte("GET /part?n=4&wait=1ms" + end), ServeHTTP},
		{[]byte("GET /part?n=1&wait=2s" + end), ServeHTTP},
		{[]byte("GET /part?n=1" + end), ServeHTTP},
		{[]byte("GET /other?n=1&wait=1ms" + end), ServeHTTP},
		{[]byte("GET /part?n=1&wait=1ms" + end + end), ServeHTTP},
		{[]byte("GET /part?n=1&wait=1ms HTTP/1.1\r\nHost: a\r\n"), ServeHTTP},
	} {
		bytes := test.bytes
		path := filepath.Join(t.TempDir(), "wait")
		ended := make(chan error, 1)
		go func() { ended <- test.serve(t.Context(), path) }()
		var conn net.Conn
		for deadline := time.Now().Add(patience); conn == nil; time.Sleep(time.Millisecond) {
			conn, _ = net.Dial("unix", path)
			if time.Now().After(deadline) {
				t.Fatal("it does not listen")
			}
		}
		if _, err := conn.Write(bytes); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, ErrQuestion) {
			t.Errorf("after %q, serve returned %v", bytes, err)
		}
		conn.Close()
	}
}
