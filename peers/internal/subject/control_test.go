package subject

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func socketPath(t *testing.T) string {
	t.Helper()
	// t.TempDir may be too long for a unix socket's address.
	dir, err := os.MkdirTemp("", "control")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "socket")
}

func ask(t *testing.T, conn net.Conn, question string, answers int) {
	t.Helper()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := conn.Write([]byte(question)); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	for range answers {
		line, err := in.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		if got := parseSnapshot(t, line); got.Subject != "echo" {
			t.Errorf("answer of %q", got.Subject)
		}
	}
	if in.Buffered() > 0 {
		t.Errorf("%d bytes after %d answers", in.Buffered(), answers)
	}
}

func TestControl(t *testing.T) {
	path := socketPath(t)
	c, err := openControl(path, "echo", "echo 1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	var conns []net.Conn
	for range 3 {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
		ask(t, conn, "\n", 1)
	}
	ask(t, conns[0], "\nwhat\n\n", 3)
	ask(t, conns[2], "\n", 1)
	c.close()
	if n, err := conns[1].Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes from a closed socket", n)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestControlPath(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(t *testing.T, path string)
		wrong   string // in the error; empty when there is none
	}{
		{"free", func(*testing.T, string) {}, ""},
		{"stale socket", func(t *testing.T, path string) {
			ln, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			ln.(*net.UnixListener).SetUnlinkOnClose(false)
			ln.Close()
		}, ""},
		{"live socket", func(t *testing.T, path string) {
			ln, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { ln.Close() })
		}, "in use"},
		{"a file", func(t *testing.T, path string) {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "no socket"},
		{"no such directory", func(t *testing.T, path string) {
			if err := os.Remove(filepath.Dir(path)); err != nil {
				t.Fatal(err)
			}
		}, "open control socket"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := socketPath(t)
			test.prepare(t, path)
			c, err := openControl(path, "echo", "echo 1.2.3")
			if err == nil {
				defer c.close()
			}
			switch {
			case test.wrong == "" && err != nil:
				t.Fatal(err)
			case test.wrong == "":
				conn, err := net.Dial("unix", path)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				ask(t, conn, "\n", 1)
			case err == nil || !strings.Contains(err.Error(), test.wrong):
				t.Errorf("error is %v, want %q in it", err, test.wrong)
			}
		})
	}
}
