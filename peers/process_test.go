//go:build linux

package peers_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stacks are the subjects that keep the whole contract.
var stacks = []string{
	"nethttp", "chi", "gin", "echo", "fasthttp", "fiber", "hertz",
	"redline", "redline-uring", "redline-epoll", "redline-std",
	"redline-nethttp", "redline-chi", "redline-gin", "redline-echo",
}

// subjects are all of them.
var subjects = append(slices.Clone(stacks), "limit")

// programs are the programs that the tests start.
var programs = append(slices.Clone(subjects), "centrifuge")

// patience bounds every wait. Nothing here measures time.
const patience = 2 * time.Minute

var binaries string // the directory with one binary a subject

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	var err error
	if binaries, err = os.MkdirTemp("", "peers"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(binaries)
	// Nobody debugs them, and without tables for that they are linked in half of the time.
	args := []string{"build", "-ldflags=-s -w", "-o", binaries + string(filepath.Separator)}
	for _, name := range programs {
		args = append(args, "./"+name)
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build subjects: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// process is a running subject.
type process struct {
	name, addr, control string

	cmd    *exec.Cmd
	stderr bytes.Buffer
	exited chan struct{} // closed when the process has ended
}

// launch starts a subject's binary and waits for nothing.
func launch(t *testing.T, name, addr, control string, args ...string) *process {
	t.Helper()
	p := &process{name: name, addr: addr, control: control, exited: make(chan struct{})}
	p.cmd = exec.Command(filepath.Join(binaries, name), append([]string{"--addr", addr, "--control", control}, args...)...)
	p.cmd.Stderr = &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.cmd.Wait() // its result is in cmd.ProcessState
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.exited
	})
	return p
}

// start starts a subject on a free port and waits until it answers. A subject
// that logs anything fails the test.
func start(t *testing.T, name string, args ...string) *process {
	t.Helper()
	for range 5 {
		p := launch(t, name, freeAddr(t), filepath.Join(shortDir(t), "control"), args...)
		if p.answers() {
			t.Cleanup(func() {
				p.cmd.Process.Kill()
				<-p.exited
				if p.stderr.Len() > 0 {
					t.Errorf("stderr: %s", p.stderr.Bytes())
				}
			})
			return p
		}
		<-p.exited
		if name == "redline-uring" && strings.Contains(p.stderr.String(), "io_uring") {
			t.Skipf("io_uring is forbidden here, or the kernel is too old: %s", p.stderr.Bytes())
		}
		if !strings.Contains(p.stderr.String(), syscall.EADDRINUSE.Error()) {
			t.Fatalf("%s did not start: %s", name, p.stderr.Bytes())
		}
	}
	t.Fatal("found no free port")
	return nil
}

// answers waits until the process answers, or has ended.
func (p *process) answers() bool {
	for {
		select {
		case <-p.exited:
			return false
		case <-time.After(5 * time.Millisecond):
		}
		// The control socket is opened after the port.
		if conn, err := net.Dial("unix", p.control); err == nil {
			conn.Close()
			return true
		}
	}
}

// stop sends a signal and gives the exit status.
func (p *process) stop(t *testing.T, signal os.Signal) int {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	return p.wait(t)
}

func (p *process) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatalf("%s did not end", p.name)
		return -1
	}
}

func (p *process) dial(t *testing.T) *client {
	t.Helper()
	conn, err := net.Dial("tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return &client{Conn: conn, in: bufio.NewReader(conn)}
}

// client is a connection to a subject.
type client struct {
	net.Conn
	in *bufio.Reader
}

// snapshot is a line of the control socket.
type snapshot struct {
	Schema       string
	Subject      string
	Title        string
	Go           string
	GOMAXPROCS   int
	Goroutines   int
	AllocObjects uint64 `json:"alloc_objects"`
	AllocBytes   uint64 `json:"alloc_bytes"`
	HeapBytes    uint64 `json:"heap_bytes"`
	GCCycles     uint64 `json:"gc_cycles"`
	Pauses       struct {
		LESeconds []float64 `json:"le_seconds"`
		Counts    []uint64
	}
}

func (p *process) snapshot(t *testing.T) (s snapshot) {
	t.Helper()
	conn, err := net.Dial("unix", p.control)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	if _, err := conn.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(conn).Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// eventually waits until check returns no error.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	err := errors.New("not checked")
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// freeAddr returns an address that nobody listens on. Its host is one of the 16 million that are this
// machine: nobody else takes the port before the server that gets it.
func freeAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254)))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// shortDir is t.TempDir with a name that leaves room for a unix socket's address.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(binaries, "")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// each runs a subtest for every one of names, two at a time or so.
func each(t *testing.T, names []string, test func(t *testing.T, name string)) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, name)
		})
	}
}
