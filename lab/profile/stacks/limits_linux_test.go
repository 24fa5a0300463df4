package stacks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/profile/perfevent"
)

func TestOptions(t *testing.T) {
	own := []int{os.Getpid()}
	for name, o := range map[string]Options{
		"no process": {For: time.Second}, "no window": {PIDs: own}, "negative": {PIDs: own, For: -1},
		"long": {PIDs: own, For: 2 * time.Hour}, "kind": {PIDs: own, For: 1, Kind: "heap"}, "rate": {PIDs: own, For: 1, Hz: 1e6}, "parts": {PIDs: own, For: 1, Slices: maxSlices + 1},
	} {
		if _, err := Take(context.Background(), o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestNoProcess(t *testing.T) {
	for _, kind := range []Kind{CPU, OffCPU} {
		_, err := Take(context.Background(), Options{PIDs: []int{1 << 30}, For: time.Second, Kind: kind})
		if !errors.Is(err, ErrNoProcess) {
			t.Errorf("%s of a process that never was: %v", kind, err)
		}
	}
}

// watching reports whether this process has opened events of the kernel.
func watching() bool {
	list, err := filepath.Glob("/proc/self/fd/*")
	return err == nil && slices.ContainsFunc(list, func(name string) bool {
		to, err := os.Readlink(name)
		return err == nil && to == "anon_inode:[perf_event]"
	})
}

// A process that ends half way leaves what was taken until then.
func TestGone(t *testing.T) {
	x := start(t, goProgram(t), "work")
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for !watching() {
			select {
			case <-over: // it was not allowed
				return
			case <-time.After(time.Millisecond):
			}
		}
		_ = x.cmd.Process.Kill()
		_ = x.cmd.Wait()
	}()
	taken, err := Take(context.Background(), Options{PIDs: []int{x.pid}, For: time.Minute, Hz: 997})
	close(over)
	<-done
	allowed(t, err)
	if !noted(taken.Notes, "ended before the window") || taken.Profile.DurationNanos > int64(50*time.Second) {
		t.Errorf("notes %v, %d samples", taken.Notes, len(taken.Profile.Sample))
	}
}

// A window that is ended early leaves what was taken until then.
func TestCancel(t *testing.T) {
	x := start(t, goProgram(t), "work")
	ctx, cancel := context.WithTimeoutCause(context.Background(), 500*time.Millisecond, errors.New("enough"))
	defer cancel()
	taken, err := Take(ctx, Options{PIDs: []int{x.pid}, For: time.Minute})
	allowed(t, err)
	if !noted(taken.Notes, "ended early: enough") {
		t.Errorf("notes %v", taken.Notes)
	}
}

// Nothing stays open.
func TestDescriptors(t *testing.T) {
	x := start(t, goProgram(t), "work")
	count := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before := count()
	for _, kind := range []Kind{CPU, OffCPU} {
		_, err := Take(context.Background(), Options{PIDs: []int{x.pid}, For: 100 * time.Millisecond, Kind: kind, Kernel: true})
		allowed(t, err)
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestLost(t *testing.T) {
	s := newSession(Options{Kind: CPU})
	s.handle(&perfevent.Record{Kind: perfevent.RecordLost, Lost: 7})
	s.handle(&perfevent.Record{Kind: perfevent.RecordLostSamples, Lost: 2})
	taken := s.result(time.Now(), time.Second)
	if taken.Lost != 9 || !noted(taken.Notes, "9 records were lost") {
		t.Errorf("%d lost, notes %v", taken.Lost, taken.Notes)
	}
}

// The number of different stacks is limited, and their sum is not.
func TestManyStacks(t *testing.T) {
	x := newSamples()
	at := place{space: newSpace(1), user: make([]uint64, 3)}
	const n = maxStacks + 5000
	for i := range n {
		at.user[0], at.user[2] = uint64(i%100), uint64(i)
		x.add(at, 1, 10)
	}
	sum := int64(0)
	for _, b := range x.buckets {
		sum += b.value
	}
	if sum != 10*n || len(x.buckets) > maxStacks+100 || x.folded != 5000 {
		t.Errorf("sum %d in %d stacks, %d folded", sum, len(x.buckets), x.folded)
	}
}

func TestSpace(t *testing.T) {
	s := newSpace(1 << 30)
	for _, line := range []string{
		"00400000-00500000 r-xp 00001000 08:01 42                         /usr/bin/a program\n",
		"00600000-00700000 rw-p 00000000 00:00 0 \n",
		"7f00-7e00 r-xp 0 0 0 /backwards\n", "garbage\n", "", "x-y r-xp z 0 0\n",
	} {
		if m, ok := parseMapping(line); ok {
			s.add(m)
		}
	}
	if len(s.maps) != 1 || s.maps[0].path != "/usr/bin/a program" || s.maps[0].inode != 42 {
		t.Fatalf("mappings are %+v", s.maps)
	}
	s.add(mapping{start: 0x440000, end: 0x480000, path: "/lib/new"})
	var got []string
	for _, m := range s.maps {
		got = append(got, fmt.Sprintf("%x-%x+%x", m.start, m.end, m.offset))
	}
	if want := []string{"400000-440000+1000", "440000-480000+0", "480000-500000+81000"}; !slices.Equal(got, want) {
		t.Errorf("mappings are %v, want %v", got, want)
	}
	if m := s.have(0x440000); m == nil || m.path != "/lib/new" || s.have(0x500000) != nil || s.have(0) != nil {
		t.Error("an address has another mapping")
	}
}

// A perf map is read if it belongs to the process's user.
func TestMap(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program of this test has code for amd64")
	}
	x := start(t, goProgram(t), "compiled")
	path := x.line(t)
	defer os.Remove(path)
	const hot = "JS:*hot /srv/app.js:1:13"
	q, _ := take(t, 100, Options{PIDs: []int{x.pid}})
	if got := q.Share(namedAs(hot)); got < 0.9 {
		t.Errorf("the compiled function has %.3f of the samples", got)
	}
	if os.Geteuid() != 0 {
		t.Skip("the second half needs root, to give the file to another user")
	}
	if err := os.Chown(path, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	q, taken := take(t, 50, Options{PIDs: []int{x.pid}})
	if got := q.Share(namedAs(hot)); got != 0 || !noted(taken.Notes, "belongs to user 12345") {
		t.Errorf("a file of another user gives %.3f of the names; notes %v", got, taken.Notes)
	}
}

// report is what the test's process tells that runs as nobody.
type report struct {
	Functions           []string
	Notes               []string
	CPU, Other, Blocked string
}

// nobody takes profiles without any permission.
func nobody() int {
	var own, other int
	if _, err := fmt.Sscan(os.Getenv("STACKS_PIDS"), &own, &other); err != nil {
		return 1
	}
	r := report{}
	text := func(err error) string {
		for _, known := range []error{ErrOtherUser, ErrPermission, ErrNoTracepoint} {
			if errors.Is(err, known) {
				return known.Error()
			}
		}
		return fmt.Sprint(err)
	}
	taken, err := Take(context.Background(), Options{PIDs: []int{own}, For: 3 * time.Second, Hz: 997, Kernel: true})
	r.CPU = text(err)
	if err == nil {
		r.Notes = taken.Notes
		for _, f := range taken.Profile.Function {
			r.Functions = append(r.Functions, f.Name)
		}
	}
	_, err = Take(context.Background(), Options{PIDs: []int{other}, For: time.Second})
	r.Other = text(err)
	_, err = Take(context.Background(), Options{PIDs: []int{own}, For: time.Second, Kind: OffCPU})
	r.Blocked = text(err)
	if json.NewEncoder(os.Stdout).Encode(r) != nil {
		return 1
	}
	return 0
}

func TestNobody(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this test needs root, to become nobody")
	}
	who := &syscall.Credential{Uid: 65534, Gid: 65534}
	path := goProgram(t)
	own, other := startAs(t, who, path, "work"), start(t, path, "work")
	cmd := exec.Command("/proc/self/exe")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "STACKS_ROLE=nobody", fmt.Sprintf("STACKS_PIDS=%d %d", own.pid, other.pid))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	switch {
	case r.CPU == ErrPermission.Error():
		t.Logf("kernel.perf_event_paranoid forbids everything here")
	case r.CPU != "<nil>":
		t.Errorf("CPU: %s", r.CPU)
	case !slices.Contains(r.Functions, "main.thirty"):
		t.Errorf("functions are %v, notes %v", r.Functions, r.Notes)
	case slices.ContainsFunc(r.Functions, func(f string) bool { return strings.Contains(f, "syscall_64") }):
		t.Logf("nobody may see the kernel here")
	case !noted(r.Notes, "Neither frames nor time of the kernel"):
		t.Errorf("notes are %v", r.Notes)
	}
	if r.Other != ErrOtherUser.Error() {
		t.Errorf("a process of root: %s", r.Other)
	}
	if r.Blocked != ErrPermission.Error() && r.Blocked != ErrNoTracepoint.Error() {
		t.Errorf("off-CPU: %s", r.Blocked)
	}
}

// The kernel's own library has no debugging information, and no file: nobody is told to look for
// any.
func TestNoLinesOfTheKernel(t *testing.T) {
	s := &session{opts: Options{Lines: true}, files: newFiles()}
	b := newBuilder(s)
	own := newSpace(os.Getpid())
	own.load()
	named := 0
	for i := range own.maps {
		m := &own.maps[i]
		if m.path != "[vdso]" {
			continue
		}
		if m.program = s.files.of(os.Getpid(), m); m.program == nil {
			t.Fatal("the vdso was not read")
		}
		for addr := m.start; addr < m.end; addr += 16 {
			named += len(b.frames(own, m, addr))
		}
	}
	if named == 0 {
		t.Skip("the vdso has no functions here")
	}
	b.limits()
	if len(s.notes) > 0 {
		t.Errorf("notes %q", s.notes)
	}
}
