package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/trace"
)

func TestTrace(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.trace")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		said string
	}{
		{[]string{"trace"}, 2, "name a trace"},
		{[]string{"trace", empty}, 1, "the trace is empty"},
		{[]string{"trace", "a", "b"}, 2, "name one file"},
		{[]string{"trace", "a", "--", "b"}, 2, "name one file"},
		{[]string{"trace", "--", "./server"}, 2, "say where ./server serves its traces"},
		{[]string{"trace", "--pprof", "http://127.0.0.1:1", "--rate", "5"}, 2, "--load URL"},
		{[]string{"gotrace"}, 2, "trace"},
	} {
		code, out, said := outputOf(t, t.Context(), c.args...)
		if code != c.code || out != "" || !strings.Contains(said, c.said) {
			t.Errorf("%s: exit code %d, %q, %q", c.args, code, out, said)
		}
	}
}

// TestTraceDocs runs the commands of docs/trace.md with the program of the page: the reports name
// what the page says that they name.
func TestTraceDocs(t *testing.T) {
	once(t)
	program, lines := blocks(t, docs+"trace.md", "go"), shellLines(t, docs+"trace.md")
	if len(program) != 1 || len(lines) < 3 {
		t.Fatalf("%d programs, %d commands", len(program), len(lines))
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": program[0], "go.mod": "module till\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", "till", ".")
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program of the page: %v\n%s", err, out)
	}
	addr := freeAddr(t)
	ran := 0
	for _, line := range lines {
		args := words(strings.ReplaceAll(line, "127.0.0.1:8080", addr))
		if args[0] != "redline" || strings.Contains(line, "/run/") {
			continue // jq, and the sockets of other services
		}
		ran++
		code, out, said := outputOf(t, t.Context(), args[1:]...)
		if code != 0 || !strings.Contains(out, "sync.(*Mutex).Lock in main.(*journal).append") {
			t.Fatalf("%s: exit code %d\n%s\n%s", line, code, out, said)
		}
	}
	if ran < 2 {
		t.Errorf("%d commands ran", ran)
	}
	var r trace.Report
	data, err := os.ReadFile("order.json")
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	if g := r.Groups[0]; g.Name != "main.(*journal).order" || g.Spent[0].Call != "sync.(*Mutex).Lock in main.(*journal).append" {
		t.Errorf("%+v", g)
	}
}
