package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// quickly are the flags of a short diagnosis. Its figures are not for reliable conclusions.
var quickly = []string{"diagnose", "--most", "16", "--step", "300ms", "--warmup", "100ms", "--quiet"}

// diagnosed runs a short diagnosis whose report is right. Tests of other packages take the CPUs for a
// second now and then: what a short one measures is then true of the machine and not of the server,
// and the report need not doubt it. It is repeated, up to three times, each time for twice as long.
func diagnosed(t *testing.T, right func(out string) bool, args ...string) {
	t.Helper()
	for i, window := 0, time.Second; ; i, window = i+1, 2*window {
		code, out, said := outputOf(t, t.Context(), slices.Concat(quickly, []string{"--window", window.String()}, args)...)
		measured := code == 0 || code == 4
		switch {
		case measured && right(out):
			return
		case !measured || i == 3:
			t.Fatalf("%q: exit code %d\n%s\n%s", args, code, out, said)
		}
		t.Logf("not right with %v: exit code %d\n%s", window, code, out)
	}
}

// diagnosis is what the test reads of a report.
type diagnosis struct {
	Schema string `json:"schema"`
	Causes []struct {
		ID       string   `json:"id"`
		Evidence []string `json:"evidence"`
		Sites    []struct {
			Func string `json:"func"`
		} `json:"sites"`
	} `json:"causes"`
	Loads []struct {
		Name string `json:"name"`
	} `json:"loads"`
	Server struct {
		Language string `json:"language"`
	} `json:"server"`
}

// locked reports whether the first cause is the lock, at its place.
func (d *diagnosis) locked() bool {
	return len(d.Causes) > 0 && d.Causes[0].ID == "lock-contention" && len(d.Causes[0].Sites) > 0 && strings.Contains(d.Causes[0].Sites[0].Func, "serveLocked")
}

// A server whose requests wait for one another: the cause is named first, the report has all
// forms, and recorded evidence gives the same causes.
func TestDiagnose(t *testing.T) {
	once(t)
	dir, addr := t.TempDir(), freeAddr(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + addr + "/"
	files := map[string]string{}
	var args []string
	for _, kind := range []string{"json", "markdown", "html", "record"} {
		files[kind] = filepath.Join(dir, "report."+kind)
		args = append(args, "--"+kind, files[kind])
	}
	var r diagnosis
	var text string
	right := func(out string) bool {
		text, r = read(t, files["json"]), diagnosis{}
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(out, "1. Requests wait for a lock") && r.locked()
	}
	diagnosed(t, right, append(args, "--no-trials", url, "--", exe, lockedVerb, addr)...)
	if r.Schema != "redline.diagnosis/1" || len(r.Loads) != 3 || r.Server.Language != "go" || len(r.Causes[0].Evidence) == 0 {
		t.Errorf("%s", text[:min(len(text), 4000)])
	}
	for kind, want := range map[string]string{"markdown": "# Diagnosis of", "html": "lock-contention"} {
		if text, err := os.ReadFile(files[kind]); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	code, again, said := outputOf(t, t.Context(), "diagnose", "--from", files["record"], "--fail-over", "0.1")
	if code != 3 && code != 4 || !strings.Contains(again, "1. Requests wait for a lock") {
		t.Errorf("exit code %d\n%s\n%s", code, again, said)
	}
}

// A process that cannot be looked at still has an answer, and one that answers nothing is an error.
func TestDiagnoseRefused(t *testing.T) {
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	defer broken.Close()
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage")
	if err := os.WriteFile(garbage, []byte("not evidence"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		said string
	}{
		{nil, 2, "name one URL"},
		{[]string{"http://a/", "http://b/"}, 2, "name one URL"},
		{[]string{"--most", "1", broken.URL}, 2, "at least 4 connections"},
		{[]string{"--window", "1ms", broken.URL}, 2, "at least 1s"},
		{[]string{"--trials", "--no-trials", broken.URL}, 2, "leave out one"},
		{[]string{"--from", garbage, broken.URL}, 2, "leave out the URL"},
		{[]string{"--from", garbage}, 1, "not what --record wrote"},
		{[]string{"--from", garbage, "--json", garbage}, 2, "garbage"},
		{[]string{broken.URL}, 1, "500"},
		{[]string{"http://" + freeAddr(t) + "/"}, 1, "refused"},
		{[]string{"http://" + freeAddr(t) + "/", "--", "sh", "-c", "echo no license; exit 7"}, 1, "no license"},
		{[]string{"http://" + freeAddr(t) + "/", "--", filepath.Join(dir, "none")}, 1, "no such file"},
	} {
		code, out, said := outputOf(t, t.Context(), append([]string{"diagnose"}, c.args...)...)
		if code != c.code || !strings.Contains(said, c.said) || out != "" {
			t.Errorf("%q: exit code %d, %q, %q; want %d and %q", c.args, code, out, said, c.code, c.said)
		}
	}
}

// TestDiagnoseDocs runs the cases of docs/diagnose.md, in short: each names the cause whose section
// the page refers to.
func TestDiagnoseDocs(t *testing.T) {
	once(t)
	page := docs + "diagnose.md"
	programs := slices.DeleteFunc(blocks(t, page, "go"), func(text string) bool { return !strings.HasPrefix(text, "package main") })
	if len(programs) != 1 {
		t.Fatalf("%d programs", len(programs))
	}
	dir, lines := t.TempDir(), shellLines(t, page)
	for name, text := range map[string]string{"main.go": programs[0], "go.mod": "module shop\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", "shop", ".").CombinedOutput(); err != nil {
		t.Fatalf("build the program of the page: %v\n%s", err, out)
	}
	addr, payments := freeAddr(t), freeAddr(t)
	service := exec.CommandContext(t.Context(), "./shop", "-payment-service", "-payments", payments)
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := service.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = service.Wait() // it was killed
	}()
	causes := map[string]string{"/checkout": "pool-too-small-http", "/search": "regexp-compile", "/feed": "small-writes"}
	ran := 0
	for _, line := range lines {
		args := words(strings.ReplaceAll(line, "127.0.0.1:8080", addr))
		i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "http://"+addr) })
		if !slices.Contains(args, "--") || i < 0 || !slices.Contains(args, "./shop") {
			continue
		}
		want := causes[strings.TrimPrefix(args[i], "http://"+addr)]
		if want == "" {
			continue // the example of the introduction
		}
		ran++
		right := func(out string) bool { return strings.Contains(out, "["+want+"]") }
		diagnosed(t, right, slices.Concat([]string{"--no-trials"}, args[2:], []string{"-addr", addr, "-payments", payments})...)
	}
	if ran != len(causes) {
		t.Errorf("%d commands ran", ran)
	}
}
