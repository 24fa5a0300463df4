package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/redline-go/redline/lab/load/spec"
)

// perform runs the stage and returns its scene. If namespaces are requested and cannot be
// created, it returns the error of [exec.Cmd.Start].
func perform(t *testing.T, flags uintptr) (*scene, error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The signal that ends the stage with this process is sent when the thread ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), partEnv+"=stage")
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Cloneflags: flags}
	if flags != 0 {
		cmd.Env = append(cmd.Env, apart+"=1")
	}
	if flags&syscall.CLONE_NEWUSER != 0 {
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	var s scene
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		t.Fatalf("%v\n%s\n%s", err, &out, &said)
	}
	return &s, nil
}

// namespaces returns how network namespaces can be created here: as root, as root of a new
// user namespace, or not at all.
func namespaces(t *testing.T) uintptr {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil {
		t.Logf("no network namespaces, the workers share the loopback: %v", err)
		return 0
	}
	flags := uintptr(syscall.CLONE_NEWNET)
	if os.Getuid() != 0 {
		flags |= syscall.CLONE_NEWUSER
	}
	// Try to create a veth pair in a namespace that ends with the command.
	try := exec.Command("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
	try.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
	if flags&syscall.CLONE_NEWUSER != 0 {
		try.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		try.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if out, err := try.CombinedOutput(); err != nil {
		t.Logf("no network namespaces, the workers share the loopback: %v %s", err, out)
		return 0
	}
	return flags
}

// TestWorkerKilledHalfWay: four workers, each a process in its own network namespace, load a
// server and communicate with their coordinator over NATS; one is killed during the run. The
// outcome reports this and agrees with the server's own count. Nothing is left behind.
func TestWorkerKilledHalfWay(t *testing.T) {
	before := ownInterfaces(t)
	flags := namespaces(t)
	s, err := perform(t, flags)
	if err != nil {
		t.Fatal(err)
	}
	if flags != 0 {
		own, err := os.Readlink("/proc/self/ns/net")
		if err != nil {
			t.Fatal(err)
		}
		all := append(slices.Clone(s.Namespaces), own)
		slices.Sort(all)
		if len(slices.Compact(all)) != workers+1 {
			t.Errorf("the workers are in the namespaces %q, the test is in %s", s.Namespaces, own)
		}
	}
	for _, pid := range s.PIDs {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
			t.Errorf("process %d is left", pid)
		}
	}
	if after := ownInterfaces(t); !slices.Equal(before, after) {
		t.Errorf("interfaces were %q, are %q", before, after)
	}
	s.check(t)
}

// ownInterfaces returns the interfaces here whose names are those that the stage gives. Tests of other packages
// add and remove interfaces meanwhile.
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

// check compares the outcome with the server's counts and the events of the run.
func (s *scene) check(t *testing.T) {
	o := s.Outcome
	t.Logf("served %v; outcome: %d requests in %.2f s, %.0f/s, %.1f %% lost\n%s", s.Served, o.Requests, o.Seconds, o.Rate, 100*o.Lost, strings.Join(o.Failures, "\n"))
	var requests, measured uint64
	for i, w := range o.Workers {
		requests += w.Requests
		if w.PID != s.PIDs[i] || w.Clock.Exchanges == 0 {
			t.Errorf("worker %d: %+v", i, w)
		}
		if i == victim {
			measured += w.Sampled
			if w.Sampled != w.Requests || w.Requests == 0 || w.Requests > s.Served[i] || w.Lost == "" || w.Seconds <= 0 || w.Seconds >= o.Seconds || len(w.Result) > 0 {
				t.Errorf("the victim: %d of %d requests in %v of %v s, result %q, %q", w.Requests, s.Served[i], w.Seconds, o.Seconds, w.Result, w.Lost)
			}
			continue
		}
		var r spec.Result
		if err := json.Unmarshal(w.Result, &r); err != nil {
			t.Fatal(err)
		}
		measured += r.Requests + r.Late + r.Unanswered // those after the window, on a busy machine
		if r.Requests != w.Requests || r.Requests > r.Answered || r.Answered > s.Served[i] || s.Served[i] > r.Sent || len(r.Errors) > 0 || w.Lost != "" {
			t.Errorf("worker %d: %d requests of %d answered of %d served of %d sent, errors %v, %q", i, r.Requests, r.Answered, s.Served[i], r.Sent, r.Errors, w.Lost)
		}
	}
	if o.Requests != requests || o.Latency["hdr"].Count != measured {
		t.Errorf("%d requests and %d latencies, want %d and %d", o.Requests, o.Latency["hdr"].Count, requests, measured)
	}
	if o.Lost <= 0 || o.Lost >= 1.0/workers {
		t.Errorf("%v of the plan lost, want less than a quarter", o.Lost)
	}
	words := fmt.Sprintf("worker %d (process %d on ", victim, s.PIDs[victim])
	if !slices.ContainsFunc(o.Failures, func(f string) bool {
		return strings.HasPrefix(f, words) && strings.Contains(f, "s into the window of 5s: it stopped responding. ") && strings.HasSuffix(f, " s are counted")
	}) {
		t.Errorf("failures %q", o.Failures)
	}
	var sum, dropped uint64
	var most float64
	for _, p := range o.Series {
		sum += p.Requests
		most = max(most, p.Workers)
	}
	for _, w := range o.Workers {
		dropped += w.Dropped
	}
	if dropped == 0 && sum != o.Requests {
		t.Errorf("%d requests in the series, want %d", sum, o.Requests)
	}
	if last := o.Series[len(o.Series)-1]; most < workers-0.5 || last.Workers > workers-1+1e-9 {
		t.Errorf("%v workers at most, %v at the end", most, last.Workers)
	}
}
