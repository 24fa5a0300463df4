package spec

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A scenario with Files compiles to the same plan on a machine without the files.
func TestCarry(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	long := strings.Repeat("x", 1<<20)
	write("body.json", `{"a":1}`)
	write("long", long)
	think := "file:" + write("think.txt", "7ms\n")
	text := "base: http://h:1\ntargets:\n" +
		"  - {name: short, method: POST, url: /a, body: {file: body.json}}\n" +
		"  - {name: long, method: POST, url: /b, body: {file: long}}\n"
	s := Scenario{Name: write("s.yaml", text), Text: []byte(text), Think: think}
	if err := s.Carry(); err != nil {
		t.Fatal(err)
	}
	if len(s.Files) != 3 {
		t.Fatalf("it carries %d files", len(s.Files))
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"s.yaml", "body.json", "long", "think.txt"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	var there Scenario
	if err := json.Unmarshal(b, &there); err != nil {
		t.Fatal(err)
	}
	plan, err := there.Plan()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := plan.Close(); err != nil {
			t.Error(err)
		}
	}()
	if targets := plan.Targets(); len(targets) != 2 || !strings.HasSuffix(string(targets[0].Wire()), `{"a":1}`) || !strings.Contains(string(targets[1].Wire()), "1048576") {
		t.Errorf("targets %q", targets[0].Wire())
	}
	if think := plan.User(1, 0, 1).Think(plan.Targets()[0]); think != 7*time.Millisecond {
		t.Errorf("think time %v", think)
	}
	there.Files = nil
	if _, err := there.Plan(); err == nil {
		t.Error("without its files it is whole")
	}
	there.Files, there.Think = map[string][]byte{}, ""
	if _, err := there.Plan(); err == nil || !strings.Contains(err.Error(), "body.json") {
		t.Errorf("with none of its files: %v", err)
	}
	there.Think = think
	there.Text = []byte("targets:\n  - {url: 'http://h:1/'}\n")
	if _, err := there.Plan(); err == nil || !strings.Contains(err.Error(), "think.txt") {
		t.Errorf("without its think time: %v", err)
	}
	if err := (&Scenario{Name: s.Name, Text: s.Text}).Carry(); err == nil {
		t.Error("missing files are carried")
	}
}
