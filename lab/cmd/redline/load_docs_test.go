package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/internal/pace"
	"github.com/redline-go/redline/lab/load/drive"
)

const docs = "../../../docs/"

// inExamples makes a directory with the files that examples name the present one.
func inExamples(t *testing.T, more map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	files := map[string]string{
		"accounts.csv": "name,password\nann,x\nbob,y\ncid,z\n", "users.csv": "name\nann\n", "order.json": `{"item": 1}`,
		"order.tmpl": "${n}", "think.txt": "1ms\n", "targets.yaml": "targets: [{url: /}]\n",
	}
	for name, text := range more {
		files[name] = text
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// blocks are the fenced blocks of a document in one language.
func blocks(t *testing.T, document, language string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		all = append(all, m[1])
	}
	return all
}

// everything is a server that the examples of docs/scenario.md are content with.
func everything(t *testing.T) func(http.ResponseWriter, *http.Request, int64) {
	return func(w http.ResponseWriter, r *http.Request, _ int64) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return // the run is over
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Cart-Id", "7")
		if strings.HasSuffix(r.URL.Path, "/payment") {
			w.WriteHeader(http.StatusCreated)
		}
		if err := json.NewEncoder(w).Encode(map[string]any{"id": 5, "state": "paid", "access_token": "t"}); err != nil {
			t.Log(err) // the run is over
		}
	}
}

// Every example of the reference plays, and nothing of it fails.
func TestLoadScenarioExamples(t *testing.T) {
	url, _ := serve(t, everything(t))
	base := strings.TrimSuffix(url, "/hello")
	examples := map[string][]string{}
	for _, language := range []string{"yaml", "vegeta"} {
		examples[language] = blocks(t, docs+"scenario.md", language)
	}
	inExamples(t, nil)
	n := 0
	for language, list := range examples {
		for _, text := range list {
			n++
			name := "example." + strings.NewReplacer("vegeta", "http").Replace(language)
			if err := os.WriteFile(name, []byte(strings.ReplaceAll(text, "http://127.0.0.1:8080", base)), 0o600); err != nil {
				t.Fatal(err)
			}
			code, out, said := loadOf(t, t.Context(), short("-d", pace.Window(500*time.Millisecond).String(), "--targets", name, "--json", "-")...)
			if out == "" {
				t.Errorf("exit code %d, %s of\n%s", code, said, text)
				continue
			}
			d := documentOf(t, out)
			for _, target := range d.Targets {
				if len(target.Checks) > 0 || target.Errors > 0 {
					t.Errorf("%+v of\n%s", target, text)
				}
			}
			if code != 0 || d.Requests == 0 || len(d.Errors) > 0 {
				t.Errorf("exit code %d, %d requests, errors %v, %s of\n%s", code, d.Requests, d.Errors, said, text)
			}
		}
	}
	if n < 5 {
		t.Errorf("%d examples", n)
	}
}

// words splits a line as a shell does: quotes hold together, # and | end it.
func words(line string) (out []string) {
	for _, m := range regexp.MustCompile(`'([^']*)'|"([^"]*)"|(#.*|\|.*)|([^\s'"#|]+)`).FindAllStringSubmatch(line, -1) {
		switch {
		case m[3] != "":
			return out
		case m[0][0] == '\'':
			out = append(out, m[1])
		case m[0][0] == '"':
			out = append(out, m[2])
		default:
			out = append(out, m[4])
		}
	}
	return out
}

// echoed is a command behind a pipe.
var echoed = regexp.MustCompile(`^echo '([^']*)' \| (redline load .*)$`)

// Every command of the pages is one: no sentence says what to write instead. There
// is no server to load.
func TestLoadDocsCommands(t *testing.T) {
	var lines []string
	files := map[string]string{}
	for _, page := range []string{"load.md", "scenario.md"} {
		for _, block := range blocks(t, docs+page, "sh") {
			for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", " ")) {
				if line = strings.TrimSpace(line); strings.HasPrefix(line, "redline load ") || echoed.MatchString(line) {
					lines = append(lines, strings.ReplaceAll(line, "127.0.0.1:8080", "127.0.0.1:1"))
				}
			}
		}
		for _, block := range blocks(t, docs+page, "yaml") {
			if first, rest, _ := strings.Cut(block, "\n"); strings.HasPrefix(first, "# ") && strings.HasSuffix(first, ".yaml") {
				files[first[2:]] = strings.ReplaceAll(rest, "127.0.0.1:8080", "127.0.0.1:1")
			}
		}
	}
	inExamples(t, files)
	stdin := os.Stdin
	defer func() { os.Stdin = stdin }()
	for _, line := range lines {
		t.Run(line, func(t *testing.T) {
			if m := echoed.FindStringSubmatch(line); m != nil {
				file, err := os.Open(textFile(t, "stdin", m[1]))
				if err != nil {
					t.Fatal(err)
				}
				os.Stdin, line = file, m[2]
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			args := words(strings.ReplaceAll(line, "127.0.0.1:8080", "127.0.0.1:1"))
			code, out, said := loadOf(t, ctx, args[2:]...)
			want, says := 1, "connection refused"
			switch {
			case slices.Contains(args, "--try"):
				want = drive.ExitBroken
			case slices.Contains(args, "--kubernetes") && !slices.Contains(args, "--apply"): // which asks no server
				want, says = 0, "kubectl apply -f "
			}
			if code != want || !strings.Contains(out+said, says) {
				t.Errorf("exit code %d, %s%s", code, out, said)
			}
		})
	}
	if len(lines) < 20 {
		t.Errorf("%d commands", len(lines))
	}
}
