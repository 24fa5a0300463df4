package command

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/guard"
	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/watch"
	"github.com/redline-go/redline/lab/watch/output"
)

// watchVerb makes the program of the tests watch a command.
const watchVerb = "watch"

// TestMain makes the program of the tests the guard and a watch too: they are started with a verb.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case guard.Verb:
			os.Exit(guard.Main(os.Stdin))
		case idle:
			time.Sleep(time.Minute)
			os.Exit(0)
		case watchVerb:
			o := Options{Command: os.Args[2:], Every: 50 * time.Millisecond, NoBPF: true, JSON: "-"}
			fmt.Println(Run(context.Background(), o, Console{Out: os.Stdout, Err: os.Stderr}))
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// A command that ends by itself ends the watch with its exit code.
func TestCommandEnds(t *testing.T) {
	for _, c := range []struct {
		script, said string
		code         int
	}{
		{await + "echo hello; exit 7", "hello\nsh ended after", 7},
		{await + "kill -TERM $$", "signal: terminated", 128 + int(syscall.SIGTERM)},
		{await, "exit status 0", -1},
	} {
		file := filepath.Join(t.TempDir(), "go")
		lines, said, err := watchedBy(t, t.Context(), Options{Command: []string{"sh", "-c", c.script, file}, NoBPF: true}, tell(t, sampled, file))
		if code(err) != c.code || (err == nil) != (c.code < 0) || !strings.Contains(said, c.said) {
			t.Errorf("%s: %v, %q", c.script, err, said)
		}
		if len(lines) < 3 || lines[0].Type != "begin" || lines[len(lines)-1].End != watch.EndGone || lines[len(lines)-1].Samples == 0 {
			t.Errorf("%s: %d lines, %+v", c.script, len(lines), lines)
		}
	}
	for _, args := range [][]string{{"/no/such/program"}, {"true"}} {
		if _, said, err := watched(t, t.Context(), Options{Command: args, For: 5 * time.Second}); err == nil && !strings.Contains(said, "ended") {
			t.Errorf("%s: %v, %q", args, err, said)
		}
	}
}

// Neither a command nor what it started outlives the watch, also one that ignores SIGTERM.
func TestCommandIsEnded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	script := fmt.Sprintf(`sh -c 'trap "" TERM; echo $$ >> %[1]s; while :; do sleep 1; done' & echo $$ >> %[1]s; wait`, file)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var pids []string
	lines, _, err := watchedBy(t, ctx, Options{Command: []string{"sh", "-c", script}, Tree: true}, func(string) {
		if text, _ := os.ReadFile(file); strings.Count(string(text), "\n") == 2 {
			pids = strings.Fields(string(text))
			cancel()
		}
	})
	if err != nil || lines[len(lines)-1].End != watch.EndInterrupted {
		t.Fatal(err, lines)
	}
	if len(pids) != 2 {
		t.Fatalf("the command did not start: %v", pids)
	}
	end(t, pids)
}

func TestPIDGone(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() { _ = cmd.Process.Kill() }
	lines, said, err := watchedBy(t, t.Context(), Options{PID: cmd.Process.Pid, NoBPF: true}, func(line string) {
		if strings.Contains(line, sampled) {
			kill()
		}
	})
	kill() // also if there was no sample
	_ = cmd.Wait()
	if code(err) != ExitGone || !strings.Contains(said, fmt.Sprintf("process %d ended after", cmd.Process.Pid)) {
		t.Errorf("%v, %q", err, said)
	}
	if end := lines[len(lines)-1]; end.End != watch.EndGone || end.Samples == 0 {
		t.Errorf("%+v", end)
	}
	if _, _, err := watched(t, t.Context(), Options{PID: cmd.Process.Pid}); err == nil || !strings.Contains(err.Error(), "no process") {
		t.Errorf("a process that ended before: %v", err)
	}
}

func TestInterrupted(t *testing.T) {
	for _, limit := range []time.Duration{0, time.Minute} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		lines, _, err := watched(t, ctx, Options{PID: os.Getpid(), For: limit})
		cancel()
		if limit == 0 && err != nil || limit > 0 && code(err) != ExitInterrupted || lines[len(lines)-1].End != watch.EndInterrupted {
			t.Errorf("--for %v: %v, %+v", limit, err, lines[len(lines)-1])
		}
	}
}

// The process is found by its control socket, and the runtime is in the samples.
func TestControl(t *testing.T) {
	path := filepath.Join(t.TempDir(), "control")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var serves sync.WaitGroup
	serves.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			serves.Go(func() { answer(conn) })
		}
	})
	defer func() { _ = ln.Close(); serves.Wait() }()
	lines, _, err := watchedUntil(t, t.Context(), Options{Control: path}, `"gc_cycles":0`)
	if err != nil || lines[0].PID != os.Getpid() {
		t.Fatal(err, lines[0])
	}
	for figure, want := range map[string]float64{"goroutines": 42, "heap_bytes": 5000, "heap_live_bytes": 4000, "gc_cycles": 0} {
		if v, ok := last(lines, figure); !ok || v != want {
			t.Errorf("%s: %v %v", figure, v, ok)
		}
	}
}

// answer is a control socket that always has the same to say.
func answer(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewScanner(conn)
	for in.Scan() {
		const text = `{"schema":"redline.runtime/1","goroutines":42,"heap_bytes":5000,"live_bytes":4000,"gc_cycles":3,"cpu_seconds":5,"gc_cpu_seconds":1}`
		if _, err := io.WriteString(conn, text+"\n"); err != nil {
			return
		}
	}
}

func TestPProf(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	server := httptest.NewServer(mux)
	defer server.Close()
	lines, _, err := watchedUntil(t, t.Context(), Options{PProf: server.URL}, `"goroutines"`)
	if err != nil || lines[0].PID != os.Getpid() {
		t.Fatal(err, lines)
	}
	if v, ok := last(lines, "goroutines"); !ok || v < 2 {
		t.Errorf("%v goroutines", v)
	}
	for _, bad := range []string{"http://192.0.2.1:1", "nonsense", server.URL + "/no"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if _, _, err := watched(t, ctx, Options{PProf: bad}); err == nil || !strings.Contains(err.Error(), "--pprof") {
			t.Errorf("%s: %v", bad, err)
		}
		cancel()
	}
}

// extra is a further sampler, with a figure of its own.
type extra struct{ closed bool }

func (e *extra) Name() string             { return "extra" }
func (e *extra) Every() time.Duration     { return 0 }
func (e *extra) Close() error             { e.closed = true; return nil }
func (e *extra) Describe() []watch.Figure { return []watch.Figure{{Name: "gpu", Unit: watch.Share}} }

func (e *extra) Sample(_ context.Context, r *watch.Reading) error {
	r.Set("gpu", 0.5)
	r.Count("requests", 0, 7)
	return nil
}

func TestSampler(t *testing.T) {
	e := &extra{}
	file := filepath.Join(t.TempDir(), "watch.json")
	o := Options{PID: os.Getpid(), For: 200 * time.Millisecond, JSON: file, Prometheus: "127.0.0.1:0", Samplers: []func(int) (watch.Sampler, error){
		func(pid int) (watch.Sampler, error) {
			if pid != os.Getpid() {
				t.Errorf("process %d", pid)
			}
			return e, nil
		},
	}}
	out, said, err := watched(t, t.Context(), o)
	if err != nil || len(out) > 0 || !e.closed || !strings.Contains(said, "metrics: http://127.0.0.1:") {
		t.Errorf("%v, %v, %q, closed %v", err, out, said, e.closed)
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), `"schema":"`+output.SchemaName+`"`) || !strings.Contains(string(text), `"gpu":0.5`) || !strings.Contains(string(text), `"extra_figures"`) {
		t.Errorf("%v, %s", err, text)
	}
}

func TestUsage(t *testing.T) {
	for _, o := range []Options{
		{}, {PID: -1}, {PID: 1, Command: []string{"true"}}, {PID: 1, Every: time.Nanosecond}, {PID: 1, For: -1}, {PID: 1, Marks: []string{"x"}}, {PProf: "x", PID: 1},
	} {
		_, _, err := watched(t, t.Context(), o)
		var usage cli.UsageError
		if !errors.As(err, &usage) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// On a terminal, the panel is followed by the summary, and a command that fails by the end of
// its output.
func TestTerminal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "go")
	var errs bytes.Buffer
	out := listener{hear: tell(t, "RSS", file)}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	o := Options{Command: []string{"sh", "-c", await + "echo broken pipes; exit 9", file}, Every: 50 * time.Millisecond, NoBPF: true}
	err := Run(ctx, o, Console{Out: &out, Err: &errs, Screen: screen.Screen{Width: 100, Rewrites: true}})
	if code(err) != 9 || !strings.Contains(errs.String(), "exit status 9\nbroken pipes\n") {
		t.Errorf("%v, %q", err, errs.String())
	}
	shown := out.kept.String()
	for _, want := range []string{"(sh)", "RSS", " samples in ", "\nrss_bytes ", "mark rss-slope: not crossed"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in %q", want, shown)
		}
	}
	if strings.Contains(shown, `"type"`) {
		t.Error("JSON on a terminal")
	}
}

// Credentials of the command are not written.
func TestRedacted(t *testing.T) {
	var out bytes.Buffer
	o := Options{Command: []string{"sh", "-c", "sleep 60", "http://ann:geheim@127.0.0.1/"}, Every: 50 * time.Millisecond, For: 100 * time.Millisecond}
	if err := Run(t.Context(), o, Console{Out: &out, Err: io.Discard}); err != nil || strings.Contains(out.String(), "geheim") || !strings.Contains(out.String(), "127.0.0.1") {
		t.Errorf("%v, %s", err, out.String())
	}
}

// full is an output that takes some lines only, of those since a command wrote a line to a file.
type full struct {
	file string
	left int
}

func (f *full) Write(b []byte) (int, error) {
	if text, _ := os.ReadFile(f.file); !bytes.HasSuffix(text, []byte("\n")) {
		return len(b), nil
	}
	if f.left--; f.left < 0 {
		return 0, syscall.EPIPE
	}
	return len(b), nil
}

// An output that fails ends the watch, and the command with it.
func TestOutputFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	o := Options{Command: []string{"sh", "-c", "echo $$ > " + file + "; exec sleep 60"}, Every: 50 * time.Millisecond}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := Run(ctx, o, Console{Out: &full{file: file, left: 10}, Err: io.Discard}); !errors.Is(err, syscall.EPIPE) {
		t.Error(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := procfs.Host.Stat(pid); !procfs.Gone(err) {
		t.Errorf("process %d: %v", pid, err)
	}
}
