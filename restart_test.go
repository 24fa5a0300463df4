//go:build unix

package redline_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// childEnv says what the test binary is to do instead of testing, when Restart
// has started it.
const childEnv = "REDLINE_TEST_CHILD"

// socketEnv is the path of the socket that it is to serve on.
const socketEnv = "REDLINE_TEST_SOCKET"

func TestMain(m *testing.M) {
	switch what := os.Getenv(childEnv); {
	case what == "":
		os.Exit(m.Run())
	case what == "ends":
		os.Exit(3)
	case what == "says nothing":
		time.Sleep(time.Hour) // it is killed
	case what == "cannot serve":
		os.Exit(serveInVain())
	default:
		if succeed(strings.Fields(what)) != nil {
			os.Exit(1)
		}
	}
}

// serveInVain is a process whose server cannot serve on what it has inherited, and
// which knows so before it is ready.
func serveInVain() (code int) {
	l, err := redline.Inherit("unix", os.Getenv(socketEnv))
	if err != nil {
		return 1
	}
	s := &redline.Server{Transport: "none", Native: func(*redline.Ctx) {}}
	if s.Adopt(l) == nil && redline.Ready() == nil {
		return 2
	}
	return 4
}

// succeed takes over the listeners that are named, network and address, and
// tells who connects its process's number and the listener's.
func succeed(names []string) error {
	for ; len(names) > 0; names = names[2:] {
		l, err := redline.Inherit(names[0], names[1])
		if err != nil {
			return err
		}
		if _, left := os.LookupEnv("REDLINE_LEGACY"); left {
			return errors.New("the legacy is left in the environment")
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				fmt.Fprint(c, os.Getpid(), " ", l.Addr())
				c.Close()
			}
		}()
	}
	if err := errors.Join(redline.Ready(), redline.Ready()); err != nil {
		return err
	}
	time.Sleep(time.Hour) // it is killed
	return nil
}

func listen(t *testing.T, network, addr string) net.Listener {
	t.Helper()
	l, err := redline.Inherit(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestRestart passes listeners of several kinds on, one of which nobody wants.
func TestRestart(t *testing.T) {
	noLeaks(t)
	path := filepath.Join(t.TempDir(), "socket")
	any4, loopback := listen(t, "tcp4", ":0"), listen(t, "tcp", "127.0.0.1:0")
	unix, unwanted := listen(t, "unix", path), listen(t, "tcp", "127.0.0.1:0")
	port := strconv.Itoa(any4.Addr().(*net.TCPAddr).Port)
	t.Setenv(childEnv, strings.Join([]string{"unix", path, "tcp", loopback.Addr().String(), "tcp4", ":" + port}, " "))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	child, err := redline.Restart(ctx, any4, loopback, unix, unwanted)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := child.Kill(); err != nil {
			t.Error(err)
		}
		if _, err := child.Wait(); err != nil {
			t.Error(err)
		}
	}()
	for _, l := range []net.Listener{any4, loopback, unix, unwanted} {
		l.Close()
	}
	for _, l := range []net.Listener{any4, loopback, unix} {
		c, err := net.DialTimeout(l.Addr().Network(), l.Addr().String(), patience)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(c)
		c.Close()
		if want := fmt.Sprint(child.Pid, " ", l.Addr()); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", l.Addr(), got, err, want)
		}
	}
	if c, err := net.Dial("tcp", unwanted.Addr().String()); err == nil {
		c.Close()
		t.Error("the listener that nobody asked for is open")
	}
}

// TestRestartUnix passes on the Unix socket that a server serves: its file stays when
// that server ends, and leads to the new process.
func TestRestartUnix(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		path := filepath.Join(t.TempDir(), "socket")
		l := listen(t, "unix", path)
		r := prepare(t, &redline.Server{Transport: transport, Native: text("old")})
		r.addr = l.Addr()
		r.run(func() error { return r.Serve(l) })
		r.dial().want("/", "old")
		t.Setenv(childEnv, "unix "+path)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		child, err := redline.Restart(ctx, l)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := child.Kill(); err != nil {
				t.Error(err)
			}
			if _, err := child.Wait(); err != nil {
				t.Error(err)
			}
		}()
		if err := r.shutdown(patience); err != nil {
			t.Error(err)
		}
		got, err := io.ReadAll(r.dial())
		if want := fmt.Sprint(child.Pid, " ", path); err != nil || string(got) != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	})
}

// TestRestartFails leaves everything with this process when there is no other.
func TestRestartFails(t *testing.T) {
	noLeaks(t)
	path := filepath.Join(t.TempDir(), "socket")
	l := listen(t, "unix", path)
	t.Setenv(socketEnv, path)
	for what, end := range map[string]struct {
		patience time.Duration
		says     string
		is       error
	}{
		"ends":               {patience, "exit status 3", nil},
		"unix /nowhere/else": {patience, "exit status 1", nil},
		"cannot serve":       {patience, "exit status 4", nil},
		"says nothing":       {50 * time.Millisecond, "killed", context.DeadlineExceeded},
	} {
		t.Setenv(childEnv, what)
		ctx, cancel := context.WithTimeout(t.Context(), end.patience)
		_, err := redline.Restart(ctx, l)
		cancel()
		if err == nil || !strings.Contains(err.Error(), end.says) || end.is != nil && !errors.Is(err, end.is) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := redline.Restart(t.Context(), struct{ net.Listener }{l}); err == nil {
		t.Error("a listener without a descriptor is passed on")
	}
	if err := redline.Ready(); err != nil {
		t.Errorf("Ready, and nobody waits: %v", err)
	}
	l.Close()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket's file is left behind: %v", err)
	}
}
