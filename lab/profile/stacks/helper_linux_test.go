package stacks

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// built keeps the programs: each is compiled once.
var built struct {
	sync.Mutex
	dir   string
	paths map[string]string
}

func TestMain(m *testing.M) {
	if os.Getenv("STACKS_ROLE") == "nobody" {
		os.Exit(nobody())
	}
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// compile runs a compiler, and returns the path of what it has made.
func compile(t testing.TB, name string, command func(out string) *exec.Cmd) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if path, ok := built.paths[name]; ok {
		return path
	}
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "stacks")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil { // another user runs programs of it
			t.Fatal(err)
		}
		built.dir, built.paths = dir, map[string]string{}
	}
	path := filepath.Join(built.dir, strings.ReplaceAll(name, " ", "-"))
	if out, err := command(path).CombinedOutput(); err != nil {
		t.Fatalf("compile %s: %v\n%s", name, err, out)
	}
	built.paths[name] = path
	return path
}

// goProgram compiles the program of the tests.
func goProgram(t testing.TB, args ...string) string {
	t.Helper()
	return compile(t, strings.Join(append([]string{"target"}, args...), " "), func(out string) *exec.Cmd {
		cmd := exec.Command("go", append(append([]string{"build", "-o", out}, args...), "main.go")...)
		cmd.Dir = filepath.Join("testdata", "target")
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
		return cmd
	})
}

// nativeProgram compiles the C program of the tests.
func nativeProgram(t testing.TB, args ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler: ", err)
	}
	return compile(t, strings.Join(append([]string{"native"}, args...), " "), func(out string) *exec.Cmd {
		return exec.Command(cc, append([]string{"-O1", "-o", out, filepath.Join("testdata", "native", "main.c")}, args...)...)
	})
}

// target is a running program.
type target struct {
	pid int
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// start starts a program and waits until it is ready. It ends with the test.
func start(t testing.TB, path string, args ...string) *target {
	t.Helper()
	return startAs(t, nil, path, args...)
}

func startAs(t testing.TB, who *syscall.Credential, path string, args ...string) *target {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
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
	x := &target{pid: cmd.Process.Pid, cmd: cmd, in: in, out: bufio.NewScanner(out)}
	t.Cleanup(x.end)
	if line := x.line(t); line != "ready" {
		t.Fatalf("the program says %q", line)
	}
	return x
}

func (x *target) line(t testing.TB) string {
	t.Helper()
	if !x.out.Scan() {
		t.Fatalf("the program says nothing: %v", x.out.Err())
	}
	return x.out.Text()
}

func (x *target) end() {
	_ = x.in.Close()
	_ = x.cmd.Process.Kill()
	_ = x.cmd.Wait()
}

// allowed skips a test for which the user or the machine lacks a permission.
func allowed(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, ErrPermission) || errors.Is(err, ErrNoTracepoint) {
		t.Skip("this user may not take such a profile here: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// take takes profiles until they have enough samples. It returns their sum with the samples
// as value, and the notes of all.
func take(t testing.TB, enough int64, o Options) (*asked, *Taken) {
	t.Helper()
	return takeUntil(t, o, func(q *asked) bool { return q.Total() >= enough })
}

// takeUntil takes profiles until their sum satisfies a condition: a busy machine may give the
// program little CPU time.
func takeUntil(t testing.TB, o Options, enough func(*asked) bool) (*asked, *Taken) {
	t.Helper()
	if o.Hz == 0 {
		o.Hz = 2999
	}
	o.For = 250 * time.Millisecond
	var sum *profile.Profile
	var notes []string
	for range 240 {
		taken, err := Take(context.Background(), o)
		allowed(t, err)
		if err := taken.Profile.CheckValid(); err != nil {
			t.Fatal(err)
		}
		if sum == nil {
			sum = taken.Profile
		} else if sum, err = profile.Merge([]*profile.Profile{sum, taken.Profile}); err != nil {
			t.Fatal(err)
		}
		notes = append(notes, taken.Notes...)
		q := ask(t, sum, sum.SampleType[0].Type)
		q.notes = notes
		if enough(q) {
			return q, &Taken{Profile: sum, Lost: taken.Lost, Notes: notes}
		}
	}
	t.Fatal("there were not enough samples in 240 windows")
	return nil, nil
}

// napped is the condition that both naps were seen often.
func napped(q *asked) bool {
	return min(q.Sum(namedAs("main.napShort")), q.Sum(namedAs("main.napLong"))) >= 20
}

// asked is a profile that is asked about one of its values.
type asked struct {
	p     *profile.Profile
	value int
	keep  func(*profile.Sample) bool
	notes []string // only of [takeUntil]
}

func ask(t testing.TB, p *profile.Profile, value string) *asked {
	t.Helper()
	at := slices.IndexFunc(p.SampleType, func(v *profile.ValueType) bool { return v.Type == value })
	if at < 0 {
		t.Fatalf("the profile has no %s", value)
	}
	return &asked{p: p, value: at, keep: func(*profile.Sample) bool { return true }}
}

// Select is the part with the samples that keep selects.
func (q asked) Select(keep func(*profile.Sample) bool) *asked {
	q.keep = keep
	return &q
}

func (q *asked) Unit() string { return q.p.SampleType[q.value].Unit }

func (q *asked) Total() int64 { return q.Sum(func(*profile.Location) bool { return true }) }

// Sum is the value of the samples with a matching place in their stack.
func (q *asked) Sum(match func(*profile.Location) bool) (sum int64) {
	for _, s := range q.p.Sample {
		if q.keep(s) && slices.ContainsFunc(s.Location, match) {
			sum += s.Value[q.value]
		}
	}
	return sum
}

// Share is Sum as a part of the total; 0 if that is 0.
func (q *asked) Share(match func(*profile.Location) bool) float64 {
	return float64(q.Sum(match)) / float64(max(q.Total(), 1))
}

// namedAs matches functions by name, also inlined ones.
func namedAs(names ...string) func(*profile.Location) bool {
	return func(l *profile.Location) bool {
		return slices.ContainsFunc(l.Line, func(x profile.Line) bool { return slices.Contains(names, x.Function.Name) })
	}
}

func ofKernel(l *profile.Location) bool { return l.Mapping != nil && l.Mapping.File == "[kernel]" }

// trace is the stack of a sample, innermost first.
func trace(s *profile.Sample) (out []string) {
	for _, l := range s.Location {
		for _, x := range l.Line {
			out = append(out, x.Function.Name)
		}
	}
	return out
}

func noted(notes []string, text string) bool {
	return slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, text) })
}
