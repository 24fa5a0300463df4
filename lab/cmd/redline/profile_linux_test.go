package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/profile"
	"github.com/redline-go/redline/lab/profile/profiletest"
)

// spend uses the CPU for a request.
func spend(w http.ResponseWriter, _ *http.Request) {
	sum := sha256.Sum256(nil)
	for range 3000 {
		sum = sha256.Sum256(sum[:])
	}
	fmt.Fprintf(w, "%x", sum[:1])
}

// profiled is a server with net/http/pprof that uses the CPU for each request.
func profiled(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/", spend)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// profileOf runs a verb, and checks that it leaves no process. It repeats a verb that found a process
// without CPU time: on a busy machine there may be none for it in a second.
func profileOf(t *testing.T, args ...string) (code int, out, said string) {
	t.Helper()
	before := len(probe.Tree(os.Getpid()))
	for range 6 {
		code, out, said = outputOf(t, t.Context(), args...)
		if !strings.Contains(said, "used no CPU") {
			break
		}
	}
	if left := len(probe.Tree(os.Getpid())); left > before {
		t.Errorf("%d processes left", left-before)
	}
	return code, out, said
}

func TestProfileUsage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.pprof")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"profile", "name what to profile"},
		{"profile --for 10", "a duration needs a unit"},
		{"profile --pid 1 --for 100ms", "--for 100ms: write a time from 1s"},
		{"profile --pid -1", "--pid -1"},
		{"profile --pid 1 -- true", "use one of the two"},
		{"profile --pid 1 --kind soup", `"soup" is no profile`},
		{"profile --pid 1 --kind cpu,cpu", "cpu is named twice"},
		{"profile --pid 1 --rate 5", "--rate is for a load: name its URL with --load"},
		{"profile --pprof soup", `"soup" is no URL`},
		{"profile --pid 1 --list (", "--list: error parsing regexp"},
		{"profile --pid 1 --top 0", "--top 0"},
		{"profile --pid 1 --hz 0", "--hz 0"},
		{"profile --pid 1 --html x --speedscope x", "both would be written to x"},
		{"profile --pid 1 --html " + file + ".d/x", "there is no directory"},
		{"profile --diff " + file, "--diff compares two files"},
		{"profile --diff --calls " + file + " " + file, "leave out the other outputs"},
		{"profile --pid 1 " + file, "use one of the two"},
		{"profile " + file + " --pprof-out " + file, "this is the file that is read"},
		{"baseline", ""},
		{"baseline soup", `unknown command "soup" of redline baseline`},
		{"baseline save", "name the baseline"},
		{"baseline save ../x --pid 1", "a name has letters"},
		{"baseline save x", "name what to measure"},
		{"baseline save x --pid 1 --windows 2", "--windows 2: want 3 to 50"},
		{"baseline save x " + file, "at least 3 windows"},
		{"baseline compare x --with y --pid 1", "leave out what to measure"},
		{"baseline compare x --with y --limit -1", "--limit -1"},
		{"baseline save x --pid 1 --rules " + file, "the file has 0 rules"},
		{"baseline remove", "name the baseline to remove"},
	} {
		code, said := stderrOf(t, strings.Fields(c.args)...)
		if want := 2; c.want != "" && (code != want || !strings.Contains(said, c.want)) {
			t.Errorf("%s: exit code %d, %q; want 2, %q", c.args, code, said, c.want)
		}
	}
	for _, args := range []string{"profile " + file, "profile none.pprof", "baseline compare none --with other", "profile --pid 99999999 --kind cpu"} {
		if code, said := stderrOf(t, strings.Fields(args)...); code != 1 || said == "" {
			t.Errorf("%s: exit code %d, %q", args, code, said)
		}
	}
}

// A profile beside a load knows the cost of a request, and so do its files.
func TestProfileBesideLoad(t *testing.T) {
	url := profiled(t)
	t.Chdir(t.TempDir())
	code, out, said := profileOf(t, "profile", "--pprof", url, "--kind", "cpu,goroutine", "--for", "1s", "--load", url+"/work", "-c", "4", "--warmup", "100ms", "--list", "spend$", "--calls",
		"--html", "a.html", "--pprof-out", "a.pprof", "--speedscope", "a.json", "--collapsed", "a.txt")
	if code != 0 {
		t.Fatalf("exit code %d, %s%s", code, out, said)
	}
	for _, want := range []string{"requests/s", "a request", "== cpu", "== goroutine", "redline.spend", "sha256.Sum256(sum[:])", "cum/req"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	data, err := os.ReadFile("a.cpu.pprof")
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	w, err := profile.WindowOf(p)
	if err != nil || w.Requests < 1 || w.Seconds < 0.5 || w.Module == "" {
		t.Errorf("%+v, %v", w, err)
	}
	for _, name := range []string{"a.cpu.html", "a.cpu.json", "a.cpu.txt", "a.goroutine.html", "a.goroutine.pprof"} {
		if info, err := os.Stat(name); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if code, out, said = profileOf(t, "profile", "--diff", "a.cpu.pprof", "a.cpu.pprof", "--html", "diff.html"); code != 0 || !strings.Contains(out, "for each request") {
		t.Errorf("exit code %d, %s%s", code, out, said)
	}
}

// Without a load there are no requests. Without an endpoint a process is profiled from outside.
func TestProfileAlone(t *testing.T) {
	url := profiled(t)
	code, out, said := profileOf(t, "profile", "--pprof", url, "--kind", "goroutine", "--for", "1s")
	if code != 0 || strings.Contains(out, "a request") || !strings.Contains(out, "goroutine:") {
		t.Errorf("exit code %d, %s%s", code, out, said)
	}
	code, out, said = profileOf(t, "profile", "--for", "1s", "--", "sh", "-c", "while :; do :; done")
	switch {
	case code == 1 && strings.Contains(said, "not allowed"):
		t.Skipf("the kernel does not allow profiles: %s", said)
	case code != 0 || !strings.Contains(out, "cpu:"):
		t.Errorf("exit code %d, %s%s", code, out, said)
	}
	if code, _, said = profileOf(t, "profile", "--for", "1s", "--pprof", "http://127.0.0.1:1", "--", "false"); code != 1 || !strings.Contains(said, "ended before it could be profiled") {
		t.Errorf("exit code %d, %s", code, said)
	}
}

// windows writes profiles of a server that spends so much on JSON.
func windows(t *testing.T, name string, n, json int) (files []string) {
	t.Helper()
	for i := range n {
		p := profiletest.Of("cpu", "nanoseconds", fmt.Sprintf("main.f;encoding/json.Marshal %d\nmain.f;main.g %d\n", json*1e6+i*1000, 70_000_000-i*1500))
		profile.Window{Seconds: 2, Requests: 1000}.Mark(p)
		files = append(files, fmt.Sprintf("%s%d.pprof", name, i))
		f, err := os.Create(files[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Write(f); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestBaseline(t *testing.T) {
	t.Chdir(t.TempDir())
	run := func(want int, words string, args ...string) (out string) {
		t.Helper()
		code, out, said := profileOf(t, append([]string{"baseline"}, args...)...)
		if code != want || !strings.Contains(out+said, words) {
			t.Errorf("%s: exit code %d, want %d and %q\n%s%s", args, code, want, words, out, said)
		}
		return out
	}
	run(0, "no baselines in .redline/baselines", "list")
	run(0, "saved .redline/baselines/main.json", append([]string{"save", "main"}, windows(t, "before", 8, 30)...)...)
	run(0, "no change beyond noise", append([]string{"compare", "main"}, windows(t, "same", 8, 30)...)...)
	run(3, "WORSE", append([]string{"compare", "main", "--json", "c.json"}, windows(t, "worse", 8, 45)...)...)
	run(0, "json.Marshal", append([]string{"compare", "main", "--limit", "50"}, windows(t, "worse", 8, 45)...)...)
	if text, err := os.ReadFile("c.json"); err != nil || !strings.Contains(string(text), `"worse": true`) {
		t.Errorf("%s, %v", text, err)
	}
	run(0, "saved", append([]string{"save", "feature"}, windows(t, "worse", 8, 45)...)...)
	run(3, "rule twice", "compare", "main", "--with", "feature", "--rules", textFile(t, "rules.yaml", "rules: [{name: twice, metric: cpu, function: json, times: 1.2}]"))
	if out := run(0, "main", "list"); !strings.Contains(out, "feature") || !strings.Contains(out, "cpu (8 windows)") {
		t.Error(out)
	}
	run(0, "removed", "remove", "feature")
	run(1, "there is no such baseline", "compare", "main", "--with", "feature")
	builtin := run(0, "rules:", "rules")
	run(0, "saved", append([]string{"save", "other", "--rules", textFile(t, "builtin.yaml", builtin)}, windows(t, "w", 3, 30)...)...)
}

// A baseline is measured window by window.
func TestBaselineOfProcess(t *testing.T) {
	once(t)
	url := profiled(t)
	t.Chdir(t.TempDir())
	code, out, said := profileOf(t, "baseline", "save", "main", "--pprof", url, "--for", "1s", "--windows", "3", "--load", url+"/work", "-c", "4", "--warmup", "50ms")
	if code != 0 || !strings.Contains(out, "cpu: 3 windows, ") || !strings.Contains(out, "a request") || !strings.Contains(said, "window 3 of 3") {
		t.Errorf("exit code %d, %s%s", code, out, said)
	}
}

// pidOf returns the process that listens at an address.
func pidOf(t *testing.T, addr string) string {
	t.Helper()
	port, err := strconv.Atoi(addr[strings.LastIndexByte(addr, ':')+1:])
	if err != nil {
		t.Fatal(err)
	}
	pids, err := probe.Listening(port)
	if err != nil || len(pids) == 0 {
		t.Fatalf("processes at %s: %v, %v", addr, pids, err)
	}
	return strconv.Itoa(pids[0])
}
