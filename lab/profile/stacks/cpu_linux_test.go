package stacks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// plenty is a number of samples for [shares]: with it, the standard deviation of a share of 0.6 is a
// fifth of what is tolerated.
const plenty = 600

// shares compares the parts of functions with what they are by construction.
func shares(t *testing.T, q *asked, want map[string]float64) {
	t.Helper()
	for name, share := range want {
		if got := q.Share(namedAs(name)); got < share-0.1 || got > share+0.1 {
			t.Errorf("%s has %.3f of %d samples, want %.2f", name, got, q.Total(), share)
		}
	}
}

// However a Go program is built, its profile is the same.
func TestGo(t *testing.T) {
	for _, b := range []struct {
		name string
		args []string
	}{
		{"default", nil},
		{"stripped", []string{"-ldflags=-s -w"}},
		{"PIE", []string{"-buildmode=pie"}},
		{"stripped PIE", []string{"-buildmode=pie", "-ldflags=-s -w"}},
	} {
		t.Run(b.name, func(t *testing.T) {
			path := goProgram(t, b.args...)
			x := start(t, path, "work")
			q, taken := take(t, plenty, Options{PIDs: []int{x.pid}})
			shares(t, q, map[string]float64{"main.thirty": 0.3, "main.sixty": 0.6, "main.inlined": 0.6, "main.ten": 0.1, "main.generic[...]": 0.1, "main.main": 1})
			for _, s := range taken.Profile.Sample {
				if got := trace(s); len(got) > 3 && got[0] == "main.work" && got[1] == "main.inlined" {
					want := []string{"main.work", "main.inlined", "main.sixty", "main.main", "runtime.main", "runtime.goexit"}
					if !slices.Equal(got, want) {
						t.Errorf("the stack is %v, want %v", got, want)
					}
				}
			}
			checkLabels(t, taken.Profile, x.pid, filepath.Base(path))
			checkLines(t, taken.Profile)
			checkMapping(t, taken.Profile, path)
		})
	}
}

func checkLabels(t *testing.T, p *profile.Profile, pid int, comm string) {
	t.Helper()
	for _, s := range p.Sample {
		if s.NumLabel["pid"][0] != int64(pid) || s.Label["comm"][0] != comm[:min(15, len(comm))] || s.NumLabel["thread"][0] < int64(pid) {
			t.Errorf("labels are %v and %v", s.Label, s.NumLabel)
			break
		}
	}
}

func checkLines(t *testing.T, p *profile.Profile) {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", "target", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(source), "\n")
	for _, l := range p.Location {
		for _, x := range l.Line {
			if x.Function.Name != "main.thirty" {
				continue
			}
			if !strings.HasSuffix(x.Function.Filename, "testdata/target/main.go") || !strings.Contains(lines[x.Line-1], "func thirty") || int64(x.Function.StartLine) != x.Line {
				t.Errorf("main.thirty is at %s:%d, begins at %d", x.Function.Filename, x.Line, x.Function.StartLine)
			}
			return
		}
	}
	t.Error("main.thirty has no location")
}

func checkMapping(t *testing.T, p *profile.Profile, path string) {
	t.Helper()
	for _, m := range p.Mapping {
		if m.File == path && len(m.BuildID) >= 40 && m.Limit > m.Start {
			return
		}
	}
	t.Errorf("no mapping of %s with a build id among %v", path, p.Mapping)
}

// Frames of the kernel come before those of the program, down to the function that made the
// system call although that has no frame.
func TestKernel(t *testing.T) {
	if _, err := os.Open("/proc/kallsyms"); errors.Is(err, fs.ErrNotExist) {
		t.Skip("this kernel has no /proc/kallsyms")
	}
	x := start(t, goProgram(t), "calls")
	q, taken := take(t, 200, Options{PIDs: []int{x.pid}, Kernel: true})
	if noted(taken.Notes, "kernel") {
		t.Skip("this user may not see the kernel: ", taken.Notes)
	}
	if got := q.Share(ofKernel); got < 0.1 {
		t.Errorf("the kernel has %.3f of the samples of a program that makes system calls", got)
	}
	if got := q.Share(namedAs("main.calls")); got < 0.9 {
		t.Errorf("main.calls has %.3f of the samples", got)
	}
	for _, s := range taken.Profile.Sample {
		user := false
		for _, l := range s.Location {
			kernel := l.Mapping.File == "[kernel]"
			if kernel && user {
				t.Fatalf("a frame of the kernel is above the program: %v", trace(s))
			}
			user = user || !kernel
		}
	}
	without, _ := take(t, 100, Options{PIDs: []int{x.pid}})
	if got := without.Share(ofKernel); got != 0 {
		t.Errorf("frames of the kernel although they were not wanted: %.3f", got)
	}
}

// A native program's stacks are whole with and without frame pointers, and without symbols
// of debugging.
func TestNative(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("tables for exceptions are followed on amd64 only")
	}
	for _, args := range [][]string{{"-g", "-fno-omit-frame-pointer"}, {"-g", "-fomit-frame-pointer"}, {"-fomit-frame-pointer", "-no-pie"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			x := start(t, nativeProgram(t, args...))
			q, taken := take(t, plenty, Options{PIDs: []int{x.pid}, Lines: true})
			shares(t, q, map[string]float64{"three": 0.3, "seven": 0.7, "spin": 1, "main": 1})
			lines := 0
			for _, s := range taken.Profile.Sample {
				if got := trace(s); len(got) > 2 && got[0] == "spin" && got[2] != "main" {
					t.Errorf("the stack is %v", got)
				}
			}
			for _, f := range taken.Profile.Function {
				if strings.HasSuffix(f.Filename, "main.c") {
					lines++
				}
			}
			if debug := args[0] == "-g"; debug != (lines > 0) {
				t.Errorf("%d functions have lines, debugging information: %v", lines, debug)
			}
		})
	}
}

// A binary that was deleted is still read.
func TestDeleted(t *testing.T) {
	whole, err := os.ReadFile(goProgram(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "deleted")
	if err := os.WriteFile(path, whole, 0o700); err != nil {
		t.Fatal(err)
	}
	x := start(t, path, "work")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	q, _ := take(t, plenty, Options{PIDs: []int{x.pid}})
	shares(t, q, map[string]float64{"main.thirty": 0.3, "main.sixty": 0.6})
}

// Children belong to a profile if the tree is wanted, also those that are started while it
// is taken.
func TestTree(t *testing.T) {
	x := start(t, goProgram(t), "children")
	child := func() int {
		if _, err := fmt.Fprintln(x.in); err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimPrefix(x.line(t), "started "))
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	first := child()
	seen := func(p *profile.Profile) map[int]bool {
		pids := map[int]bool{}
		for _, s := range p.Sample {
			if slices.Contains(trace(s), "main.ten") {
				pids[int(s.NumLabel["pid"][0])] = true
			}
		}
		return pids
	}
	_, taken := take(t, 20, Options{PIDs: []int{x.pid}, Tree: true})
	if got := seen(taken.Profile); !got[first] {
		t.Errorf("the child %d is not among %v", first, got)
	}
	second := make(chan int, 1)
	started, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		<-started
		second <- child()
	}()
	close(started)
	// A busy machine may be long in starting it.
	later := 0
	takeUntil(t, Options{PIDs: []int{x.pid}, Tree: true}, func(q *asked) bool {
		select {
		case later = <-second:
		default:
		}
		return later > 0 && q.Select(func(s *profile.Sample) bool {
			return int(s.NumLabel["pid"][0]) == later && slices.Contains(trace(s), "main.ten")
		}).Total() > 0
	})
	<-done
	_, taken = take(t, 0, Options{PIDs: []int{x.pid}})
	if got := seen(taken.Profile); len(got) > 0 {
		t.Errorf("children %v although no tree was wanted", got)
	}
}

// The scope of the events makes no difference: each CPU, or each thread with what it starts.
func TestScope(t *testing.T) {
	defer func(n int, w bool) { maxEvents, wide = n, w }(maxEvents, wide)
	for _, c := range []struct {
		name   string
		wide   bool
		events int
	}{{"threads", false, maxEvents}, {"too many threads", false, 0}, {"CPUs", true, maxEvents}} {
		t.Run(c.name, func(t *testing.T) {
			wide, maxEvents = c.wide, c.events
			scope(t)
		})
	}
}

func scope(t *testing.T) {
	x := start(t, goProgram(t), "work")
	q, taken := take(t, plenty, Options{PIDs: []int{x.pid}})
	shares(t, q, map[string]float64{"main.thirty": 0.3, "main.sixty": 0.6, "main.main": 1})
	checkLabels(t, taken.Profile, x.pid, "target")

	x = start(t, goProgram(t), "naps")
	_, taken = takeUntil(t, Options{PIDs: []int{x.pid}, Kind: OffCPU}, napped)
	checkLabels(t, taken.Profile, x.pid, "target")
}

// A process that runs another program in the middle of the window has the functions of both.
func TestExec(t *testing.T) {
	const script = "echo ready; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exec \"$0\" work"
	x := start(t, "/bin/sh", "-c", script, goProgram(t))
	var all []*profile.Profile
	for range 60 {
		taken, err := Take(context.Background(), Options{PIDs: []int{x.pid}, For: 2 * time.Second, Hz: 997})
		allowed(t, err)
		all = append(all, taken.Profile)
		sum, err := profile.Merge(all)
		if err != nil {
			t.Fatal(err)
		}
		q := ask(t, sum, "samples").Select(func(s *profile.Sample) bool {
			return slices.Contains(trace(s), "main.main") && s.Label["comm"][0] == "target"
		})
		if q.Total() >= plenty {
			shares(t, q, map[string]float64{"main.thirty": 0.3, "main.sixty": 0.6})
			return
		}
	}
	t.Error("there are no samples of the second program")
}
