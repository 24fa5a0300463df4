package probe

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/internal/procfs"
)

const listenVar = "REDLINE_PROBE_TEST_LISTEN" // if set, the process is a server on this network

func TestMain(m *testing.M) {
	if network := os.Getenv(listenVar); network != "" {
		if err := listenAndTell(network); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// listenAndTell listens twice on one port and answers each connection with its congestion
// control.
func listenAndTell(network string) error {
	network, mp, _ := strings.Cut(network, "+")
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		return errors.Join(c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		}), err)
	}}
	config.SetMultipathTCP(mp != "")
	addr := "127.0.0.1:0"
	for range 2 {
		ln, err := config.Listen(context.Background(), network, addr)
		if err != nil {
			return err
		}
		addr = ln.Addr().String()
		go func() {
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				fmt.Fprintln(conn, ln.Addr(), congestionOf(conn))
				conn.Close()
			}
		}()
	}
	fmt.Println(addr)
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

func congestionOf(conn net.Conn) (name string) {
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err.Error()
	}
	err = raw.Control(func(fd uintptr) {
		var err error
		if name, err = unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION); err != nil {
			name = err.Error()
		}
	})
	if err != nil {
		return err.Error()
	}
	return name
}

// other returns an algorithm that anyone may set and that is not the default.
func other(t *testing.T) string {
	t.Helper()
	allowed, err := procfs.Host.Fields("proc", "sys", "net", "ipv4", "tcp_allowed_congestion_control")
	if err != nil {
		t.Fatal(err)
	}
	now, err := procfs.Host.Text("proc", "sys", "net", "ipv4", "tcp_congestion_control")
	if err != nil {
		t.Fatal(err)
	}
	// reno is part of TCP itself and always allowed.
	i := slices.IndexFunc(append(allowed, "reno"), func(a string) bool { return a != now })
	if i < 0 {
		t.Fatalf("no algorithm but %s", now)
	}
	return append(allowed, "reno")[i]
}

// server starts the test binary as a server.
func server(t *testing.T, network string) (pid int, addr string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), listenVar+"="+network)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, strings.TrimSpace(line)
}

func TestSetCongestion(t *testing.T) {
	algorithm := other(t)
	for _, network := range []string{"tcp4", "tcp4+mp"} {
		t.Run(network, func(t *testing.T) {
			pid, addr := server(t, network)
			_, text, err := net.SplitHostPort(addr)
			if err != nil {
				t.Fatal(err)
			}
			port, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			if err := SetCongestion([]int{os.Getpid(), pid}, port, algorithm); err != nil {
				t.Fatal(err)
			}
			for range 32 { // enough to meet both listeners
				conn, err := net.Dial("tcp", addr)
				if err != nil {
					t.Fatal(err)
				}
				answer, err := io.ReadAll(conn)
				if err := errors.Join(err, conn.Close()); err != nil {
					t.Fatal(err)
				}
				if got := strings.Fields(string(answer)); len(got) != 2 || got[1] != algorithm {
					t.Fatalf("an accepted connection has %q, want %s", answer, algorithm)
				}
			}

			var ce *CongestionError
			if err := SetCongestion([]int{pid}, port, "nonesuch"); !errors.As(err, &ce) || ce.PID != pid || ce.Need == "" || !errors.Is(err, unix.ENOENT) {
				t.Errorf("an unknown algorithm: %v", err)
			}
			if err := SetCongestion([]int{os.Getpid()}, port, algorithm); !errors.Is(err, ErrNotListening) {
				t.Errorf("a process that does not listen: %v, want ErrNotListening", err)
			}
		})
	}
}

func TestListeners(t *testing.T) {
	got, err := listeners(host(t), 10, 8080)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || !got["777"] || !got["790"] {
		t.Errorf("inodes %v, want 777 and 790", got)
	}
}

func TestNeeded(t *testing.T) {
	for err, want := range map[error]string{
		unix.ENOSYS: "pidfd_getfd", unix.ENOENT: "modprobe", unix.EPERM: "a key", unix.EACCES: "a key", unix.EINVAL: "",
	} {
		if got := needed(err, "a key"); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%v needs %q, want %q", err, got, want)
		}
	}
}
