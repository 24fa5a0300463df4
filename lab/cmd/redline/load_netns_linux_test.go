package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/command"
	"github.com/redline-go/redline/lab/load/fleet/kube"
	"github.com/redline-go/redline/lab/probe"
)

// stage is a network namespace without a name. It belongs to a thread, and ends with
// the thread, its sockets and its processes, however the test ends.
//
//	stage   lo 10.78.9.1      the server, and redline load with NATS
//	        v0 10.78.0.1 ──── eth0 10.78.0.2   redline worker 0
//	        v1 10.78.1.1 ──── eth0 10.78.1.2   redline worker 1
//	        ...
type stage struct{ jobs chan func() }

const stageHost = "10.78.9.1"

func newStage(t *testing.T) *stage {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("network namespaces require root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Fatalf("connecting network namespaces requires ip, from the package iproute2: %v", err)
	}
	s := &stage{make(chan func())}
	made := make(chan error)
	aside(func() {
		made <- unix.Unshare(unix.CLONE_NEWNET)
		for job := range s.jobs {
			job()
		}
	})
	t.Cleanup(func() { close(s.jobs) })
	if err := <-made; errors.Is(err, unix.EPERM) {
		t.Skipf("root may not create network namespaces here: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	return s
}

// aside calls f on a thread that ends with it. It is not the main thread of the process,
// whose namespace /proc/self/net shows.
func aside(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != os.Getpid() {
			f() // the thread is never unlocked, and so ends
			return
		}
		locked := make(chan struct{})
		go func() {
			runtime.LockOSThread() // another thread, because the main one is locked
			close(locked)
			f()
		}()
		<-locked
		runtime.UnlockOSThread()
	}()
}

// on calls f in the stage's namespace. Processes started there are killed when
// the stage ends.
func (s *stage) on(t *testing.T, f func() error) {
	t.Helper()
	done := make(chan error)
	s.jobs <- func() { done <- f() }
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// ip runs commands of ip in the namespace of the calling thread.
func ip(lines ...string) error {
	for _, line := range lines {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", line, err, out)
		}
	}
	return nil
}

// ipOf runs commands of ip in the namespace of a process.
func ipOf(pid int, lines ...string) error {
	done := make(chan error)
	aside(func() {
		f, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
		if err == nil {
			err = unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
			err = errors.Join(err, f.Close())
		}
		if err == nil {
			err = ip(lines...)
		}
		done <- err
	})
	return <-done
}

// command returns redline as a process that ends with the test.
func (s *stage) command(t *testing.T, flags uintptr, env []string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Cloneflags: flags}
	t.Cleanup(func() {
		cancel()
		if cmd.Process != nil && cmd.ProcessState == nil {
			_ = cmd.Wait() // it was killed
		}
	})
	return cmd
}

// cast starts the workers and connects their networks with the stage's.
func (s *stage) cast(t *testing.T, env []string, said []bytes.Buffer, pids *[4]atomic.Int64) (cmds []*exec.Cmd) {
	t.Helper()
	for i := range said {
		cmd := s.command(t, unix.CLONE_NEWNET, append([]string{fmt.Sprintf("%s=%d", kube.EnvIndex, i)}, env...),
			command.WorkerVerb, "--bus", "nats://"+stageHost+":4222", "--name", fmt.Sprintf("machine-%d", i), "--wait", "60s")
		cmd.Stderr = &said[i]
		s.on(t, func() error {
			if err := cmd.Start(); err != nil {
				return err
			}
			pids[i].Store(int64(cmd.Process.Pid))
			return ip(fmt.Sprintf("link add v%d type veth peer name eth0 netns %d", i, cmd.Process.Pid),
				fmt.Sprintf("addr add 10.78.%d.1/24 dev v%d", i, i), fmt.Sprintf("link set v%d up", i))
		})
		if err := ipOf(cmd.Process.Pid, fmt.Sprintf("addr add 10.78.%d.2/24 dev eth0", i), "link set eth0 up",
			fmt.Sprintf("route add default via 10.78.%d.1", i)); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	return cmds
}

// Four workers, each a process in its own network namespace, are coordinated over NATS;
// one is killed during the run. The result reports that first, and its counts of the
// others are those of the server.
func TestLoadOverNATS(t *testing.T) {
	once(t)
	const workers, victim = 4, 2
	before := ownInterfaces(t)
	s := newStage(t)
	env := []string{kube.EnvRun + "=test", kube.EnvToken + "=a-token-of-this-test"}
	var served [workers]atomic.Uint64
	var pids [workers]atomic.Int64
	progress := tempFile(t)
	var kill sync.Once
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i := range workers {
			if !strings.HasPrefix(r.RemoteAddr, fmt.Sprintf("10.78.%d.2:", i)) {
				continue
			}
			if n := served[i].Add(1); i == victim && n%20 == 0 && secondsShown(progress.Name()) {
				kill.Do(func() { _ = syscall.Kill(int(pids[i].Load()), syscall.SIGKILL) }) // the result shows whether it was killed
			}
		}
		hello(w, r, 0)
	})}
	var listener net.Listener
	s.on(t, func() (err error) {
		if err = ip("link set lo up", "addr add "+stageHost+"/32 dev lo"); err != nil {
			return err
		}
		listener, err = net.Listen("tcp", stageHost+":0")
		return err
	})
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	said := make([]bytes.Buffer, workers)
	cmds := s.cast(t, env, said, &pids)
	var out bytes.Buffer
	lead := s.command(t, 0, env, "load", "--workers", fmt.Sprint(workers), "--bus", "listen:"+stageHost+":4222", "--wait", "60s",
		"-c", "8", "-r", "400", "-d", "6s", "--warmup", "200ms", "--json", "-", "http://"+listener.Addr().String()+"/")
	lead.Stdout, lead.Stderr = &out, progress
	s.on(t, lead.Start)
	err := lead.Wait()
	summary := read(t, progress.Name())
	if code := lead.ProcessState.ExitCode(); code != command.ExitInvalid {
		t.Fatalf("exit code %d, %v\n%s", code, err, summary)
	}
	for i, cmd := range cmds {
		if err := cmd.Wait(); (err == nil) == (i == victim) {
			t.Errorf("worker %d: %v, %s", i, err, &said[i])
		}
	}
	checkLost(t, out.String(), summary, victim, &served)
	if after := ownInterfaces(t); !slices.Equal(before, after) {
		t.Errorf("interfaces were %q, are %q", before, after)
	}
	if tree := probe.Tree(os.Getpid()); len(tree) > 1 {
		t.Errorf("processes left: %v", tree[1:])
	}
}

// ownInterfaces returns the interfaces here whose names are those that the stage gives. Tests of other
// packages add and remove interfaces meanwhile.
func ownInterfaces(t *testing.T) (names []string) {
	t.Helper()
	list, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range list {
		if stageNames.MatchString(i.Name) {
			names = append(names, i.Name)
		}
	}
	return names
}

var stageNames = regexp.MustCompile(`^(v[0-3]|eth0)$`)

// checkLost compares the result with the counts of the server.
func checkLost(t *testing.T, out, summary string, victim int, served *[4]atomic.Uint64) {
	t.Helper()
	d := documentOf(t, out)
	if len(d.Workers) != len(served) {
		t.Fatalf("%d workers", len(d.Workers))
	}
	var requests uint64
	for i, w := range d.Workers {
		requests += w.Requests
		if w.Index != i || w.Host != fmt.Sprintf("machine-%d", i) {
			t.Errorf("worker %d is %d on %s", i, w.Index, w.Host)
		}
		n := served[i].Load()
		if i == victim {
			if w.Lost == "" || w.Requests == 0 || w.Requests > n || w.Seconds >= d.Seconds {
				t.Errorf("the victim, of which the server saw %d requests: %+v", n, w)
			}
			continue
		}
		if w.Lost != "" || w.Sent != n || w.Answered != n || w.Requests == 0 || len(w.Errors) > 0 {
			t.Errorf("worker %d, of which the server saw %d requests: %+v", i, n, w)
		}
	}
	if d.Requests != requests || d.Open == nil || d.Latency.Count != d.Open.Due-d.Open.Failed {
		t.Errorf("%d requests, %d of the workers; %d latencies of %+v", d.Requests, requests, d.Latency.Count, d.Open)
	}
	// The coordinator observes the server, which is this process. The workers are its
	// children: one has ended, and others may have by the last reading.
	notes := strings.Join(d.Notes, "\n")
	_, ended, _ := strings.Cut(notes, "these processes of the server ended: ")
	ended, _, _ = strings.Cut(ended, ";")
	gone := slices.Contains(strings.Split(ended, ", "), fmt.Sprint(d.Workers[victim].PID))
	if d.Server == nil || !slices.Contains(d.Server.PIDs, os.Getpid()) || d.Server.CPU.PerRequestUs <= 0 || !gone {
		t.Errorf("server %+v, notes %q", d.Server, d.Notes)
	}
	want := fmt.Sprintf("INVALID: worker %d (process %d on machine-%d) was lost ", victim, d.Workers[victim].PID, victim)
	at := strings.Index(summary, "INVALID")
	if at < 0 || !strings.HasPrefix(strings.Join(strings.Fields(summary[at:]), " "), want) {
		t.Errorf("the summary is\n%s", summary)
	}
}

func TestWorkerUsage(t *testing.T) {
	t.Setenv(kube.EnvToken, "")
	for _, c := range []struct{ args, run, index, want string }{
		{"worker", "", "", "name the NATS server"},
		{"worker --bus nats://127.0.0.1:1", "", "", "set REDLINE_RUN and REDLINE_TOKEN"},
		{"worker --bus http://127.0.0.1:1", "x", "", "want the URL of a NATS server"},
		{"worker --bus nats://127.0.0.1:1 --wait 0", "x", "", "--wait 0s"},
		{"worker --bus nats://127.0.0.1:1", "x", "-1", "JOB_COMPLETION_INDEX=-1"},
		{"load --wait 1s http://127.0.0.1:1/", "", "", "--wait is for workers that join over a --bus"},
		{"load --bus 127.0.0.1:4222 http://127.0.0.1:1/", "", "", "want the URL of a NATS server"},
		{"load --bus listen:here http://127.0.0.1:1/", "", "", "as listen:0.0.0.0:4222"},
		{"load --bus nats://127.0.0.1:1 --cpu 0 http://127.0.0.1:1/", "", "", "pin a worker on its own machine"},
		{"load --bus nats://127.0.0.1:1 --find p99<1s http://127.0.0.1:1/", "", "", "leave out one of the two"},
		{"load --bus nats://127.0.0.1:1 --think file:x http://127.0.0.1:1/", "", "", "--think"},
		{"load --bus nats://127.0.0.1:1 --wait -1s http://127.0.0.1:1/", "", "", "--wait -1s"},
	} {
		if c.run != "" {
			t.Setenv(kube.EnvRun, c.run)
			t.Setenv(kube.EnvToken, "0123456789abcdef")
		}
		t.Setenv(kube.EnvIndex, c.index)
		if code, said := stderrOf(t, strings.Fields(c.args)...); code != 2 || !strings.Contains(said, c.want) {
			t.Errorf("%s: exit code %d, %q; want 2, %q", c.args, code, said, c.want)
		}
	}
}

// An error names the workers that do not join, and nothing is left behind.
func TestLoadNobodyJoins(t *testing.T) {
	url, _ := serve(t, hello)
	code, out, said := loadOf(t, t.Context(), "--workers", "2", "--bus", "listen:127.0.0.1:0", "--wait", "200ms", "--json", "-", url)
	if code != 1 || out != "" || !strings.Contains(said, "0 of 2 workers joined within 200ms; missing: worker 0, 1") || !strings.Contains(said, "redline worker --bus nats://127.0.0.1:") {
		t.Errorf("exit code %d, %q, %s", code, out, said)
	}
}
