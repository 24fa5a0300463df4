package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPlot(t *testing.T) {
	url, _ := serve(t, hello)
	dir := t.TempDir()
	run := filepath.Join(dir, "run.json")
	if code, _, said := loadOf(t, t.Context(), short("--json", run, url)...); code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	picture := filepath.Join(dir, "picture.svg")
	if code, said := stderrOf(t, "plot", "--out", picture, run, "again="+run); code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	text, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), "<svg ") || !strings.Contains(string(text), ">again<") {
		t.Errorf("the picture is %.200s", text)
	}
	if code, said := stderrOf(t, "plot", "--out", filepath.Join(dir, "picture.PNG"), run); code != 2 || !strings.Contains(said, "the picture is SVG, not PNG: write") {
		t.Errorf("a picture of another kind: exit code %d, %s", code, said)
	}
	for name, c := range map[string]struct {
		text, want string
		code       int
	}{
		"none":    {"", "name at least one run", 2},
		"absent":  {"-", "no such file", 1},
		"no JSON": {"x", "is not a run", 1},
		"other":   {`{"schema":"redline.results","version":1}`, "is not a run of redline load", 1},
		"newer":   {`{"schema":"redline.load","version":99}`, "version 99", 1},
		"damaged": {`{"schema":"redline.load","version":1,"seconds":"x"}`, "is damaged", 1},
	} {
		args := []string{"plot"}
		if c.text != "" {
			path := filepath.Join(dir, "bad.json")
			if c.text == "-" {
				path = filepath.Join(dir, "absent.json")
			} else if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, path)
		}
		if code, said := stderrOf(t, args...); code != c.code || !strings.Contains(said, c.want) {
			t.Errorf("%s: exit code %d, %q; want %d, %q", name, code, said, c.code, c.want)
		}
	}
}
