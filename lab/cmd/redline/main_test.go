package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/suite"
)

// outputOf runs the command, and returns its exit code, standard output and standard
// error.
func outputOf(t *testing.T, ctx context.Context, args ...string) (code int, out, said string) {
	t.Helper()
	return outputTo(t, ctx, tempFile(t), args...)
}

// outputTo is outputOf with the file of standard error, which can be read while the command runs.
func outputTo(t *testing.T, ctx context.Context, stderr *os.File, args ...string) (code int, out, said string) {
	t.Helper()
	stdout := tempFile(t)
	oldOut, oldErr := os.Stdout, os.Stderr
	defer stdout.Close()
	defer stderr.Close()
	os.Stdout, os.Stderr = stdout, stderr
	code = run(ctx, args)
	os.Stdout, os.Stderr = oldOut, oldErr
	return code, read(t, stdout.Name()), read(t, stderr.Name())
}

// tempFile returns an open file that ends with the test.
func tempFile(t *testing.T) *os.File {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "output")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

// stderrOf is outputOf without standard output.
func stderrOf(t *testing.T, args ...string) (int, string) {
	t.Helper()
	code, _, said := outputOf(t, t.Context(), args...)
	return code, said
}

func TestUsageErrors(t *testing.T) {
	out := t.TempDir()
	for _, c := range []struct {
		args string
		want string
	}{
		{"bench --subjects nethttp,nginx2 --out " + out, `unknown subject "nginx2"; known: nethttp, redline, fasthttp`},
		{"bench --workloads plain --out " + out, `unknown workload "plain"; known: plaintext, json`},
		{"bench --baseline echo --subjects nethttp --out " + out, `unknown baseline "echo"`},
		{"bench --subjects nethttp,nethttp", "a subject is named twice"},
		{"bench --subjects=", "no subject is named"},
		{"bench --connections 0", "--connections 0: want at least 1"},
		{"bench --blocks 0", "--blocks 0: want at least 1"},
		{"bench --window 1ms", "--window 1ms: want at least 100ms"},
		{"bench --window fast", "see redline bench --help"},
		{"bench --server-cpus 0-", "--server-cpus 0-"},
		{"bench --server-cpus 9999", "CPU 9999 is not one of the allowed CPUs"},
		{"bench --server-cpus 0 --generator-cpus 0", "CPU 0 is used by both sides"},
		{"bench --share-cpus", "--share-cpus: the two sides share no CPU"},
		{"bench --server-cpus 0 --generator-cpus 0 --share-cpus --workloads plaintext", "workload plaintext has no fixed rate"},
		{"bench --quick --full", "--quick and --full: use one of the two"},
		{"bench nethttp", "unknown command"},
		{"report", "name one results file"},
		{"nonsense", "unknown command"},
		{"laod -d 5s http://127.0.0.1:1/", `unknown command "laod"; did you mean load?`},
		{"attack -rate=50", `unknown command "attack"; did you mean load?`},
		{"load --durration 5s", "unknown flag: --durration; did you mean --duration?"},
		{"env --color sometimes", "--color sometimes: write auto, always or never"},
	} {
		t.Run(c.args, func(t *testing.T) {
			code, said := stderrOf(t, strings.Fields(c.args)...)
			if code != 2 || !strings.Contains(said, c.want) {
				t.Errorf("exit code %d, %q; want 2, %q", code, said, c.want)
			}
		})
	}
}

// TestModesOutsideOfACheckout leaves out the workloads whose rates need the subject limit.
func TestModesOutsideOfACheckout(t *testing.T) {
	t.Chdir(t.TempDir())
	mine := "name: mine\ncommand: [sleep, \"1\"]\nurl: http://{addr}\n"
	if err := os.WriteFile("mine.yaml", []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	var b benchFlags
	cmd := b.command()
	said := new(strings.Builder)
	cmd.SetErr(said)
	if err := cmd.ParseFlags([]string{"--subject-file", "mine.yaml", "--subjects", "mine"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.resolve(cmd); err != nil {
		t.Fatal(err)
	}
	if want := []string{"plaintext", "pipeline16"}; !slices.Equal(b.Workloads, want) || !strings.Contains(said.String(), "at25") {
		t.Errorf("workloads %v, want %v; said %q", b.Workloads, want, said)
	}
}

func TestModes(t *testing.T) {
	for _, c := range []struct {
		args   string
		mode   string
		window time.Duration
		blocks int
		loads  int
	}{
		{"", "quick", 600 * time.Millisecond, 9, 3},
		{"--quick --window 2s", "quick", 2 * time.Second, 9, 3},
		{"--full", "full", 5 * time.Second, 10, 10},
		{"--full --blocks 3", "full", 5 * time.Second, 3, 10},
		{"--workloads all", "custom", 5 * time.Second, 10, len(suite.Expand([]string{"all"}))},
		{"--workloads at-all,json", "custom", 5 * time.Second, 10, 5},
		{"--workloads json --blocks 2", "custom", 5 * time.Second, 2, 1},
		{"--subjects nethttp,limit", "quick", 600 * time.Millisecond, 9, 3},
	} {
		t.Run(c.args, func(t *testing.T) {
			var b benchFlags
			cmd := b.command()
			if err := cmd.ParseFlags(strings.Fields(c.args)); err != nil {
				t.Fatal(err)
			}
			if _, err := b.resolve(cmd); err != nil {
				t.Fatal(err)
			}
			if b.Mode != c.mode || b.Window != c.window || b.Blocks != c.blocks || len(b.Workloads) != c.loads {
				t.Errorf("mode %s, window %v, %d blocks, workloads %v; want %+v", b.Mode, b.Window, b.Blocks, b.Workloads, c)
			}
			if b.Baseline != "nethttp" {
				t.Errorf("baseline %q", b.Baseline)
			}
		})
	}
}

func TestReportRefusesWhatItCannotRead(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"damaged": {`{"schema":"redline.results","version":1,"runs":[`, "is damaged at byte"},
		"version": {`{"schema":"redline.results","version":99}`, "version 99"},
		"other":   {`{"hello":"world"}`, "is no results file"},
	} {
		file := filepath.Join(dir, name+".json")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, said := stderrOf(t, "report", file); code != 1 || !strings.Contains(said, c.want) {
			t.Errorf("%s: exit code %d, %q; want 1, %q", name, code, said, c.want)
		}
	}
	if code, said := stderrOf(t, "report", "--percentiles", "half", "run.json"); code != 2 || !strings.Contains(said, `--percentiles: "half" is no percentile`) {
		t.Errorf("exit code %d, %s", code, said)
	}
	if code, said := stderrOf(t, "report", filepath.Join(dir, "absent.json")); code != 1 || !strings.Contains(said, "no such file") {
		t.Errorf("absent: exit code %d, %q", code, said)
	}
}

func TestReportWritesThePage(t *testing.T) {
	dir := t.TempDir()
	if err := results.Save(filepath.Join(dir, resultsName), &results.File{}); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(dir, "page.html")
	if code, said := stderrOf(t, "report", "--html", page, dir); code != 0 {
		t.Fatalf("exit code %d, %q", code, said)
	}
	if text, err := os.ReadFile(page); err != nil || !strings.HasPrefix(string(text), "<!doctype html>") {
		t.Errorf("page begins with %.40q, %v", text, err)
	}
}

// The same command renders a load run: the schema distinguishes it from a comparison.
func TestReportOfALoad(t *testing.T) {
	dir := t.TempDir()
	run, page := filepath.Join(dir, "run.json"), filepath.Join(dir, "page.html")
	text := `{"schema":"redline.load","version":1,"url":"http://127.0.0.1:8080/x","config":{"method":"GET","connections":3},"seconds":2,"series":[{"t":1,"rate":5},{"t":2,"rate":6}]}`
	if err := os.WriteFile(run, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, said := outputOf(t, t.Context(), "report", run)
	if code != 0 || !strings.Contains(out, "GET http://127.0.0.1:8080/x\n3 connections") {
		t.Errorf("exit code %d, %q, %q", code, out, said)
	}
	if code, said := stderrOf(t, "report", "--html", page, run); code != 0 {
		t.Fatalf("exit code %d, %q", code, said)
	}
	if html, err := os.ReadFile(page); err != nil || !strings.Contains(string(html), `data-page="run"`) {
		t.Errorf("page begins with %.40q, %v", html, err)
	}
	if code, said := stderrOf(t, "report", "--markdown", run); code != 2 || !strings.Contains(said, "--markdown is for the table of a comparison") {
		t.Errorf("exit code %d, %q", code, said)
	}
	if err := os.WriteFile(run, []byte(`{"schema":"redline.load","version":99}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, said := stderrOf(t, "report", run); code != 1 || !strings.Contains(said, "has version 99 of the schema") {
		t.Errorf("exit code %d, %q", code, said)
	}
}

// freeAddr returns an address of this machine that nobody listens on. Its host is one of the 16 million
// that are this machine: nobody else takes the port before the server that gets it, as connections do
// that begin at 127.0.0.1.
func freeAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254)))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// TestMain runs the command when the test binary is started as one: a command that
// starts its own executable, as a guard or a generator, must not run the tests again.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == lockedVerb {
		fmt.Fprintln(os.Stderr, serveLocked(os.Args[2]))
		os.Exit(1)
	}
	if len(os.Args) == 4 && os.Args[1] == memoryVerb {
		fmt.Fprintln(os.Stderr, serveMemory(os.Args[2], os.Args[3]))
		os.Exit(1)
	}
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		main()
	}
	os.Exit(runTests(m))
}

// runTests runs the tests with a directory for what several of them build.
func runTests(m *testing.M) int {
	var err error
	if programs, err = os.MkdirTemp("", "redline-programs-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := os.RemoveAll(programs); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// lockedVerb makes the test binary a server whose requests wait for one another.
const lockedVerb = "serve-locked"

// serveLocked serves at an address until the process is ended.
func serveLocked(addr string) error {
	var mu sync.Mutex
	return http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		time.Sleep(2 * time.Millisecond)
		mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	}))
}

// What is joined to an exit code was printed by nobody.
func TestBesidesExitCodes(t *testing.T) {
	lost := errors.New("lost")
	for want, err := range map[string]error{
		"":           errors.Join(cli.ExitCode(3), nil),
		"lost":       errors.Join(errors.Join(cli.ExitCode(3), lost), cli.ExitCode(1)),
		"lost\nlost": errors.Join(lost, cli.ExitCode(3), lost),
	} {
		got := ""
		if rest := besides(err); rest != nil {
			got = rest.Error()
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if err := besides(fmt.Errorf("it is explained: %w", cli.ExitCode(3))); err != nil {
		t.Error(err)
	}
}
