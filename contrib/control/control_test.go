package control

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patience bounds every wait; nothing is expected to take it.
const patience = time.Minute

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
	conn.SetDeadline(time.Now().Add(patience))
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
	c, err := Listen(path, Options{Name: "echo", Title: "echo 1.2.3"})
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
	c.Close()
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
		}, "is not a socket"},
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
			c, err := Listen(path, Options{Name: "echo", Title: "echo 1.2.3"})
			if err == nil {
				defer c.Close()
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

// A profile is a line that states its length, followed by its bytes; after it the
// connection answers snapshots again.
func TestControlProfile(t *testing.T) {
	path := socketPath(t)
	s, err := Listen(path, Options{
		Name: "echo", Profiles: []string{"cpu"},
		Profile: func(_ context.Context, w io.Writer, kind string, d time.Duration) error {
			if kind != "cpu" || d != 1500*time.Millisecond {
				return fmt.Errorf("asked for %s, %v", kind, d)
			}
			_, err := io.WriteString(w, "a\nprofile")
			return err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for question, want := range map[string]string{
		"profile cpu 1.5\n":         `{"schema":"redline.profile/1","profile":"cpu","bytes":9}` + "\na\nprofile",
		"profile heap 99999\n":      `{"schema":"redline.profile/1","profile":"heap","bytes":0,"error":"asked for heap, 1m0s"}` + "\n",
		"profile \n":                `{"schema":"redline.profile/1","profile":"","bytes":0,"error":"asked for , 0s"}` + "\n",
		"profile cpu never\n":       `{"schema":"redline.profile/1","profile":"cpu","bytes":0,"error":"asked for cpu, 0s"}` + "\n",
		"profile cpu" + longer(200): `{"schema":"redline.profile/1","profile":"cpu","bytes":0,"error":"asked for cpu, 0s"}` + "\n",
	} {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(patience))
		if _, err := io.WriteString(conn, question); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want))
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v; want %q", question, got, err, want)
		}
		ask(t, conn, "\n", 1)
		conn.Close()
	}
}

func longer(n int) string { return " " + strings.Repeat("x", n) + "\n" }

func TestControlWithoutProfiles(t *testing.T) {
	s := &Socket{}
	if got := string(s.profile("cpu", time.Second)); !strings.Contains(got, `"error":"this service offers no profiles"`) {
		t.Error(got)
	}
}

// A socket that closes does not wait for the profile that is being taken.
func TestControlCloseEndsAProfile(t *testing.T) {
	path := socketPath(t)
	begun := make(chan struct{})
	s, err := Listen(path, Options{Profile: func(ctx context.Context, _ io.Writer, _ string, _ time.Duration) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	}})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "profile cpu 60\n"); err != nil {
		t.Fatal(err)
	}
	<-begun
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
