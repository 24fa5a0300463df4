//go:build unix

// Package examples_test builds the examples and uses them as their comments say.
package examples_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait; nothing is expected to take it.
const patience = 4 * time.Minute

var binaries string // the directory with one binary an example

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if binaries, err = os.MkdirTemp("", "examples"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(binaries)
	return m.Run()
}

// build builds an example, unless another test has.
func build(t *testing.T, name string) (exe string) {
	t.Helper()
	exe = filepath.Join(binaries, name)
	if _, err := os.Stat(exe); err == nil {
		return exe
	}
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", exe, ".")
	cmd.Dir = name // which may be a module of its own
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return exe
}

// An example is one that runs.
type example struct {
	url       string
	pid       int
	interrupt func() // once: a second signal would kill it on its way out
}

// start builds an example and runs it, with more flags if need be. At the end of
// the test it is interrupted, if it was not before, and has to end well.
func start(t *testing.T, name string, flags ...string) example {
	t.Helper()
	cmd := exec.Command(build(t, name), append([]string{"-addr", "127.0.0.1:0"}, flags...)...)
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	interrupt := sync.OnceFunc(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		interrupt()
		kill := time.AfterFunc(patience, func() { cmd.Process.Kill() })
		defer kill.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s ends with %v\n%s", name, err, &log)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	at := max(strings.Index(line, "http://"), strings.Index(line, "https://"))
	if err != nil || at < 0 {
		t.Fatalf("%s says %q, %v", name, line, err)
	}
	return example{strings.TrimSpace(line[at:]), cmd.Process.Pid, interrupt}
}

// client makes a connection for each request.
func client(t *testing.T) *http.Client {
	tr := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

func get(c *http.Client, url string) (string, error) {
	resp, err := c.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != 200 {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, b)
	}
	return string(b), err
}

func TestHello(t *testing.T) {
	url := start(t, "hello").url
	c := client(t)
	for path, want := range map[string]string{
		"/":                     "hello, world\n",
		"/hello/gopher":         `{"hello":"gopher","times":1}`,
		"/hello/gopher?times=3": `{"hello":"gopher","times":3}`,
	} {
		if got, err := get(c, url+path); err != nil || got != want {
			t.Errorf("GET %s: %q, %v, want %q", path, got, err, want)
		}
	}
	if got, err := get(c, url+"/hello/gopher?times=often"); err == nil {
		t.Errorf("times=often: %q", got)
	}
}

func TestStreaming(t *testing.T) {
	const size = 100 << 20
	url := start(t, "streaming").url
	c := client(t)
	events, err := c.Get(url + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	if kind := events.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("content type %q", kind)
	}
	req, err := http.NewRequest("PUT", url+"/upload/zeros", io.LimitReader(zeros{}, size))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != fmt.Sprintf("%d bytes\n", size) {
		t.Errorf("upload is answered %q, %v", b, err)
	}
	seen := 0
	for scan := bufio.NewScanner(events.Body); scan.Scan(); {
		if strings.HasPrefix(scan.Text(), "data: ") {
			seen++
		}
		if strings.Contains(scan.Text(), fmt.Sprintf("complete: %d bytes", size)) {
			break
		}
	}
	if seen < 3 {
		t.Errorf("%d events", seen)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestRestart hammers the example with connections while it replaces itself,
// three times. All of them have to be answered.
func TestRestart(t *testing.T) {
	first := start(t, "restart")
	url := first.url
	stop := make(chan struct{})
	var hammers sync.WaitGroup
	var answers atomic.Int64
	for range 4 {
		hammers.Go(func() {
			c := client(t)
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := get(c, url); err != nil {
					t.Errorf("after %d answers: %v", answers.Load(), err)
					return
				}
				answers.Add(1)
			}
		})
	}
	c, pid := client(t), first.pid
	for n := range 3 {
		seen := answers.Load()
		if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		next := successor(t, c, url, pid)
		t.Logf("process %d, then %d; %d answers meanwhile", pid, next, answers.Load()-seen)
		if pid = next; n == 0 {
			waitFor(t, "the first process has ended", func() bool { return ended(first.pid) })
		}
	}
	close(stop)
	hammers.Wait()
	if answers.Load() == 0 {
		t.Error("no answers")
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	waitFor(t, "nobody listens", func() bool {
		nc, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err == nil {
			nc.Close()
		}
		return err != nil
	})
}

// successor waits until another process than pid answers, and only that one.
func successor(t *testing.T, c *http.Client, url string, pid int) (next int) {
	t.Helper()
	row := 0
	waitFor(t, "another process answers", func() bool {
		body, err := get(c, url)
		if err != nil {
			t.Fatal(err)
		}
		var from int
		if _, err := fmt.Sscan(body, &from); err != nil {
			t.Fatalf("answer %q: %v", body, err)
		}
		if from != next {
			row = 0
		}
		next, row = from, row+1
		return next != pid && row >= 20
	})
	return next
}

// ended reports whether a process is gone, or nothing but its exit status is left,
// which only a system with /proc can tell.
func ended(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(b), ") Z ")
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}
