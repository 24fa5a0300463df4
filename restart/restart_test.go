//go:build unix

package restart_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/restart"
)

// patience bounds every wait; nothing is expected to take it.
const patience = time.Minute

// childEnv says what the test binary is to do instead of testing, when Process has
// started it.
const childEnv = "REDLINE_TEST_CHILD"

// lifeEnv is the path of the socket that a process lives as long as a connection of.
const lifeEnv = "REDLINE_TEST_LIFE"

func TestMain(m *testing.M) {
	what, rest, _ := strings.Cut(os.Getenv(childEnv), ": ")
	switch what {
	case "":
		os.Exit(m.Run())
	case "ends":
		os.Exit(3)
	case "says nothing":
		time.Sleep(time.Hour) // it is killed
	case "lives":
		os.Exit(live())
	case "has a child and ends":
		if haveChild() != nil {
			os.Exit(1)
		}
		os.Exit(3)
	case "has a child":
		if haveChild() != nil {
			os.Exit(1)
		}
	case "takes":
	default:
		os.Exit(2)
	}
	if succeed(strings.Fields(rest)) != nil {
		os.Exit(1)
	}
}

// haveChild starts a process that outlives this one, as early as a program can.
func haveChild() error {
	if _, left := os.LookupEnv("REDLINE_RESTART"); left {
		return errors.New("what was passed on is named in the environment")
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"=lives")
	return cmd.Start()
}

// live lives until the test does not want it any more.
func live() (code int) {
	c, err := net.Dial("unix", os.Getenv(lifeEnv))
	if err != nil {
		return 1
	}
	defer c.Close()
	_, _ = c.Read(make([]byte, 1)) // the end, in whatever way
	return 0
}

// succeed takes over the listeners that are named, network and address, and
// tells who connects its process's number and the listener's.
func succeed(names []string) error {
	for ; len(names) > 0; names = names[2:] {
		l, err := restart.Listen(names[0], names[1])
		if err != nil {
			return err
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
	if err := errors.Join(restart.Ready(), restart.Ready()); err != nil {
		return err
	}
	time.Sleep(time.Hour) // it is killed
	return nil
}

func listen(t *testing.T, network, addr string) net.Listener {
	t.Helper()
	l, err := restart.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// ownHost is an address that only this process listens on, where all of 127.0.0.0/8 is this machine.
// So a port that was closed there stays closed.
func ownHost() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1"
	}
	pid := os.Getpid()
	return fmt.Sprintf("127.%d.%d.%d", 128+pid>>16&63, pid>>8&255, pid&63<<2+1)
}

// noLeaks wants the descriptors of now back at the end.
func noLeaks(t *testing.T) {
	t.Helper()
	count := func() int {
		d, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return 0 // it cannot be told here
		}
		return len(d)
	}
	before := count()
	t.Cleanup(func() {
		until(t, "descriptors are closed", func() bool { return count() <= before })
	})
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// end kills a process and waits for it.
func end(t *testing.T, p *os.Process) {
	t.Helper()
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
	if _, err := p.Wait(); err != nil {
		t.Error(err)
	}
}

// lifeline keeps processes that get its address alive until the test ends, and returns a
// function that waits until one is alive.
func lifeline(t *testing.T) (lives func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "life")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	t.Setenv(lifeEnv, path)
	return func() {
		t.Helper()
		if err := l.(*net.UnixListener).SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatalf("no process lives: %v", err)
		}
		t.Cleanup(func() { c.Close() })
	}
}

// TestProcess passes listeners of several kinds on, one of which nobody wants.
func TestProcess(t *testing.T) {
	noLeaks(t)
	path := filepath.Join(t.TempDir(), "socket")
	any4, loopback := listen(t, "tcp4", ":0"), listen(t, "tcp", "127.0.0.1:0")
	unix, unwanted := listen(t, "unix", path), listen(t, "tcp", ownHost()+":0")
	port := strconv.Itoa(any4.Addr().(*net.TCPAddr).Port)
	t.Setenv(childEnv, "takes: "+strings.Join([]string{"unix", path, "tcp", loopback.Addr().String(), "tcp4", ":" + port}, " "))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	child, err := restart.Process(ctx, any4, loopback, unix, unwanted)
	if err != nil {
		t.Fatal(err)
	}
	defer end(t, child)
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
		t.Error("the listener that was not requested is open")
	}
}

// TestProcessFails leaves everything with this process when there is no other: the
// socket's file, and the socket as it was.
func TestProcessFails(t *testing.T) {
	noLeaks(t)
	path := filepath.Join(t.TempDir(), "socket")
	l, tcp := listen(t, "unix", path), listen(t, "tcp", "127.0.0.1:0")
	for what, end := range map[string]struct {
		patience time.Duration
		says     string
		is       error
	}{
		"ends":                      {patience, "exit status 3", nil},
		"takes: unix /nowhere/else": {patience, "exit status 1", nil},
		"says nothing":              {50 * time.Millisecond, "killed", context.DeadlineExceeded},
	} {
		t.Setenv(childEnv, what)
		ctx, cancel := context.WithTimeout(t.Context(), end.patience)
		_, err := restart.Process(ctx, l, tcp)
		cancel()
		if err == nil || !strings.Contains(err.Error(), end.says) || end.is != nil && !errors.Is(err, end.is) {
			t.Errorf("%s: %v", what, err)
		}
		wantBounded(t, tcp.(*net.TCPListener))
		wantBounded(t, l.(*net.UnixListener))
	}
	if _, err := restart.Process(t.Context(), struct{ net.Listener }{l}); err == nil || !strings.Contains(err.Error(), "no descriptor") {
		t.Errorf("a listener without a descriptor is passed on: %v", err)
	}
	if err := restart.Ready(); err != nil {
		t.Errorf("Ready without a waiting process: %v", err)
	}
	l.Close()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket's file is left behind: %v", err)
	}
}

// wantBounded wants Accept to keep to its deadline, which it cannot while the
// socket makes its callers wait.
func wantBounded(t *testing.T, l interface {
	net.Listener
	SetDeadline(time.Time) error
},
) {
	t.Helper()
	if err := l.SetDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	accepted := make(chan error, 1)
	go func() {
		_, err := l.Accept()
		accepted <- err
	}()
	select {
	case err := <-accepted:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Accept: %v", err)
		}
	case <-time.After(patience):
		if c, err := net.Dial(l.Addr().Network(), l.Addr().String()); err == nil {
			c.Close() // it lets Accept go, which Close would wait for
		}
		t.Fatal("Accept does not return at its deadline: the socket is set to blocking")
	}
}

// TestForgottenChild has the new process start one of its own before all else. That
// has nothing of what was passed on: neither does it keep a socket open, nor the pipe
// by which the old process sees the new one end.
func TestForgottenChild(t *testing.T) {
	noLeaks(t)
	lives := lifeline(t)
	path := filepath.Join(t.TempDir(), "socket")
	tcp, unix := listen(t, "tcp", ownHost()+":0"), listen(t, "unix", path)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	t.Setenv(childEnv, "has a child and ends")
	_, err := restart.Process(ctx, tcp, unix)
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a process that ends, whose child does not: %v", err)
	}
	lives()

	t.Setenv(childEnv, "has a child: tcp "+tcp.Addr().String()+" unix "+path)
	child, err := restart.Process(ctx, tcp, unix)
	if err != nil {
		t.Fatal(err)
	}
	lives()
	tcp.Close()
	unix.Close()
	end(t, child)
	for _, l := range []net.Listener{tcp, unix} {
		if c, err := net.DialTimeout(l.Addr().Network(), l.Addr().String(), patience); err == nil {
			c.Close()
			t.Errorf("%s is open when all who serve have ended", l.Addr())
		}
	}
}
